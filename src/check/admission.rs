//! Whether admission answers: by dry runs of a good and of a bad pipeline. Must never store anything.

use kube::api::PostParams;
use kube::core::Status;
use kube::{Api, ResourceExt as _};

use super::{Finding, State, Subject};
use crate::api::StreamingPipeline;
use crate::client::in_words;

const CHECK: &str = "admission";
/// A pipeline that is in order, and suspended in case that it were stored after all. `pipeline_name` is left out, for
/// the operator to write.
const GOOD: &str = r#"{
  "apiVersion": "streams.sentry.io/v1alpha1",
  "kind": "StreamingPipeline",
  "metadata": {"name": "streaming-check"},
  "spec": {
    "suspend": true,
    "service_name": "check",
    "pipeline_module": "check.py",
    "image_name": "registry.example/check:1",
    "cpu_per_process": 100,
    "memory_per_process": 100,
    "deployment_template": {},
    "container_template": {},
    "pipeline_config": {
      "env": {},
      "pipeline": {
        "adapter_config": {"arroyo": {"write_healthcheck": true}},
        "segments": [
          {"steps_config": {"source": {"starts_segment": true, "bootstrap_servers": ["kafka.example:9092"]}}}
        ]
      }
    }
  }
}"#;
/// The field that the bad pipeline has wrong: it has one segment. No rule of the CRD can see that.
const BAD_FIELD: &str = "spec.segment_id";

pub(super) async fn look(subject: &Subject<'_>) -> Vec<Finding> {
    let good: StreamingPipeline = match serde_json::from_str(GOOD) {
        Ok(good) => good,
        Err(error) => {
            return vec![Finding::wrong(
                CHECK,
                format!("the pipeline to try: {error}"),
                "report it",
            )];
        }
    };
    let mut bad = good.clone();
    bad.spec.segment_id = 7;
    let api = Api::namespaced(subject.client.clone(), subject.dry_run_namespace);
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let place = format!("in namespace {}", subject.dry_run_namespace);
    let first = match api.create(&params, &good).await {
        Ok(stored) if stored.spec.pipeline_name.as_deref() == Some(good.name_any().as_str()) => {
            Finding::ok(CHECK, format!("a good pipeline {place} is admitted, with its defaults"))
        }
        Ok(_) => {
            let message = format!("a good pipeline {place} is admitted without its defaults: /mutate is not asked");
            Finding::wrong(
                CHECK,
                message,
                "look at the rules and selectors of the MutatingWebhookConfiguration",
            )
        }
        Err(kube::Error::Api(status)) => refused(&status, &format!("a good pipeline {place} is refused")),
        Err(error) => Finding::unasked(CHECK, "create streamingpipelines, as a dry run,", &error),
    };
    let second = match api.create(&params, &bad).await {
        Ok(_) => {
            let message = format!("a bad pipeline {place} is admitted: /validate is not asked");
            let todo = "look at the rules, selectors and failurePolicy of the ValidatingWebhookConfiguration";
            Finding::wrong(CHECK, message, todo)
        }
        Err(kube::Error::Api(status)) if names_the_fault(&status) => Finding::ok(
            CHECK,
            format!("a bad pipeline {place} is refused by the operator, which names {BAD_FIELD}"),
        ),
        Err(kube::Error::Api(status)) => refused(
            &status,
            &format!("a bad pipeline {place} is refused, but not for its fault"),
        ),
        Err(error) => Finding::unasked(CHECK, "create streamingpipelines, as a dry run,", &error),
    };
    vec![first, second]
}

fn names_the_fault(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 422 && causes.into_iter().any(|cause| cause.field == BAD_FIELD)
}

/// What stands in the way of a create, and what to do.
fn refused(status: &Status, what: &str) -> Finding {
    let message = format!("{what}: {}", in_words(&kube::Error::Api(Box::new(status.clone()))));
    if matches!(status.code, 401 | 403) {
        let todo = "check as somebody who may create streamingpipelines there, or elsewhere with --dry-run-namespace";
        return Finding::told(CHECK, State::Unknown, message, todo);
    }
    let todo = TODOS.iter().find(|(words, _)| status.message.contains(words));
    Finding::wrong(CHECK, message, todo.map_or("docs/troubleshooting.md", |(_, todo)| todo))
}

/// What the API server says when it cannot call a webhook (k8s.io/apiserver), and what to do then.
const TODOS: [(&str, &str); 6] = [
    (
        "x509",
        "caBundle is not that of the certificate that is served: see the lines on webhook and certificate",
    ),
    (
        "no endpoints available",
        "no replica is ready: look at the operator's Pods; the rescue is in docs/admission.md",
    ),
    (
        "connection refused",
        "no replica listens behind the Service: look at the operator's Pods, and at webhook.port",
    ),
    (
        "deadline exceeded",
        "the API server does not reach the Pods: a firewall or NetworkPolicy, docs/install.md (private clusters)",
    ),
    (
        "could not find the requested resource",
        "the CRD is not there: streaming-operator crd | kubectl apply --server-side -f -",
    ),
    ("namespaces \"", "choose a namespace that is there: --dry-run-namespace"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_says_of_a_webhook_has_something_to_do() {
        for (words, todo) in [
            (
                "failed calling webhook: x509: certificate signed by unknown authority",
                "caBundle is not that",
            ),
            (
                "failed calling webhook: no endpoints available for service \"x\"",
                "no replica is ready",
            ),
            ("namespaces \"ops\" not found", "choose a namespace"),
            ("anything else", "docs/troubleshooting.md"),
        ] {
            let finding = refused(&Status::failure(words, "InternalError").with_code(500), "x is refused");
            assert_eq!(finding.state, State::Wrong);
            assert_eq!(finding.message, format!("x is refused: {words}"));
            assert!(
                finding.todo.as_deref().unwrap_or_default().starts_with(todo),
                "{finding:?}"
            );
        }
    }

    #[test]
    fn whoever_may_not_create_pipelines_learns_nothing_of_admission() {
        let finding = refused(&Status::failure("forbidden", "Forbidden").with_code(403), "x");
        assert_eq!(finding.state, State::Unknown);
    }

    /// The fields of the faults that the webhook finds.
    fn faults(pipeline: &StreamingPipeline) -> Vec<String> {
        let mut object = serde_json::to_value(pipeline).expect("JSON");
        crate::core::defaults::apply_defaults(&mut object);
        let verdict = crate::core::validation::validate(&object, None);
        verdict.violations.iter().map(|fault| fault.path.clone()).collect()
    }

    #[test]
    fn the_good_pipeline_is_good_and_the_bad_one_has_the_one_fault() {
        let good: StreamingPipeline = serde_json::from_str(GOOD).expect("a pipeline");
        assert_eq!(faults(&good), Vec::<String>::new());
        let mut bad = good;
        bad.spec.segment_id = 7;
        assert_eq!(faults(&bad), ["spec.segment_id"]);
    }
}
