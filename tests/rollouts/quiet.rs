//! Nothing is written when nothing differs, whatever happens to the operator: another leader, a restart, lists that are
//! read again. (An hour of it, on a clock that a test can move: `tests/controller_api/quiet.rs`.)

use std::time::Duration;

use serde_json::json;
use testkit::proxy::{Fault, Match, Proxy};
use testkit::wait::{self, Seen};

use super::bed::{Bed, SOON, image, pipeline};

/// Every resource that the operator watches.
const WATCHED: [&str; 4] = ["streamingpipelines", "pods", "configmaps", "controllerrevisions"];
const NAMES: [&str; 4] = ["plain", "canary", "paused", "suspended"];

/// Waits until the operator that was started last leads and has looked at every pipeline.
async fn until_led(bed: &Bed) {
    let look = async || {
        let text = bed.operator().metrics().await?;
        let leads = text.contains("streaming_operator_leader 1\n");
        let unseen = NAMES.iter().filter(|name| !text.contains(&format!("name=\"{name}\"")));
        let unseen: Vec<&&str> = unseen.collect();
        Ok(Seen::when((leads, unseen), |(leads, unseen)| {
            *leads && unseen.is_empty()
        }))
    };
    wait::until("the operator to lead and to have looked at all", SOON, look)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_leader_a_restart_and_new_lists_write_nothing_but_the_lease() {
    let mut bed = Bed::new(
        "quiet",
        &[
            "--lease-duration",
            "4s",
            "--renew-deadline",
            "3s",
            "--retry-period",
            "1s",
        ],
    )
    .await;
    let proxy = Proxy::start(bed.cluster).unwrap();
    bed.via(&proxy.url());
    bed.run().await;
    let pipelines = NAMES.map(|name| {
        let mut pipeline = pipeline(&bed.namespace, name, 2);
        pipeline["spec"]["with_canary"] = json!(name == "canary" || name == "paused");
        pipeline["spec"]["rollout"] = json!({"requireAnalysis": name == "paused"});
        pipeline
    });
    bed.apply(&pipelines).await;
    for name in NAMES {
        bed.until_ready(name).await;
    }
    bed.edit("suspended", json!({"spec": {"suspend": true}})).await;
    bed.until("suspended", "Ready", "True/Suspended").await;
    bed.edit("paused", image("2")).await;
    bed.until("paused", "Ready", "False/AwaitingAnalysis").await;
    bed.edit("paused", json!({"spec": {"rollout": {"paused": true}}})).await;
    bed.until("paused", "Ready", "False/RolloutPaused").await;
    let mark = bed.mark().await;

    // The next watches are told that their place is gone, so that everything is listed again.
    let rules = WATCHED.map(|resource| {
        let gone = Fault::answer(410, "Expired", "too old resource version");
        proxy.on(Match::of("watch", resource), gone)
    });
    proxy.cut();
    let noticed = async || {
        let text = bed.operator().metrics().await?;
        let none = |line: &&str| line.contains("api_requests_total") && line.contains("code=\"none\"");
        Ok(Seen::when(text.lines().filter(none).count(), |lines| *lines > 0))
    };
    wait::until("the operator to get no answer", SOON, noticed)
        .await
        .unwrap();
    proxy.restore();
    let look = async || {
        let left = rules.iter().filter(|rule| rule.acted() == 0).count();
        Ok(Seen::when(left, |left| *left == 0))
    };
    wait::until("every watch to begin anew", SOON, look).await.unwrap();
    until_led(&bed).await;
    // Another leader, as in an upgrade; then one that was killed comes back.
    bed.run().await;
    bed.end_first().await;
    until_led(&bed).await;
    bed.operator().kill9().unwrap();
    bed.forget_first().await;
    bed.run().await;
    until_led(&bed).await;
    // What came of the last look may still be on its way.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let writes: Vec<String> = bed.writes_since(mark).await.iter().map(ToString::to_string).collect();
    assert_eq!(writes, Vec::<String>::new());
}
