//! `streaming-operator plan`: what an edit does, before it is applied.

use super::{PIPELINE, code, run, stderr, stdout};

/// Plans an edit of pipelines; gives the exit code and what is printed.
fn plan(old: Option<&str>, new: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("old.yaml");
    std::fs::write(&file, old.unwrap_or_default()).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let mut arguments = vec!["plan", "-f", "-"];
    if old.is_some() {
        arguments.extend(["--old", file]);
    }
    let output = run(&arguments, new);
    assert_eq!(stderr(&output), "");
    (code(&output), stdout(&output))
}

#[test]
fn the_plan_of_a_new_pipeline_is_what_it_creates() {
    assert_eq!(
        plan(None, PIPELINE),
        (
            Some(0),
            "ingest/checkout: new, revision 8fcbfc3a59\n\
             \u{20} creates ConfigMap svc-pipeline-checkout-0-2903a99d74\n\
             \u{20} step 1: creates svc-pipeline-checkout-0-0; 0 of 1 available\n\
             \u{20} creates 1 Pod\n"
                .to_owned()
        )
    );
}

#[test]
fn the_plan_of_an_edit_names_the_fields_the_steps_and_the_lowest_point() {
    let old = PIPELINE.replace("spec:", "spec:\n  replicas: 10\n  with_canary: true");
    let new = old
        .replace("app:1", "app:2")
        .replace("spec:", "spec:\n  rollout: {maxUnavailable: 40%}");
    assert_eq!(
        plan(Some(&old), &new),
        (
            Some(1),
            "ingest/checkout: revision 8fcbfc3a59 → c53365ca4f (image_name)\n\
             \u{20} changes without another revision: rollout.maxUnavailable\n\
             \u{20} step 1: replaces svc-pipeline-checkout-0-canary-0; 9 of 10 available\n\
             \u{20} step 2: replaces svc-pipeline-checkout-0-{0..3}; 6 of 10 available\n\
             \u{20} step 3: replaces svc-pipeline-checkout-0-{4..7}; 6 of 10 available\n\
             \u{20} step 4: replaces svc-pipeline-checkout-0-8; 9 of 10 available\n\
             \u{20} replaces 10 Pods in 4 steps; never fewer than 6 available\n"
                .to_owned()
        )
    );
}

#[test]
fn a_plan_says_so_when_nothing_is_replaced() {
    let (code, text) = plan(Some(PIPELINE), PIPELINE);
    assert_eq!(code, Some(0));
    assert!(text.ends_with("\n  replaces nothing\n"), "{text}");
    let scaled = PIPELINE.replace("spec:", "spec:\n  replicas: 3");
    let (code, text) = plan(Some(PIPELINE), &scaled);
    assert_eq!(code, Some(0));
    assert!(
        text.ends_with(
            "  changes without another revision: replicas\n  step 1: creates svc-pipeline-checkout-0-{1,2}; 1 of 3 \
             available\n  replaces nothing; adds 2 Pods; never fewer than 1 available\n"
        ),
        "{text}"
    );
}

#[test]
fn the_plan_of_a_pipelines_only_pod_makes_its_successor_first() {
    let (code, text) = plan(Some(PIPELINE), &PIPELINE.replace("app:1", "app:2"));
    assert_eq!(code, Some(1));
    assert!(
        text.ends_with(
            "  step 1: creates a second svc-pipeline-checkout-0-0 beside it; 1 of 1 available\n  step 2: deletes \
             svc-pipeline-checkout-0-0; 1 of 1 available\n  replaces 1 Pod in 2 steps; never fewer than 1 available\n"
        ),
        "{text}"
    );
}

#[test]
fn a_plan_says_when_a_restart_comes_and_what_it_assumes() {
    let at = |time: &str| PIPELINE.replace("spec:", &format!("spec:\n  rollout: {{restartAt: \"{time}\"}}"));
    let head = "ingest/checkout: revision 8fcbfc3a59 stays\n  changes without another revision: rollout.restartAt\n";
    let told = |tail: &str| format!("{head}{tail}");
    assert_eq!(
        plan(Some(PIPELINE), &at("2990-01-01T00:00:00Z")),
        (
            Some(1),
            told("  replaces nothing\n  waits until 2990-01-01T00:00:00Z (rollout.restartAt), then replaces 1 Pod\n")
        )
    );
    assert_eq!(
        plan(Some(&at("2020-01-01T00:00:00Z")), &at("2019-01-01T00:00:00Z")),
        (
            Some(0),
            told(
                "  replaces nothing\n  rollout.restartAt goes back, which restarts nothing: assumes that the old Pods were \
                 created after the old one\n"
            )
        )
    );
    assert_eq!(
        plan(Some(&at("2019-01-01T00:00:00Z")), &at("2020-01-01T00:00:00Z")),
        (
            Some(1),
            told(
                "  step 1: creates a second svc-pipeline-checkout-0-0 beside it; 1 of 1 available\n  step 2: deletes \
                 svc-pipeline-checkout-0-0; 1 of 1 available\n  replaces 1 Pod in 2 steps; never fewer than 1 available\n  \
                 assumes that the old Pods were created before rollout.restartAt\n"
            )
        )
    );
}

#[test]
fn a_plan_for_a_suspended_pipeline_says_that_no_consumer_runs() {
    let suspended = PIPELINE.replace("spec:", "spec:\n  suspend: true");
    let (code, text) = plan(Some(PIPELINE), &suspended);
    assert_eq!(code, Some(0));
    assert!(
        text.ends_with(
            "  replaces nothing; removes 1 Pod; never fewer than 0 available\n  no consumer runs: suspend is true\n"
        ),
        "{text}"
    );
}

#[test]
fn a_plan_answers_with_faults_where_validate_does_and_where_an_edit_is_not_allowed() {
    let renamed = PIPELINE.replace("service_name: svc", "service_name: other");
    assert_eq!(
        plan(Some(PIPELINE), &renamed),
        (
            Some(1),
            "-:5: ingest/checkout: spec.service_name: service_name is immutable: it names every Pod and ConfigMap; delete \
             the pipeline and create it under the new name\n"
                .to_owned()
        )
    );
    let bad = PIPELINE.replace("cpu_per_process: 100", "cpu_per_process: 0");
    let (code, text) = plan(None, &bad);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "-:8: ingest/checkout: spec.cpu_per_process: is 0, must be at least 1\n"
    );
}

#[test]
fn pipelines_are_paired_by_namespace_and_name() {
    let other = PIPELINE.replace("checkout", "other");
    let (code, text) = plan(
        Some(&format!("{other}---\n{PIPELINE}")),
        &PIPELINE.replace("app:1", "app:2"),
    );
    assert_eq!(code, Some(1));
    assert!(text.starts_with("ingest/checkout: revision "), "{text}");
    assert!(
        text.ends_with(
            "\ningest/other: stands only in the old files: nothing happens to it until it is deleted, and then its Pods \
             go with it\n"
        ),
        "{text}"
    );
}

#[test]
fn a_pipeline_that_is_only_renamed_meets_the_names_of_the_one_it_was() {
    let old = PIPELINE.replace("service_name: svc", "service_name: svc\n  pipeline_name: orders");
    let (code, text) = plan(Some(&old), &old.replace("name: checkout", "name: renamed"));
    assert_eq!(code, Some(1), "{text}");
    let first = text.lines().next().unwrap_or_default();
    assert!(first.starts_with("-:6: ingest/renamed: spec.pipeline_name: "), "{text}");
    assert!(first.contains("StreamingPipeline ingest/checkout"), "{text}");
}

/// A Deployment of the Python operator that runs the pipeline of [`PIPELINE`].
fn deployment(name: &str, set: &str, replicas: u16) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n  namespace: streaming-pipelines\n  \
         labels: {{env: {set}, pipeline.streams.sentry.io/owner-uid: u}}\n  annotations:\n    \
         pipeline.streams.sentry.io/owner-name: checkout\n    pipeline.streams.sentry.io/owner-namespace: ingest\nspec:\n  \
         replicas: {replicas}\n"
    )
}

#[test]
fn with_deployments_of_the_python_operator_the_plan_is_how_they_are_taken_over() {
    let pipeline = PIPELINE.replace("spec:", "spec:\n  replicas: 8\n  with_canary: true");
    let old = format!(
        "{pipeline}{}{}",
        deployment("svc-pipeline-checkout-0", "primary", 7),
        deployment("svc-pipeline-checkout-0-canary", "canary", 1)
    );
    let (code, text) = plan(Some(&old), &pipeline);
    assert_eq!(code, Some(1));
    let steps = [
        "takes 1 off D-canary (0 left), takes 1 off D (6 left); 6 consumers",
        "deletes D-canary, creates P-canary-0 and P-0; 8 consumers",
        "takes 2 off D (4 left); 6 consumers",
        "creates P-{1,2}; 8 consumers",
        "takes 2 off D (2 left); 6 consumers",
        "creates P-{3,4}; 8 consumers",
        "takes 2 off D (0 left); 6 consumers",
        "deletes D, creates P-{5,6}; 8 consumers",
    ];
    let told = text
        .replace("Deployment streaming-pipelines/svc-pipeline-checkout-0", "D")
        .replace("svc-pipeline-checkout-0", "P");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[0],
        "ingest/checkout: moves from the Python operator, revision 8fcbfc3a59"
    );
    for (number, step) in (1..).zip(steps) {
        assert_eq!(lines[number + 1], format!("  step {number}: {step}, 6 of 8 available"));
    }
    assert_eq!(
        lines[10],
        "  takes over 8 consumers in 8 steps; never fewer than 6 available"
    );
    assert_eq!(lines.len(), 11);
}

#[test]
fn the_plan_of_a_deployment_whose_rolling_update_hangs_begins_with_the_way_out_of_it() {
    let pipeline = PIPELINE.replace("spec:", "spec:\n  replicas: 4");
    let old = format!(
        "{pipeline}{}status: {{replicas: 5, updatedReplicas: 2, availableReplicas: 3}}\n",
        deployment("svc-pipeline-checkout-0", "primary", 4)
    );
    let (code, text) = plan(Some(&old), &pipeline);
    assert_eq!(code, Some(1));
    let told = text.replace("Deployment streaming-pipelines/svc-pipeline-checkout-0", "D");
    let lines: Vec<&str> = told.lines().skip(2).take(2).collect();
    assert_eq!(
        lines,
        [
            "  step 1: gives D, whose rolling update hangs, the Pod template back whose Pods serve; 5 consumers, 3 of 4 available",
            "  step 2: takes 1 off D (3 left); 3 consumers, 3 of 4 available",
        ]
    );
    assert!(
        text.ends_with("takes over 4 consumers in 9 steps; never fewer than 3 available\n"),
        "{text}"
    );
}

#[test]
fn the_only_consumer_of_the_python_operator_is_not_given_up_before_ours_serves() {
    let old = format!("{PIPELINE}{}", deployment("svc-pipeline-checkout-0", "primary", 1));
    let (code, text) = plan(Some(&old), PIPELINE);
    assert_eq!(code, Some(1));
    assert!(
        text.ends_with(
            "\u{20} step 1: creates svc-pipeline-checkout-0-0; 2 consumers, 1 of 1 available\n\
             \u{20} step 2: takes 1 off Deployment streaming-pipelines/svc-pipeline-checkout-0 (0 left); 1 consumer, 1 of 1 \
             available\n\
             \u{20} step 3: deletes Deployment streaming-pipelines/svc-pipeline-checkout-0; 1 consumer, 1 of 1 available\n\
             \u{20} takes over 1 consumer in 3 steps; never fewer than 1 available\n"
        ),
        "{text}"
    );
}

#[test]
fn a_new_pipeline_is_told_of_the_names_that_another_one_has_wherever_that_stands_in_the_files() {
    let old = PIPELINE.replace("service_name: svc", "service_name: svc\n  pipeline_name: orders");
    let new = old.replace("name: checkout", "name: another");
    let (code, text) = plan(Some(&old), &format!("{new}---\n{old}"));
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "-:6: ingest/another: spec.pipeline_name: NameCollision: StreamingPipeline ingest/checkout can have Pods or \
         ConfigMaps named svc-pipeline-orders-0-canary in namespace ingest as well; choose another pipeline_name, \
         service_name or segment_id\ningest/checkout: unchanged, revision 948b3fc554\n  replaces nothing\n"
    );
}
