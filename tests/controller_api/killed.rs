//! Wherever the operator is killed, the next one comes to the same end.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_api::{FakeApi, Fault};
use tokio::time::sleep;

use super::is_pod_create;
use super::operator::{Mode, Operator, PIPELINES, condition, kubelet, pipeline, pods, settle};

/// What a create, an edit and a scale down came to.
struct Story {
    pods: Vec<String>,
    config_maps: Vec<String>,
    /// Pods made on the way.
    made: usize,
    /// Writes of the operator that is killed, or would have been.
    writes: usize,
}

/// Where the first operator is killed: after so many writes, with the last of them done or not.
#[derive(Clone, Copy, Debug)]
struct Kill {
    at: usize,
    last_is_done: bool,
}

/// A create, an edit and a scale down under an operator that is killed on the way, and another that takes over.
async fn story(kill: Option<Kill>) -> Story {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let mut writes = 0;
    api.on_request(move |request| {
        let Some(kill) = kill.filter(|_| request.client == "first") else {
            return Fault::None;
        };
        writes += usize::from(request.is_write());
        match (
            writes >= kill.at,
            writes == kill.at && request.is_write() && kill.last_is_done,
        ) {
            (false, _) => Fault::None,
            (true, true) => Fault::AnswerLost,
            (true, false) => Fault::BlackHoled,
        }
    });
    let first = Operator::start(&api, "first", &Mode::default());
    let change = |change: &dyn Fn(&mut Value)| api.edit(PIPELINES, "ns", "p", |pipeline| change(pipeline));
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    sleep(Duration::from_secs(300)).await;
    change(&|pipeline| pipeline["spec"]["image_name"] = json!("image:2"));
    sleep(Duration::from_secs(300)).await;
    change(&|pipeline| pipeline["spec"]["replicas"] = json!(2));
    sleep(Duration::from_secs(300)).await;
    drop(first);
    let _second = Operator::start(&api, "second", &Mode::default());
    settle(&api).await;
    assert_eq!(condition(&api, "p", "Ready"), "True Ready", "{kill:?}");
    Story {
        pods: pods(&api),
        config_maps: api.list("configmaps").into_keys().collect(),
        made: api.writes().into_iter().filter(is_pod_create).count(),
        writes: api.writes().into_iter().filter(|write| write.client == "first").count(),
    }
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_write_the_next_one_comes_to_the_same_end() {
    let whole = story(None).await;
    assert_eq!(whole.pods, ["primary/0 image:2", "primary/1 image:2"]);
    assert!(whole.writes > 20, "{} writes", whole.writes);
    for at in 1..=whole.writes {
        for last_is_done in [false, true] {
            let kill = Kill { at, last_is_done };
            let interrupted = story(Some(kill)).await;
            assert_eq!(interrupted.pods, whole.pods, "{kill:?}");
            assert_eq!(interrupted.config_maps, whole.config_maps, "{kill:?}");
            assert!(
                interrupted.made <= whole.made,
                "{kill:?}: {} Pods made",
                interrupted.made
            );
        }
    }
}
