//! Two clients create pipelines that want the same names, at the same moment, and each is judged by another replica. Both
//! may be stored: neither replica has heard of the other's. Then one of them must hold the names, and the other wait.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::control_plane::{Options, Shared};
use testkit::install::service_host;
use testkit::wait::{self, Seen};
use tokio::time::Instant;

use super::bed::{Bed, manifest, post};
use super::router::{Mounted, Router};
use super::size;
use super::witness::Witness;

static CLUSTER: Shared = Shared::new(Options::api_server());

/// Rounds whose outcome is awaited together.
const BATCH: usize = 10;
/// In which time one of a group is to be without `NameCollision`.
const SETTLED_WITHIN: Duration = Duration::from_secs(5);

/// One pipeline of a group and what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// Nothing yet.
    None,
    Collides,
    Holds,
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_want_one_name_exactly_one_has_it_and_never_both() {
    let cluster = CLUSTER.get().await.unwrap();
    let own = cluster.namespace("release").await.unwrap();
    let mounted = Mounted::new(&service_host(&own));
    let folder = format!("--tls-dir={}", mounted.folder.display());
    let mut bed = Bed::start_in(own, cluster, &["--tls-mode=files", &folder], false).await;
    let ports = [0, 1].map(|index: usize| bed.replicas[index].operator.webhook_port());
    let router = Router::start(mounted, ports, |name| usize::from(name.ends_with("-two"))).await;
    bed.webhooks.port = router.port();
    cluster.install_webhooks(&bed.webhooks).await.unwrap();
    bed.until_admission_works().await;
    let witness = Witness::start(&bed.admin, &bed.pipelines, contested_name);
    let clients = [bed.cluster.admin().await.unwrap(), bed.cluster.admin().await.unwrap()];
    let rounds = size("STREAMS_TEST_RACE_ROUNDS", 100);
    let (mut stored_pairs, mut late, mut longest) = (0, 0, Duration::ZERO);
    for first in (0..rounds).step_by(BATCH) {
        for round in first..(first + BATCH).min(rounds) {
            let create = |client: usize| {
                let object = contender(&bed.pipelines, round, client);
                let (clients, namespace) = (&clients, &bed.pipelines);
                async move { post(&clients[client], namespace, &object, "").await }
            };
            let (one, two) = tokio::join!(create(0), create(1));
            let refusals: Vec<String> = [one, two].into_iter().filter_map(Result::err).collect();
            assert!(refusals.len() < 2, "nobody got the name: {refusals:?}");
            assert!(
                refusals.iter().all(|refusal| refusal.contains("NameCollision")),
                "{refusals:?}"
            );
            stored_pairs += usize::from(refusals.is_empty());
        }
        let created = Instant::now();
        let look = async || {
            let groups = groups(&bed, &format!("?labelSelector=batch%3D{}", first / BATCH)).await?;
            let open: Vec<_> = groups.into_iter().filter(|(_, group)| !settled(group)).collect();
            Ok(Seen::when(open, Vec::is_empty))
        };
        wait::until("one of each group to hold its names", wait::DEADLINE, look)
            .await
            .unwrap();
        longest = longest.max(created.elapsed());
        late += usize::from(created.elapsed() > SETTLED_WITHIN);
    }
    // A condition says who holds a name before its Pods are made.
    let look = async || Ok(Seen::when(witness.names(), |names| *names == rounds));
    wait::until("every holder to use its name", wait::DEADLINE, look)
        .await
        .unwrap();
    let groups = groups(&bed, "").await.unwrap();
    let unsettled: Vec<_> = groups.iter().filter(|(_, group)| !settled(group)).collect();
    println!(
        "{rounds} rounds: {stored_pairs} colliding pairs stored, {} double owners among {} Pods and ConfigMaps under {} \
         names; one of each group held its names at most {:.2} s after the last create of its batch of {BATCH} ({late} \
         batches later than {SETTLED_WITHIN:?})",
        witness.double_owners().len(),
        witness.seen(),
        witness.names(),
        longest.as_secs_f64(),
    );
    assert_eq!(groups.len(), rounds);
    assert!(unsettled.is_empty(), "{unsettled:?}");
    assert_eq!(witness.double_owners(), Vec::<String>::new());
    assert!(stored_pairs > 0, "no race was lost by admission: nothing was tried");
}

/// What a client creates in a round. `race-7.x` and `race-7_x` are `race-7-x` in every rendered name.
fn contender(namespace: &str, round: usize, client: usize) -> Value {
    let mut object = manifest(namespace, &format!("race-{round}-{}", ["one", "two"][client]));
    object["metadata"]["labels"] = json!({"batch": (round / BATCH).to_string()});
    object["spec"]["pipeline_name"] = json!(format!("race-{round}{}x", [".", "_"][client]));
    object
}

/// `svc-pipeline-race-7-x-0-...` is of the name `race-7-x`.
fn contested_name(object: &str) -> String {
    let words: Vec<&str> = object.split('-').skip(2).take(3).collect();
    words.join("-")
}

fn settled(group: &[Verdict]) -> bool {
    let holders = group.iter().filter(|verdict| **verdict == Verdict::Holds).count();
    holders == 1 && !group.contains(&Verdict::None)
}

/// What is said of every pipeline that was stored and that `query` asks for, by round.
async fn groups(bed: &Bed, query: &str) -> anyhow::Result<BTreeMap<usize, Vec<Verdict>>> {
    let namespace = &bed.pipelines;
    let path = format!("/apis/streams.sentry.io/v1alpha1/namespaces/{namespace}/streamingpipelines{query}");
    let list: Value = bed.admin.request(http::Request::get(path).body(Vec::new())?).await?;
    let mut groups: BTreeMap<usize, Vec<Verdict>> = BTreeMap::new();
    for item in list["items"].as_array().unwrap() {
        let name = item["metadata"]["name"].as_str().unwrap();
        let round: usize = name.split('-').nth(1).unwrap().parse()?;
        let conditions = item["status"]["conditions"].as_array();
        let mut ready = conditions
            .into_iter()
            .flatten()
            .filter(|condition| condition["type"] == "Ready");
        let verdict = match ready.next() {
            None => Verdict::None,
            Some(ready) if ready["reason"] == "NameCollision" => Verdict::Collides,
            Some(_) => Verdict::Holds,
        };
        groups.entry(round).or_default().push(verdict);
    }
    Ok(groups)
}
