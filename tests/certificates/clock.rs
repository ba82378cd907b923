//! What the times in certificates do: an authority that is not trusted yet, a renewal that is late, a clock that is wrong.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use streaming_operator::certs::authority::bring_up_to_date;
use streaming_operator::certs::contents::Contents;
use streaming_operator::certs::due::Policy;
use tokio::time::sleep;

use super::api_server::{ApiServer, SECRETS};
use super::{Replica, SECRET, eventually, policy, secret_entry, server};

#[tokio::test(start_paused = true)]
async fn an_authority_that_a_configuration_does_not_trust_yet_does_not_sign() {
    let server = server();
    let replica = Replica::start(&server, true);
    eventually("it is ready", || replica.is_ready()).await;
    let (old, leaf) = (secret_entry(&server, "signing-ca.crt"), replica.leaf());
    drop(replica);
    server.forbid(Some("PATCH"));
    // With this policy the authority is so near its end that the next one is wanted, and may sign at once.
    let hasty = Policy {
        ca_overlap: Duration::from_nanos(1),
        leaf_lifetime: policy().ca_lifetime,
        ..policy()
    };
    let replica = Replica::start_with(&server, true, hasty);
    eventually("the next one is made", || has_entry(&server, "next-ca.crt")).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(secret_entry(&server, "signing-ca.crt"), old);
    assert_eq!(replica.leaf(), leaf);
    assert!(replica.is_ready(), "what is served is trusted");
    server.forbid(None);
    eventually("it signs once it is trusted", || {
        secret_entry(&server, "signing-ca.crt") != old
    })
    .await;
    eventually("another leaf is served", || {
        replica.leaf() != leaf && replica.is_ready()
    })
    .await;
}

fn has_entry(server: &ApiServer, key: &str) -> bool {
    let secret = server.get(SECRETS, "ops", SECRET).expect("the Secret");
    secret["data"][key].is_string()
}

/// Stores the Secret as an operator made it whose clock said that.
fn put_secret_made_at(server: &ApiServer, then: Timestamp) {
    let (contents, _) = bring_up_to_date(Contents::default(), then, &policy()).expect("certificates are made");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": "ops"},
                        "data": contents.to_data()});
    server.put(SECRETS, "ops", SECRET, secret);
}

#[tokio::test(start_paused = true)]
async fn when_renewal_fails_until_14_days_are_left_an_event_says_why() {
    let server = server();
    server.forbid(Some("PUT"));
    // Of its 90 days 15 are left.
    put_secret_made_at(&server, Timestamp::now() - SignedDuration::from_hours(75 * 24));
    let replica = Replica::start(&server, true);
    eventually("it is ready", || replica.is_ready()).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.list("events"), Vec::<Value>::new());
    drop(replica);
    // Of its 90 days 10 are left.
    put_secret_made_at(&server, Timestamp::now() - SignedDuration::from_hours(80 * 24));
    let replica = Replica::start(&server, true);
    eventually("an Event", || !server.list("events").is_empty()).await;
    sleep(Duration::from_secs(600)).await;
    let events = server.list("events");
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["reason"], "CertificateExpiring");
    assert_eq!(events[0]["regarding"]["name"], SECRET);
    let note = events[0]["note"].as_str().expect("a note");
    assert!(
        note.contains("should have been renewed: ") && note.contains("Forbidden"),
        "{note}"
    );
    let leaf = replica.leaf();
    server.forbid(None);
    eventually("it is renewed", || replica.leaf() != leaf).await;
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_is_not_valid_yet_is_left_alone_and_readiness_says_so() {
    let server = server();
    put_secret_made_at(&server, Timestamp::now() + SignedDuration::from_hours(2));
    let replica = Replica::start(&server, true);
    let why = || replica.readiness.unmet().pop().map(|(_, why)| why).unwrap_or_default();
    eventually("readiness says why", || why().contains("not valid yet")).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.requests("PUT", SECRETS, 200), 0, "nothing is renewed");
    assert!(
        replica.leaf().is_some(),
        "served all the same, for clients whose clocks are right"
    );
}
