//! The lease against an API server within the process, on a paused clock: minutes take milliseconds.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use std::time::Duration;

use serde_json::json;
use streaming_operator::leader::{LeaseSettings, WriteGate, run};
use streaming_operator::telemetry::Metrics;
use testkit::fake_api::{FakeApi, Fault};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

const LEASES: &str = "coordination.k8s.io/leases";
const LEASE: Duration = Duration::from_secs(15);
const DEADLINE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_secs(2);

/// One replica's election.
struct Replica {
    gate: WriteGate,
    leads: watch::Receiver<bool>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Replica {
    fn start(api: &FakeApi, identity: &str) -> Self {
        let settings = LeaseSettings {
            namespace: "ops".to_owned(),
            name: "streaming-operator".to_owned(),
            identity: identity.to_owned(),
            lease_duration: LEASE,
            renew_deadline: DEADLINE,
            retry_period: RETRY,
        };
        let (gate, stop) = (WriteGate::closed(), CancellationToken::new());
        let (sender, leads) = watch::channel(false);
        let metrics = Metrics::new("0.0.0", "test", false);
        let task = run(
            api.client(identity),
            settings,
            gate.clone(),
            sender,
            metrics,
            stop.clone(),
        );
        Self {
            gate,
            leads,
            stop,
            task: tokio::spawn(task),
        }
    }

    async fn until_leads(&mut self, leads: bool) -> Instant {
        let reached = timeout(Duration::from_secs(300), self.leads.wait_for(|now| *now == leads));
        reached.await.expect("within five minutes").expect("the election runs");
        Instant::now()
    }
}

fn holder(api: &FakeApi) -> String {
    let lease = api.get(LEASES, "ops", "streaming-operator").expect("a Lease");
    lease["spec"]["holderIdentity"].as_str().expect("a holder").to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_first_replica_makes_the_lease_and_writes_through_an_open_gate() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    assert!(!a.gate.is_open(), "shut before the lease is held");
    a.until_leads(true).await;
    assert!(a.gate.is_open());
    let lease = api.get(LEASES, "ops", "streaming-operator").expect("a Lease");
    assert_eq!(lease["spec"]["holderIdentity"], "a");
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
}

#[tokio::test(start_paused = true)]
async fn a_follower_stays_one_while_the_leader_renews() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    let b = Replica::start(&api, "b");
    sleep(Duration::from_secs(600)).await;
    assert!(*a.leads.borrow() && a.gate.is_open());
    assert!(!*b.leads.borrow() && !b.gate.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_reach_the_api_server_is_off_before_a_follower_is_on() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    let mut b = Replica::start(&api, "b");
    sleep(Duration::from_secs(30)).await;
    api.on_request(|request| {
        if request.client == "a" {
            Fault::BlackHoled
        } else {
            Fault::None
        }
    });
    let cut = Instant::now();
    let off = a.until_leads(false).await;
    assert!(!a.gate.is_open());
    assert!(off - cut <= DEADLINE, "off after {:?}", off - cut);
    let on = b.until_leads(true).await;
    assert!(on > off, "two leaders");
    assert!(on - cut <= LEASE + RETRY, "on after {:?}", on - cut);
    assert_eq!(holder(&api), "b");
}

#[tokio::test(start_paused = true)]
async fn the_gate_shuts_at_the_deadline_even_when_the_election_itself_is_not_scheduled() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    a.task.abort();
    assert!(a.gate.is_open());
    sleep(DEADLINE).await;
    assert!(!a.gate.is_open());
}

/// Timers of tokio end up to a millisecond late.
fn assert_within_a_retry(after: Duration) {
    assert!(after <= RETRY + Duration::from_millis(2), "on after {after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_hands_over_within_one_retry() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    let mut b = Replica::start(&api, "b");
    sleep(Duration::from_secs(30)).await;
    let asked = Instant::now();
    a.stop.cancel();
    a.task.await.expect("the election ends");
    let last = api
        .writes()
        .into_iter()
        .rfind(|write| write.client == "a")
        .expect("a write");
    assert_eq!(last.body["spec"]["holderIdentity"], "");
    assert_eq!(last.body["spec"]["leaseDurationSeconds"], 1);
    let on = b.until_leads(true).await;
    assert_within_a_retry(on - asked);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_while_a_renewal_of_it_is_on_its_way_hands_over_all_the_same() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    let mut b = Replica::start(&api, "b");
    api.on_request(|request| {
        let renewal = request.verb == "update" && request.body["spec"]["holderIdentity"] == "a";
        if renewal { Fault::AnswerLost } else { Fault::None }
    });
    sleep(RETRY + Duration::from_millis(500)).await;
    let asked = Instant::now();
    a.stop.cancel();
    a.task.await.expect("the election ends");
    let on = b.until_leads(true).await;
    assert_within_a_retry(on - asked);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_stops_while_its_first_request_for_the_lease_is_on_its_way_leaves_it_free() {
    let api = FakeApi::new();
    api.on_request(|request| {
        let first = request.verb == "create" && request.client == "a";
        if first { Fault::AnswerLost } else { Fault::None }
    });
    let a = Replica::start(&api, "a");
    sleep(Duration::from_millis(500)).await;
    assert_eq!(holder(&api), "a", "carried out, without an answer");
    a.stop.cancel();
    a.task.await.expect("the election ends");
    let asked = Instant::now();
    let mut b = Replica::start(&api, "b");
    let on = b.until_leads(true).await;
    assert_within_a_retry(on - asked);
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_leader_that_died_is_taken_when_it_runs_out_and_not_a_retry_later() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    // b looks a second after each renewal of a, every two seconds: the lease of 15 s runs out between two looks.
    sleep(Duration::from_secs(1)).await;
    let mut b = Replica::start(&api, "b");
    sleep(Duration::from_secs(2)).await;
    a.task.abort();
    let renewals = api.writes().into_iter().filter(|write| write.client == "a").count();
    let seen = Instant::now();
    let on = b.until_leads(true).await;
    assert_eq!(renewals, 2, "made, and renewed once");
    assert!(
        on - seen + Duration::from_millis(5) >= LEASE,
        "on after {:?}",
        on - seen
    );
    assert!(
        on - seen <= LEASE + Duration::from_millis(5),
        "on after {:?}",
        on - seen
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_does_not_cost_the_lease() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    let mut lost = false;
    api.on_request(move |request| {
        let now = request.verb == "update" && !std::mem::replace(&mut lost, true);
        if now { Fault::AnswerLost } else { Fault::None }
    });
    sleep(Duration::from_secs(60)).await;
    assert!(
        *a.leads.borrow() && a.gate.is_open(),
        "the conflict is with its own write"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_another_took_stops_at_once() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    api.edit(LEASES, "ops", "streaming-operator", |lease| {
        lease["spec"]["holderIdentity"] = json!("z");
    });
    let taken = Instant::now();
    let off = a.until_leads(false).await;
    assert!(off - taken <= RETRY);
    assert!(!a.gate.is_open());
}

#[tokio::test(start_paused = true)]
async fn time_stamps_of_another_machine_do_not_matter() {
    let api = FakeApi::new();
    api.put(
        LEASES,
        json!({
            "metadata": {"name": "streaming-operator", "namespace": "ops"},
            "spec": {"holderIdentity": "z", "leaseDurationSeconds": 15, "renewTime": "2001-01-01T00:00:00.000000Z"},
        }),
    );
    let began = Instant::now();
    let mut a = Replica::start(&api, "a");
    let on = a.until_leads(true).await;
    assert!(
        on - began >= LEASE,
        "the record was new to us: it has its full duration"
    );
}

#[tokio::test(start_paused = true)]
async fn while_nothing_changes_a_leader_only_updates_and_a_follower_only_gets() {
    let api = FakeApi::new();
    let mut a = Replica::start(&api, "a");
    a.until_leads(true).await;
    let _b = Replica::start(&api, "b");
    sleep(Duration::from_secs(10)).await;
    api.forget_requests();
    sleep(Duration::from_secs(60)).await;
    let requests = api.requests();
    let verbs = |client: &str| -> Vec<&str> {
        let of = requests.iter().filter(|request| request.client == client);
        of.map(|request| request.verb).collect()
    };
    assert!(!verbs("a").is_empty() && verbs("a").iter().all(|verb| *verb == "update"));
    assert!(!verbs("b").is_empty() && verbs("b").iter().all(|verb| *verb == "get"));
}
