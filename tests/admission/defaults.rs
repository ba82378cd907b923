//! Defaults as they are stored: complete, none twice, nothing of anybody else's touched.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Json;
use axum::routing::post;
use axum::{Router, response::IntoResponse};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use streaming_operator::certs::ServingCertificate;
use streaming_operator::certs::authority::{new_authority, new_leaf};
use streaming_operator::server::{Limits, Transport, serve, tls};
use testkit::install::{SERVICE, service_host};
use testkit::wait::{self, Seen};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::bed::{Bed, manifest};

/// [`manifest`]'s spec with every default, as it is stored under this name.
fn stored_spec(name: &str) -> Value {
    let mut spec = manifest(name)["spec"].clone();
    let Value::Object(defaults) = json!({
        "pipeline_name": name, "replicas": 1, "with_canary": false, "segment_id": 0, "log_level": "INFO",
        "enable_liveness_probe": true, "container_name": "pipeline-consumer", "suspend": false,
        "revisionHistoryLimit": 10,
        "rollout": {"paused": false, "maxUnavailable": "25%", "minReadySeconds": 0, "progressDeadlineSeconds": 600,
                    "podReplacementPolicy": "TerminatingOrFailed", "requireAnalysis": false, "onFailure": "Pause"}
    }) else {
        unreachable!("an object")
    };
    spec.as_object_mut().expect("a spec").extend(defaults);
    spec
}

/// A mutating webhook of somebody else, called after ours: it gives each pipeline a sidecar's settings and a pause
/// between Pods, unless they are there.
struct Other<'a> {
    bed: &'a Bed,
    stop: CancellationToken,
}

impl<'a> Other<'a> {
    async fn install(bed: &'a Bed) -> Self {
        let namespace = bed.cluster.namespace("other").await.expect("a namespace");
        let life = SignedDuration::from_hours(1);
        let authority = new_authority(Timestamp::now(), life).expect("an authority");
        let hosts = [service_host(&namespace)].into();
        let leaf = new_leaf(&authority, &hosts, Timestamp::now(), life).expect("a leaf");
        let served = Arc::new(ServingCertificate::default());
        served.serve(leaf.certified());
        let config = tls::server_config(served).expect("a TLS configuration");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let stop = CancellationToken::new();
        let router = Router::new().route("/", post(answer));
        let transport = Transport::Tls(TlsAcceptor::from(Arc::new(config)));
        tokio::spawn(serve(
            listener,
            transport,
            router,
            Limits::webhook(Duration::ZERO),
            stop.clone(),
        ));
        let bundle = STANDARD.encode(authority.certificate().to_pem());
        bed.cluster
            .apply(&[
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": namespace},
                       "spec": {"type": "ExternalName", "externalName": "localhost"}}),
                json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                       // They are called in the order of their names.
                       "metadata": {"name": "zz-other"},
                       "webhooks": [{
                           "name": "other.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                           "reinvocationPolicy": "IfNeeded",
                           // When this test fails, the others are not to.
                           "failurePolicy": "Ignore",
                           "clientConfig": {"caBundle": bundle, "service":
                               {"name": SERVICE, "namespace": namespace, "path": "/", "port": port}},
                           "rules": [{"apiGroups": ["streams.sentry.io"], "apiVersions": ["v1alpha1"],
                                      "operations": ["CREATE", "UPDATE"], "resources": ["streamingpipelines"]}]}]}),
            ])
            .await
            .expect("the configuration is taken");
        let other = Self { bed, stop };
        other.wait_until_called().await;
        other
    }

    async fn wait_until_called(&self) {
        let look = async || {
            let tried = self
                .bed
                .apply_with(&manifest("tried"), &["--dry-run=server", "-o", "json"])
                .await;
            Ok(Seen::when(tried.unwrap_or_default(), |text| text.contains("sidecar")))
        };
        wait::until("the other webhook to be called", wait::DEADLINE, look)
            .await
            .expect("it is called");
    }

    async fn remove(self) {
        let gone = self
            .bed
            .kubectl(&["delete", "mutatingwebhookconfiguration", "zz-other"])
            .await;
        gone.expect("it is deleted");
        self.stop.cancel();
    }
}

async fn answer(Json(review): Json<Value>) -> impl IntoResponse {
    let template = &review["request"]["object"]["spec"]["deployment_template"];
    let operations = if template.get("metadata").is_some() {
        json!([])
    } else {
        json!([
            {"op": "add", "path": "/spec/deployment_template/metadata", "value": {"annotations": {"sidecar": "on"}}},
            {"op": "add", "path": "/spec/rollout/minReadySeconds", "value": 7},
        ])
    };
    let patch = STANDARD.encode(operations.to_string());
    Json(
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response":
        {"uid": review["request"]["uid"], "allowed": true, "patchType": "JSONPatch", "patch": patch}}),
    )
}

/// What the API server noted of the mutating webhooks in the request that stored `name`: round, index, configuration, and
/// whether the object was changed (k8s.io/apiserver, audit annotations `mutation.webhook.admission.k8s.io/…`).
/// `None` until the log has that request, which is written just after the answer.
fn mutations(bed: &Bed, name: &str) -> Option<Vec<(String, String, bool)>> {
    let log = std::fs::read_to_string(bed.cluster.audit().file()).expect("the audit log");
    let records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_ours = |record: &Value| {
        let uri = record["requestURI"].as_str().unwrap_or_default();
        record["objectRef"]["namespace"] == bed.namespace
            && record["objectRef"]["name"] == name
            && record["verb"] == "create"
            && !uri.contains("dryRun")
    };
    let record = records.into_iter().find(is_ours)?;
    let prefix = "mutation.webhook.admission.k8s.io/";
    let annotations = record["annotations"].as_object().expect("annotations").iter();
    let noted = annotations.filter_map(|(key, value)| {
        let place = key.strip_prefix(prefix)?.to_owned();
        let note: Value = serde_json::from_str(value.as_str()?).expect("JSON");
        let configuration = note["configuration"].as_str()?.to_owned();
        Some((place, configuration, note["mutated"] == true))
    });
    let mut noted: Vec<_> = noted.collect();
    noted.sort();
    Some(noted)
}

#[tokio::test]
async fn a_stored_pipeline_has_every_default_and_applying_it_again_changes_nothing() {
    let bed = Bed::start().await;
    bed.apply(&manifest("checkout")).await.expect("it is admitted");
    let stored = bed.stored("checkout").await;
    assert_eq!(stored["spec"], stored_spec("checkout"));
    for arguments in [&[] as &[&str], &["--server-side", "--force-conflicts"]] {
        bed.apply_with(&manifest("checkout"), arguments)
            .await
            .expect("it is admitted");
        let again = bed.stored("checkout").await;
        assert_eq!(
            (&again["spec"], &again["metadata"]["generation"]),
            (&stored["spec"], &json!(1))
        );
    }
    // A default that is taken out comes back, and nothing else changes.
    let edit = r#"[{"op": "remove", "path": "/spec/log_level"}, {"op": "remove", "path": "/spec/rollout"}]"#;
    bed.kubectl(&["patch", "spipe", "checkout", "--type=json", "--patch", edit])
        .await
        .expect("it is admitted");
    assert_eq!(bed.stored("checkout").await["spec"], stored["spec"]);
}

#[tokio::test]
async fn after_another_webhook_has_changed_the_object_defaulting_it_again_changes_nothing() {
    let bed = Bed::start().await;
    let other = Other::install(&bed).await;
    bed.apply(&manifest("checkout")).await.expect("it is admitted");
    let mut expected = stored_spec("checkout");
    expected["deployment_template"] = json!({"metadata": {"annotations": {"sidecar": "on"}}});
    expected["rollout"]["minReadySeconds"] = json!(7);
    assert_eq!(bed.stored("checkout").await["spec"], expected);
    let noted = |place: &str, configuration: &str, mutated| (place.to_owned(), configuration.to_owned(), mutated);
    let look = async || Ok(Seen::when(mutations(&bed, "checkout"), Option::is_some));
    let seen = wait::until("the request in the audit log", wait::DEADLINE, look).await;
    assert_eq!(
        seen.expect("it is there").expect("it is there"),
        [
            noted("round_0_index_0", "streaming-operator", true),
            noted("round_0_index_2", "zz-other", true),
            noted("round_1_index_0", "streaming-operator", false),
        ]
    );
    other.remove().await;
}

#[tokio::test]
async fn a_field_of_a_later_release_survives_defaulting_and_edits() {
    let bed = Bed::start().await;
    let crd = "streamingpipelines.streams.sentry.io";
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/fieldOfALaterRelease";
    let add = json!([{"op": "add", "path": path, "value":
        {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}]);
    bed.kubectl(&["patch", "crd", crd, "--type=json", "--patch", &add.to_string()])
        .await
        .expect("a later CRD");
    let mut later = manifest("later");
    later["spec"]["fieldOfALaterRelease"] = json!({"a": 1.5, "b": [null, "c"]});
    let look = async || Ok(Seen::when(bed.apply(&later).await, Result::is_ok));
    let admitted = wait::until("the later CRD to be served", wait::DEADLINE, look).await;
    admitted.expect("it is served").expect("it is admitted");
    let edit = r#"{"spec":{"image_name":"registry.example/consumer:2","log_level":null}}"#;
    bed.patch("later", edit).await.expect("it is admitted");
    let stored = bed.stored("later").await;
    assert_eq!(
        stored["spec"]["fieldOfALaterRelease"],
        json!({"a": 1.5, "b": [null, "c"]})
    );
    assert_eq!(stored["spec"]["log_level"], json!("INFO"));
    assert_eq!(stored["spec"]["pipeline_name"], json!("later"));
    let remove = json!([{"op": "remove", "path": path}]).to_string();
    bed.kubectl(&["patch", "crd", crd, "--type=json", "--patch", &remove])
        .await
        .expect("this release's CRD");
}
