//! What the API server refuses by itself, with the webhook configurations taken away.

use std::collections::BTreeSet;
use std::time::Instant;

use futures::StreamExt;
use serde_json::{Value, json};
use streaming_operator::api::manifests;
use testkit::fixtures::{self, SchemaCase};
use testkit::wait::{self, Seen};

use crate::bed::Bed;
use crate::ways::{Sender, Way};

const AT_A_TIME: usize = 6;

/// `reason field: message` of what must be said.
fn causes(case: &SchemaCase) -> BTreeSet<String> {
    let causes = case.causes.iter();
    causes
        .map(|cause| format!("{} {}: {}", cause.reason, cause.field, cause.message))
        .collect()
}

/// Sends what the case refuses, and gives how often and what was not as it should be.
async fn refused(bed: &Bed, case: &SchemaCase) -> (usize, Vec<String>) {
    let sender = Sender::new(bed.cluster).await;
    let object = fixtures::edited("checkout", &case.refused);
    let stored = fixtures::edited("checkout", case.stored.as_ref().unwrap_or(&json!({})));
    let mut ways: Vec<(Way, bool)> = Vec::new();
    if case.stored.is_none() {
        ways.extend([Way::DryRun, Way::Create, Way::ApplyPatch].map(|way| (way, false)));
    }
    ways.extend([Way::Replace, Way::JsonPatch, Way::MergePatch, Way::ApplyPatch].map(|way| (way, true)));
    let mut wrong = Vec::new();
    let mut is_stored = false;
    for (way, is_update) in &ways {
        if *is_update && !is_stored {
            sender.store(&stored).await;
            is_stored = true;
        }
        let fault = match (sender.request(*way, &object, &stored).await, &case.typed) {
            (Ok(_), _) => Some("was taken".to_owned()),
            (Err(refusal), Some(words)) if *way == Way::ApplyPatch => {
                (!refusal.text.contains(words)).then_some(refusal.text)
            }
            // What names the Pods is immutable besides.
            (Err(refusal), _) if *is_update => (!refusal.causes.is_superset(&causes(case))).then_some(refusal.text),
            (Err(refusal), _) => (refusal.causes != causes(case)).then_some(refusal.text),
        };
        wrong.extend(fault.map(|fault| format!("{} by {}: {fault}", case.constraint, way.name())));
    }
    if case.stored.is_none() {
        // In a namespace of its own, where nothing is stored.
        let said = Sender::new(bed.cluster)
            .await
            .send(Way::Apply, &object.to_string(), &object, &stored)
            .await;
        let shown: BTreeSet<String> = case
            .causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        match said {
            Err(refusal) if refusal.causes == shown => {}
            said => wrong.push(format!("{} by kubectl apply: {said:?}", case.constraint)),
        }
    }
    (ways.len() + usize::from(case.stored.is_none()), wrong)
}

/// Sends what the case accepts.
async fn accepted(bed: &Bed, case: &SchemaCase) -> (usize, Vec<String>) {
    let sender = Sender::new(bed.cluster).await;
    let object = fixtures::edited("checkout", &case.accepted);
    let mut other = case
        .stored
        .as_ref()
        .map_or_else(|| object.clone(), |stored| fixtures::edited("checkout", stored));
    other["spec"]["cpu_per_process"] = json!(77);
    let mut wrong = Vec::new();
    let creating = [Way::DryRun, Way::Create, Way::ApplyPatch].map(|way| (way, false));
    let updating = [Way::Replace, Way::JsonPatch, Way::MergePatch, Way::ApplyPatch].map(|way| (way, true));
    for (way, is_update) in creating.into_iter().chain(updating) {
        if is_update {
            sender.store(&other).await;
        }
        if let Err(refusal) = sender.request(way, &object, &other).await {
            wrong.push(format!("{} by {}: {}", case.constraint, way.name(), refusal.text));
        }
        if sender.stored("checkout").await.is_some() {
            sender.delete("checkout").await;
        }
    }
    (7, wrong)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_webhook_the_api_server_keeps_every_limit_of_the_schema_itself() {
    let bed = Bed::start().await;
    bed.remove_webhooks().await;
    let cases = fixtures::schema().expect("the table can be read");
    let started = Instant::now();
    let bed = &bed;
    let both = cases.iter().map(|case| async move {
        let (refused, accepted) = (refused(bed, case).await, accepted(bed, case).await);
        (refused.0 + accepted.0, [refused.1, accepted.1].concat())
    });
    let seen: Vec<(usize, Vec<String>)> = futures::stream::iter(both).buffer_unordered(AT_A_TIME).collect().await;
    let requests: usize = seen.iter().map(|(requests, _)| requests).sum();
    println!(
        "{} limits of the schema, {requests} requests in {:.1?}",
        cases.len(),
        started.elapsed()
    );
    let wrong: Vec<String> = seen.into_iter().flat_map(|(_, wrong)| wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn the_schema_is_closed_but_for_the_users_own_objects() {
    let bed = Bed::start().await;
    bed.remove_webhooks().await;
    let sender = Sender::new(bed.cluster).await;
    for (edit, field) in [
        (json!({"foo": 1}), "spec.foo"),
        (json!({"rollout": {"foo": 1}}), "spec.rollout.foo"),
    ] {
        let object = fixtures::edited("checkout", &edit);
        for (way, words) in [
            (Way::Create, format!("strict decoding error: unknown field \"{field}\"")),
            (Way::Apply, format!("strict decoding error: unknown field \"{field}\"")),
            (Way::ApplyServerSide, format!(".{field}: field not declared in schema")),
        ] {
            let refusal = sender
                .send(way, &object.to_string(), &object, &object)
                .await
                .expect_err("it is refused");
            assert!(refusal.text.contains(&words), "{}", refusal.text);
        }
        // A client that does not ask for strictness is warned by the API server, and the field is dropped.
        let taken = sender
            .request(Way::DryRun, &object, &object)
            .await
            .expect("it is taken");
        assert_eq!(taken.pointer(&format!("/{}", field.replace('.', "/"))), None);
    }
    let open = json!({
        "deployment_template": {"a": 1}, "container_template": {"a": 1}, "pipeline_config": {"a": 1},
        "emergency_patch": {"a": 1},
    });
    let object = fixtures::edited("checkout", &open);
    sender
        .send(Way::Create, &object.to_string(), &object, &object)
        .await
        .expect("it is taken");
    let stored = sender.stored_spec("checkout").await.expect("it is stored");
    for field in [
        "deployment_template",
        "container_template",
        "pipeline_config",
        "emergency_patch",
    ] {
        assert_eq!(stored[field]["a"], json!(1), "{field}");
    }
}

/// The CRD without its limits on values, as an earlier release could have had it.
fn lax_crd() -> Value {
    fn loosen(schema: &mut Value) {
        for keyword in [
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "enum",
            "format",
            "x-kubernetes-validations",
        ] {
            schema.as_object_mut().expect("a schema").remove(keyword);
        }
        for (_, property) in schema
            .get_mut("properties")
            .and_then(Value::as_object_mut)
            .into_iter()
            .flatten()
        {
            loosen(property);
        }
    }
    let mut crd = serde_json::to_value(&manifests::crds()[0]).expect("JSON");
    loosen(&mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]);
    crd
}

#[tokio::test]
async fn a_stored_fault_of_one_field_is_in_the_way_of_no_edit_of_another_with_and_without_the_webhook() {
    let bed = Bed::start().await;
    bed.remove_webhooks().await;
    let sender = Sender::new(bed.cluster).await;
    bed.cluster.apply(&[lax_crd()]).await.expect("the CRD is taken");
    let cases: Vec<(String, SchemaCase)> = fixtures::schema()
        .expect("the table can be read")
        .into_iter()
        .filter(|case| case.ratchets)
        .enumerate()
        .map(|(index, case)| (format!("case-{index}"), case))
        .collect();
    assert!(cases.len() > 25, "only {}", cases.len());
    for (name, case) in &cases {
        let object = fixtures::edited(name, &case.refused);
        // The API server follows a changed CRD after a moment.
        let look = async || {
            let refusal = sender
                .request(Way::Create, &object, &object)
                .await
                .err()
                .map(|refusal| refusal.text);
            Ok(Seen::when(refusal, Option::is_none))
        };
        wait::until("the lax schema", wait::DEADLINE, look)
            .await
            .expect("it is stored");
    }
    bed.install_crds().await;
    let fresh = fixtures::edited("fresh", &cases[0].1.refused);
    let look = async || {
        Ok(Seen::when(
            sender.request(Way::DryRun, &fresh, &fresh).await.is_err(),
            |refused| *refused,
        ))
    };
    wait::until("the schema", wait::DEADLINE, look)
        .await
        .expect("it is strict again");

    for suspend in [true, false] {
        for (name, case) in &cases {
            let edit = json!({"spec": {"suspend": suspend}});
            let edited = sender.merge(name, "", &edit).await;
            let edited = edited.unwrap_or_else(|refusal| panic!("{}: {}", case.constraint, refusal.text));
            assert_eq!(edited["spec"]["suspend"], json!(suspend));
        }
        bed.install_webhooks().await;
        bed.wait_until_admission_works().await;
    }
    let worse = json!({"spec": {"cpu_per_process": -1}});
    let refusal = sender
        .merge("case-0", "", &worse)
        .await
        .expect_err("another fault than the stored one");
    assert!(refusal.text.contains("spec.cpu_per_process"), "{}", refusal.text);
}

#[tokio::test]
async fn kubectl_explains_each_field_with_its_default() {
    let bed = Bed::start().await;
    let text = bed
        .kubectl(&["explain", "streamingpipeline.spec.rollout"])
        .await
        .expect("it is explained");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "maxUnavailable <Object> How many Pods may be unavailable during a rollout",
        "Defaults to 25%.",
        "onFailure <string> enum: Pause, Rollback What a failed analysis or a passed deadline does",
        "Defaults to 600.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// A pipeline that was made while the webhook was away has no `pipeline_name`: it may get one, and keeps it from then on.
#[tokio::test]
async fn a_pipeline_name_may_appear_and_then_neither_change_nor_disappear() {
    let bed = Bed::start().await;
    bed.remove_webhooks().await;
    let sender = Sender::new(bed.cluster).await;
    sender
        .store(&fixtures::edited("checkout", &json!({"pipeline_name": null})))
        .await;
    let named = |name: Value| json!({"spec": {"pipeline_name": name}});
    sender
        .merge("checkout", "", &named(json!("checkout")))
        .await
        .expect("it appears");
    for name in [json!("other"), json!(null)] {
        let refusal = sender
            .merge("checkout", "", &named(name))
            .await
            .expect_err("it is immutable");
        let words = "spec.pipeline_name: Forbidden: pipeline_name is immutable";
        assert!(refusal.text.contains(words), "{}", refusal.text);
    }
}
