//! Certificates against an API server within the process: replicas agree on one CA, and `caBundle` follows it. The clock
//! is paused: waiting takes no time.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod api_server;
mod clock;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use streaming_operator::certs::due::Policy;
use streaming_operator::certs::{Deps, SelfMade, ServingCertificate, Settings, Source, run, trust};
use streaming_operator::server::{Need, Readiness};
use streaming_operator::telemetry::Metrics;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use api_server::{ApiServer, MUTATING, SECRETS, VALIDATING};

const HOST: &str = "streaming-operator.ops.svc";
const SECRET: &str = "streaming-operator-tls";
const NAME: &str = "streaming-operator";

/// One replica of the operator, as far as certificates go.
struct Replica {
    certificate: Arc<ServingCertificate>,
    readiness: Readiness,
    leads: watch::Sender<bool>,
    cancel: CancellationToken,
}

impl Replica {
    fn start(server: &ApiServer, leads: bool) -> Self {
        Self::start_with(server, leads, policy())
    }

    fn start_with(server: &ApiServer, leads: bool, policy: Policy) -> Self {
        let settings = Settings {
            source: Source::SelfMade(SelfMade {
                namespace: "ops".to_owned(),
                policy,
            }),
            webhook_config_name: NAME.to_owned(),
        };
        let (leads, is_leader) = watch::channel(leads);
        let certificate = Arc::new(ServingCertificate::default());
        let readiness = Readiness::new(&[Need::Certificate]);
        let deps = Deps {
            client: server.client(),
            as_leader: server.client(),
            served: Arc::clone(&certificate),
            readiness: readiness.clone(),
            metrics: Metrics::new("0", "0", false),
            is_leader,
        };
        let cancel = CancellationToken::new();
        tokio::spawn(run(settings, deps, cancel.clone()));
        Self {
            certificate,
            readiness,
            leads,
            cancel,
        }
    }

    /// The leaf that is served, DER.
    fn leaf(&self) -> Option<Vec<u8>> {
        self.certificate.current().map(|current| current.cert[0].to_vec())
    }

    fn is_ready(&self) -> bool {
        self.readiness.unmet().is_empty()
    }

    /// Whether a client that has `bundle` takes what is served.
    fn is_trusted_by(&self, bundle: &[u8]) -> bool {
        let served = self.certificate.current();
        served.is_some_and(|served| trust::verify(&served.cert, bundle, HOST, Timestamp::now()).is_ok())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn policy() -> Policy {
    Policy {
        hosts: [HOST.to_owned()].into(),
        leaf_lifetime: Duration::from_secs(2160 * 3600),
        ca_lifetime: Duration::from_secs(43_800 * 3600),
        ca_overlap: Duration::from_secs(24 * 3600),
    }
}

/// A configuration with two entries and fields of someone else.
fn configuration(kind: &str) -> Value {
    let entry = |name: &str| {
        json!({
            "name": name,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"service": {"name": "streaming-operator", "namespace": "ops", "port": 443, "path": "/x"}}
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": NAME},
        "webhooks": [entry("a.streams.sentry.io"), entry("b.streams.sentry.io")]
    })
}

fn server() -> ApiServer {
    let server = ApiServer::default();
    server.put(MUTATING, "", NAME, configuration("MutatingWebhookConfiguration"));
    server.put(VALIDATING, "", NAME, configuration("ValidatingWebhookConfiguration"));
    server
}

/// Waits until `holds`, a minute at most.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let poll = async {
        while !holds() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(60), poll)
        .await
        .unwrap_or_else(|_| panic!("not within a minute: {what}"));
}

fn secret_entry(server: &ApiServer, key: &str) -> String {
    let secret = server.get(SECRETS, "ops", SECRET).expect("the Secret");
    secret["data"][key].as_str().expect("an entry").to_owned()
}

fn bundles(server: &ApiServer) -> Vec<Value> {
    let kinds = [MUTATING, VALIDATING].into_iter();
    let configurations = kinds.map(|kind| server.get(kind, "", NAME).expect("a configuration"));
    let entries = configurations.flat_map(|found| found["webhooks"].as_array().expect("entries").clone());
    entries.map(|entry| entry["clientConfig"]["caBundle"].clone()).collect()
}

fn decoded(text: &Value) -> Vec<u8> {
    use base64::Engine;
    let text = text.as_str().expect("base64");
    base64::engine::general_purpose::STANDARD.decode(text).expect("base64")
}

#[tokio::test(start_paused = true)]
async fn replicas_that_start_together_agree_on_one_authority() {
    let server = server();
    let (first, second) = (Replica::start(&server, false), Replica::start(&server, false));
    eventually("both serve", || first.leaf().is_some() && second.leaf().is_some()).await;
    assert_eq!(first.leaf(), second.leaf());
    assert_eq!(server.requests("POST", SECRETS, 201), 1, "one of them made it");
    assert_eq!(server.requests("PUT", SECRETS, 200), 0, "and nobody wrote over it");
}

#[tokio::test(start_paused = true)]
async fn every_replica_is_ready_once_the_leader_has_written_the_bundle() {
    let server = server();
    let (follower, leader) = (Replica::start(&server, false), Replica::start(&server, true));
    eventually("both are ready", || follower.is_ready() && leader.is_ready()).await;
    let bundle = json!(secret_entry(&server, "ca.crt"));
    assert_eq!(bundles(&server), vec![bundle.clone(); 4]);
    assert!(leader.is_trusted_by(&decoded(&bundle)) && follower.is_trusted_by(&decoded(&bundle)));
}

#[tokio::test(start_paused = true)]
async fn the_patch_holds_ca_bundle_and_nothing_else_under_a_manager_of_its_own() {
    let server = server();
    let replica = Replica::start(&server, true);
    eventually("it is ready", || replica.is_ready()).await;
    let bundle = json!(secret_entry(&server, "ca.crt"));
    let (query, body) = server.last_patch(MUTATING).expect("a patch");
    assert_eq!(query, "force=true&fieldManager=streaming-operator-ca");
    assert_eq!(
        body,
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": NAME, "uid": server.get(MUTATING, "", NAME).expect("it exists")["metadata"]["uid"]},
            "webhooks": [
                {"name": "a.streams.sentry.io", "clientConfig": {"caBundle": bundle}},
                {"name": "b.streams.sentry.io", "clientConfig": {"caBundle": bundle}}
            ]
        })
    );
    let mut found = server.get(MUTATING, "", NAME).expect("it exists");
    for entry in found["webhooks"].as_array_mut().expect("entries") {
        entry["clientConfig"]
            .as_object_mut()
            .expect("an object")
            .remove("caBundle");
    }
    assert_eq!(
        found["webhooks"],
        configuration("MutatingWebhookConfiguration")["webhooks"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stripped_or_replaced_bundle_is_put_back() {
    let server = server();
    let replica = Replica::start(&server, true);
    eventually("it is ready", || replica.is_ready()).await;
    let bundle = json!(secret_entry(&server, "ca.crt"));
    for kind in [MUTATING, VALIDATING] {
        for wrong in [Value::Null, json!(""), json!("bm8gY2VydGlmaWNhdGU=")] {
            let mut found = server.get(kind, "", NAME).expect("it exists");
            found["webhooks"][1]["clientConfig"]["caBundle"] = wrong;
            server.put(kind, "", NAME, found);
            eventually("it is put back", || bundles(&server) == vec![bundle.clone(); 4]).await;
        }
    }
    eventually("it is ready again", || replica.is_ready()).await;
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_is_stripped_again_at_once_is_put_back_within_a_second() {
    let server = server();
    let replica = Replica::start(&server, true);
    eventually("it is ready", || replica.is_ready()).await;
    let bundle = json!(secret_entry(&server, "ca.crt"));
    for _ in 0..5 {
        let mut found = server.get(MUTATING, "", NAME).expect("it exists");
        found["webhooks"][0]["clientConfig"]["caBundle"] = Value::Null;
        server.put(MUTATING, "", NAME, found);
        let stripped = Instant::now();
        eventually("it is put back", || bundles(&server) == vec![bundle.clone(); 4]).await;
        assert!(
            stripped.elapsed() < Duration::from_millis(1100),
            "{:?}",
            stripped.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_is_missing_is_waited_for_and_not_made() {
    let server = ApiServer::default();
    server.put(MUTATING, "", NAME, configuration("MutatingWebhookConfiguration"));
    let replica = Replica::start(&server, true);
    eventually("the other one is written", || bundles_of(&server, MUTATING) == 2).await;
    sleep(Duration::from_secs(60)).await;
    let (need, why) = replica.readiness.unmet().pop().expect("not ready");
    assert_eq!(need, Need::Certificate);
    assert_eq!(
        why,
        "ValidatingWebhookConfiguration streaming-operator does not exist; install it (streaming-operator webhook-config)"
    );
    server.put(VALIDATING, "", NAME, configuration("ValidatingWebhookConfiguration"));
    eventually("it is ready", || replica.is_ready()).await;
}

fn bundles_of(server: &ApiServer, kind: &str) -> usize {
    let found = server.get(kind, "", NAME).expect("it exists");
    let entries = found["webhooks"].as_array().expect("entries").iter();
    entries
        .filter(|entry| entry["clientConfig"]["caBundle"].is_string())
        .count()
}

#[tokio::test(start_paused = true)]
async fn a_deleted_or_damaged_secret_is_put_back_as_it_was_and_the_certificate_goes_on() {
    let server = server();
    let (leader, follower) = (Replica::start(&server, true), Replica::start(&server, false));
    eventually("both are ready", || leader.is_ready() && follower.is_ready()).await;
    let (leaf, data) = (
        leader.leaf(),
        server.get(SECRETS, "ops", SECRET).expect("it exists")["data"].clone(),
    );
    let restored = || {
        server
            .get(SECRETS, "ops", SECRET)
            .is_some_and(|secret| secret["data"] == data)
    };
    server.delete(SECRETS, "ops", SECRET);
    eventually("the deleted one is back", restored).await;
    for (key, value) in [
        ("tls.key", json!("eA==")),
        ("signing-ca.crt", json!("eA==")),
        ("ca.crt", Value::Null),
    ] {
        let mut damaged = server.get(SECRETS, "ops", SECRET).expect("it exists");
        damaged["data"][key] = value;
        server.put(SECRETS, "ops", SECRET, damaged);
        eventually("the damaged one is whole", restored).await;
    }
    assert_eq!((leader.leaf(), follower.leaf()), (leaf.clone(), leaf));
    assert!(leader.is_ready() && follower.is_ready());
}

#[tokio::test(start_paused = true)]
async fn without_a_leader_a_damaged_secret_is_left_alone_until_there_is_one() {
    let server = server();
    let replica = Replica::start(&server, false);
    eventually("it serves", || replica.leaf().is_some()).await;
    let mut damaged = server.get(SECRETS, "ops", SECRET).expect("it exists");
    damaged["data"]["tls.key"] = json!("eA==");
    server.put(SECRETS, "ops", SECRET, damaged);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(secret_entry(&server, "tls.key"), "eA==");
    replica.leads.send_replace(true);
    eventually("the new leader repairs it", || {
        secret_entry(&server, "tls.key") != "eA=="
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_the_api_server_fails_the_last_state_holds_and_then_things_go_on() {
    let server = server();
    let replica = Replica::start(&server, true);
    eventually("it is ready", || replica.is_ready()).await;
    server.fail(true);
    sleep(Duration::from_secs(600)).await;
    assert!(replica.is_ready() && replica.leaf().is_some());
    server.delete(SECRETS, "ops", SECRET);
    server.fail(false);
    eventually("the Secret is back", || server.get(SECRETS, "ops", SECRET).is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn when_nothing_changes_nothing_is_asked() {
    let server = server();
    let replica = Replica::start(&server, true);
    eventually("it is ready", || replica.is_ready()).await;
    // Longer than any interval of ours, and shorter than the 290 s after which a watch begins anew.
    sleep(Duration::from_secs(5)).await;
    let before = server.request_count();
    sleep(Duration::from_secs(200)).await;
    assert_eq!(server.request_count(), before);
}
