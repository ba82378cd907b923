//! A quiet cluster costs the API server nothing but watches and the lease.

use std::time::Duration;

use testkit::audit::Record;
use testkit::users;
use testkit::wait::{self, Seen};

use super::release::{Release, SOON, pipeline};

/// How many pipelines there are.
const PIPELINES: usize = 50;
/// How long nothing may be asked. `STREAMS_TEST_IDLE_SECONDS=300` is the long form.
const WINDOW: Duration = Duration::from_secs(20);

fn window() -> Duration {
    let seconds = std::env::var("STREAMS_TEST_IDLE_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok());
    seconds.map_or(WINDOW, Duration::from_secs)
}

/// What an idle operator may ask.
fn is_idle(record: &Record) -> bool {
    let lease = record.resource == "leases" && matches!(record.verb.as_str(), "get" | "update");
    record.verb == "watch" || lease
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_pipelines_at_rest_are_watched_and_asked_nothing() {
    let release = Release::get().await;
    let namespace = release.cluster.namespace("idle").await.unwrap();
    let pipelines: Vec<_> = (0..PIPELINES)
        .map(|n| pipeline(&namespace, &format!("p{n}"), 2))
        .collect();
    release.cluster.apply(&pipelines).await.unwrap();
    for n in 0..PIPELINES {
        release.until_ready_is(&namespace, &format!("p{n}"), "True/Ready").await;
    }
    let admin = release.cluster.admin().await.unwrap();
    let audit = release.cluster.audit();
    // What came of the last events may still be on its way.
    let quiet = async || {
        let mark = audit.mark(&admin).await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let asked = audit.since_by(users::OPERATOR, mark, &admin).await?;
        let busy: Vec<String> = of(&namespace, &asked).map(ToString::to_string).collect();
        Ok(Seen::when(busy, Vec::is_empty))
    };
    wait::until("the operator to come to rest", SOON, quiet).await.unwrap();
    let mark = audit.mark(&admin).await.unwrap();
    tokio::time::sleep(window()).await;
    let asked = audit.since_by(users::OPERATOR, mark, &admin).await.unwrap();
    let busy: Vec<String> = of(&namespace, &asked).map(ToString::to_string).collect();
    assert_eq!(busy, Vec::<String>::new());
    assert!(
        asked.iter().any(|record| record.is("update", "leases")),
        "the lease is renewed"
    );
}

/// What is not idle, but for other tests' pipelines.
fn of<'a>(namespace: &'a str, records: &'a [Record]) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(move |record| {
        let elsewhere = !record.namespace.is_empty() && record.namespace != namespace;
        !is_idle(record) && (record.resource == "leases" || !elsewhere)
    })
}
