//! The operator is killed by SIGKILL after its n-th write, for many n, and started again: the same end, no Pod too many.

use futures::{StreamExt as _, stream};
use serde_json::json;
use testkit::audit::Mark;
use testkit::operator::{Launch, Operator};
use testkit::proxy::{Fault, Match, Proxy, Rule};
use testkit::wait::{self, Seen};

use super::bed::{Bed, Mode, SOON, pipeline};
use super::twins::{created, twins};

/// How many stories are told at once.
const AT_ONCE: usize = 6;

/// After which writes it is killed: every fifth, or as `STREAMS_TEST_CRASH_EVERY` says.
fn every() -> usize {
    let every = std::env::var("STREAMS_TEST_CRASH_EVERY").ok();
    every.and_then(|every| every.parse().ok()).unwrap_or(5)
}

/// What a create, an edit, a scale down and a deletion came to.
#[derive(Debug)]
struct Told {
    /// Before the deletion.
    running: Vec<String>,
    objects: [usize; 3],
    /// Pods that were ever created.
    created: usize,
    twins: Vec<String>,
    /// Writes of the operator.
    writes: usize,
    was_killed: bool,
}

/// An operator that is started again when it was killed.
struct Immortal {
    launch: Launch,
    operator: Operator,
    rule: Option<Rule>,
}

impl Immortal {
    /// Starts it; it is killed after so many writes.
    fn start(launch: Launch, proxy: &Proxy, kill_at: Option<usize>) -> Self {
        let operator = launch.start().unwrap();
        let rule = kill_at.map(|nth| {
            let nth = u64::try_from(nth).unwrap();
            proxy.on(
                Match::writes().nth(nth),
                Fault::PassThenKill(operator.process().clone()),
            )
        });
        Self { launch, operator, rule }
    }

    fn was_killed(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.acted() > 0)
    }

    /// Waits until `done`, and starts the operator again when it ends on the way.
    async fn until(&mut self, done: impl Future<Output = ()>) {
        let mut done = std::pin::pin!(done);
        let died = self.operator.clone();
        let died = async move {
            let look = async || Ok(Seen::when(died.ended()?, Option::is_some));
            wait::until("the end of the operator", SOON, look).await
        };
        tokio::select! {
            () = &mut done => return,
            died = died => {
                died.expect("it ends only when it is killed, and before that the story goes on");
            }
        }
        self.operator = self.launch.start().unwrap();
        done.await;
    }
}

async fn story(mode: Mode, kill_at: Option<usize>) -> Told {
    let bed = Bed::new("crash", mode).await;
    let proxy = Proxy::start(bed.cluster).unwrap();
    let launch = bed.launch(&[]).via(bed.cluster, &proxy.url()).unwrap();
    let mut operator = Immortal::start(launch, &proxy, kill_at);
    let log = operator.operator.clone();
    let ready = || async {
        bed.until_ready_is(&log, "p", "True/Ready").await;
    };
    bed.create(pipeline("p", 3)).await;
    operator.until(ready()).await;
    bed.edit("p", json!({"spec": {"image_name": "image:2"}})).await;
    operator.until(ready()).await;
    bed.edit("p", json!({"spec": {"replicas": 2}})).await;
    operator.until(ready()).await;
    // Ready does not wait for the surplus Pod to end.
    let settled = async || Ok(Seen::when(bed.running().await, |pods| pods.len() == 2));
    let running = wait::until("the third Pod to be gone", SOON, settled).await.unwrap();
    let objects = bed.count().await;
    bed.delete("p").await;
    operator.until(bed.until_all_is_gone("p")).await;
    let audit = bed.cluster.audit();
    let records = audit.since(Mark::default(), &bed.admin).await.unwrap();
    Told {
        running,
        objects,
        created: created(&records, &bed.pods_in).len(),
        twins: twins(&records, &bed.pods_in),
        writes: proxy.writes(),
        was_killed: operator.was_killed(),
    }
}

async fn killed_anywhere(mode: Mode) {
    let whole = story(mode, None).await;
    assert_eq!(whole.running, ["primary/0 image:2", "primary/1 image:2"]);
    assert_eq!(whole.created, 6, "three, and three of the new image: {whole:?}");
    assert_eq!(whole.twins, Vec::<String>::new());
    assert!(whole.writes > 20, "{whole:?}");
    let kills = (1..=whole.writes).filter(|nth| nth % every() == 0);
    let stories = stream::iter(kills).map(|nth| async move { (nth, story(mode, Some(nth)).await) });
    let mut stories = stories.buffer_unordered(AT_ONCE);
    let (mut told, mut killed) = (0, 0);
    while let Some((nth, story)) = stories.next().await {
        assert_eq!(story.running, whole.running, "killed after write {nth}");
        assert_eq!(story.objects, whole.objects, "killed after write {nth}");
        assert_eq!(story.twins, whole.twins, "killed after write {nth}");
        assert_eq!(story.created, whole.created, "killed after write {nth}: a Pod too many");
        told += 1;
        killed += usize::from(story.was_killed);
    }
    // Two status writes may become one, so that the last numbers are not reached.
    assert!(
        killed > 0 && killed * 10 >= told * 7,
        "killed in {killed} of {told} stories"
    );
    println!(
        "{mode:?}: killed after a write in {killed} stories of {} writes",
        whole.writes
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_write_the_operator_comes_to_the_same_end_with_no_pod_too_many() {
    killed_anywhere(Mode::Together).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn and_where_pods_run_in_a_namespace_of_their_own() {
    killed_anywhere(Mode::Apart).await;
}
