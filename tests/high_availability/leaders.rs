//! A leader is lost while it writes all the time. The audit log says when the next one acquired the lease, and whether
//! anything of the old one came after that.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use testkit::audit::Record;
use testkit::control_plane::{Options, Shared};
use testkit::wait::{self, Seen};
use tokio::task::JoinSet;

use super::bed::{Bed, manifest, post};
use super::losses::{Loss, move_clocks};
use super::size;

static CLUSTER: Shared = Shared::new(Options::api_server());

/// A lease of 3 s; renewed or looked at every half second.
const ELECTION: [&str; 4] = [
    "--lease-duration=3s",
    "--renew-deadline=2s",
    "--retry-period=500ms",
    "--shutdown-delay=0s",
];
/// So many renewals take longer than the lease lasts.
const RENEWALS_OF_A_LEASE: u64 = 8;
/// Pipelines that are scaled up and down without end.
const PIPELINES: usize = 4;

/// What the audit log has of a loss.
struct Change {
    /// When the next leader's acquire was received.
    acquired: Timestamp,
    /// From when on nobody led.
    free: Timestamp,
    /// Until the next leader's first write.
    first_write: Option<Timestamp>,
    /// Writes of the old leader that were received later than the acquire.
    late: Vec<Record>,
}

#[tokio::test(flavor = "multi_thread")]
async fn however_a_leader_is_lost_no_write_of_it_comes_after_the_next_ones_acquire() {
    let mut bed = Bed::start_with(CLUSTER.get().await.unwrap(), &ELECTION, true).await;
    let _busy = keep_busy(&bed).await;
    // Each way in turn, and as often the clocks.
    let rounds = size("STREAMS_TEST_LEADER_ROUNDS", Loss::ALL.len() + 1);
    let mut changes: BTreeMap<&str, Vec<Change>> = BTreeMap::new();
    let mut clocks = 0;
    for round in 0..rounds {
        let leader = bed.leader().await;
        until_it_writes(&bed, leader).await;
        if let Some(loss) = Loss::ALL.get(round % (Loss::ALL.len() + 1)) {
            let change = lose(&mut bed, leader, *loss).await;
            changes.entry(loss.as_str()).or_default().push(change);
        } else {
            move_clocks(&bed, leader, RENEWALS_OF_A_LEASE).await;
            clocks += 1;
        }
    }
    for (loss, changes) in &changes {
        println!("{loss}: {}", figures(changes));
    }
    println!("wall clocks moved by an hour: {clocks} rounds; the lease changed hands in 0");
    let late: Vec<&Record> = changes.values().flatten().flat_map(|change| &change.late).collect();
    let harmful: Vec<String> = late
        .iter()
        .filter(|record| !does_no_harm(record))
        .map(ToString::to_string)
        .collect();
    println!(
        "{rounds} rounds; writes received after the next leader's acquire: {}",
        late.len()
    );
    for record in &late {
        println!("  {record}");
    }
    assert_eq!(harmful, Vec::<String>::new());
}

/// Loses the leader, waits for the next one, brings the old one back, and reads the audit log.
async fn lose(bed: &mut Bed, leader: usize, loss: Loss) -> Change {
    let audit = bed.cluster.audit();
    let mark = audit.mark(&bed.admin).await.unwrap();
    let since = loss.befall(bed, leader);
    let next = 1 - leader;
    let look = async || {
        let holder = bed.holder().await?;
        Ok(Seen::when(holder, |holder| bed.replicas[next].is(holder)))
    };
    wait::until("the next leader", wait::DEADLINE, look).await.unwrap();
    until_it_writes(bed, next).await;
    // Its late writes, if there are any, come before it says that it follows, or right after: that takes a while too.
    loss.mend(bed, leader).await;
    let records = audit.since(mark, &bed.admin).await.unwrap();
    change(&records, since, bed.replicas[leader].user, bed.replicas[next].user)
}

fn change(records: &[Record], since: Timestamp, old: &str, new: &str) -> Change {
    let lease =
        |record: &&Record, user: &str| record.user == user && record.is("update", "leases") && record.succeeded();
    let holder = |record: &Record| body(record, "/spec/holderIdentity");
    let mut taken = records
        .iter()
        .filter(|record| lease(record, new) && !holder(record).is_empty());
    let acquired = taken.next().expect("the next leader's acquire").received;
    let mut releases = records
        .iter()
        .filter(|record| lease(record, old) && holder(record).is_empty());
    let free = releases.next().map_or(since, |release| release.received);
    let writes = |user: &str| {
        let all = records
            .iter()
            .filter(|record| record.is_write() && record.resource != "leases");
        all.filter(|record| record.user == user).cloned().collect::<Vec<_>>()
    };
    Change {
        acquired,
        free,
        first_write: writes(new)
            .iter()
            .map(|record| record.received)
            .filter(|at| *at > acquired)
            .min(),
        late: writes(old)
            .into_iter()
            .filter(|record| record.received > acquired)
            .collect(),
    }
}

fn body(record: &Record, path: &str) -> String {
    let found = record.body.as_ref().and_then(|body| body.pointer(path));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Whether a write that comes too late cannot undo anything: it makes what is not there, or names what it means.
fn does_no_harm(record: &Record) -> bool {
    match record.verb.as_str() {
        "create" => true,
        "delete" => record.preconditions.uid.is_some(),
        "update" => !body(record, "/metadata/resourceVersion").is_empty(),
        _ => false,
    }
}

fn figures(changes: &[Change]) -> String {
    let mut without: Vec<i128> = changes
        .iter()
        .map(|change| millis(change.free, change.acquired))
        .collect();
    let mut to_write: Vec<i128> = changes
        .iter()
        .filter_map(|change| Some(millis(change.acquired, change.first_write?)))
        .collect();
    without.sort_unstable();
    to_write.sort_unstable();
    let spread = |sorted: &[i128]| match sorted {
        [] => "none".to_owned(),
        [only] => format!("{only} ms"),
        [least, .., most] => format!("{least} / {} / {most} ms", sorted[sorted.len() / 2]),
    };
    format!(
        "{} rounds; without a leader (least / median / most) {}; then until its first write {}; late writes {}",
        changes.len(),
        spread(&without),
        spread(&to_write),
        changes.iter().map(|change| change.late.len()).sum::<usize>(),
    )
}

fn millis(from: Timestamp, to: Timestamp) -> i128 {
    to.duration_since(from).as_millis()
}

/// Waits until the replica has written a Pod from now on.
async fn until_it_writes(bed: &Bed, index: usize) {
    let proxy = &bed.replicas[index].proxy;
    let writes = || proxy.count("create", "pods") + proxy.count("delete", "pods");
    let before = writes();
    let look = async || Ok(Seen::when(writes(), |now| *now > before));
    wait::until("writes of the leader", wait::DEADLINE, look).await.unwrap();
}

/// Scales pipelines up and down until dropped. A scale passes no webhook: it works whoever serves.
async fn keep_busy(bed: &Bed) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for number in 0..PIPELINES {
        let (admin, namespace, name) = (bed.admin.clone(), bed.pipelines.clone(), format!("busy-{number}"));
        post(&admin, &namespace, &manifest(&namespace, &name), "")
            .await
            .unwrap();
        tasks.spawn(async move {
            let path =
                format!("/apis/streams.sentry.io/v1alpha1/namespaces/{namespace}/streamingpipelines/{name}/scale");
            for replicas in [8, 2].into_iter().cycle() {
                let request = http::Request::patch(&path)
                    .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
                    .body(json!({"spec": {"replicas": replicas}}).to_string().into_bytes());
                // A conflict with the operator's own status write: the next one does.
                let _tried_again = admin.request::<Value>(request.unwrap()).await;
                tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            }
        });
    }
    tasks
}
