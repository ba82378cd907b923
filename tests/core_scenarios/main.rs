//! The deciding core against a cluster in memory: decide, write, let the kubelet move, let events come late, twice or
//! never, let the operator die between any two writes, let people edit. After every step the invariants hold; when people
//! and faults are done, the pipeline converges and then nothing is written any more.
//!
//! Everything random comes from a seed. A failure prints the command that repeats it.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test may end where a program may not"
)]

mod cluster;
mod invariants;
mod operator;
mod rng;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jiff::SignedDuration;
use streaming_operator::api::{OnFailure, PodReplacementPolicy};
use streaming_operator::core::plan::AnalysisVerdict;

use cluster::{Quality, SimPod, Stage, UID, quality};
use operator::{World, policies, revision};
use rng::Rng;

/// Seeds of a run (`SCENARIO_SEEDS` for more), and steps of each: a few seconds together.
const SEEDS: u64 = 400;
const STEPS: usize = 160;
/// A rollout of the largest pipeline here takes fewer passes than this.
const PASSES_MAX: usize = 600;
/// Longer than the deadline, the graces and the longest back-off together.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_hours(2);

#[test]
fn whatever_happens_the_invariants_hold_and_the_pipeline_converges() {
    if let Some(seed) = std::env::var("SCENARIO_SEED").ok().and_then(|text| text.parse().ok()) {
        scenario(seed);
        return;
    }
    let seeds = std::env::var("SCENARIO_SEEDS").ok().and_then(|text| text.parse().ok());
    for seed in 0..seeds.unwrap_or(SEEDS) {
        scenario(seed);
    }
}

#[test]
fn every_policy_brings_every_edit_to_a_fixed_point() {
    let mut rng = Rng::new(1);
    for (policy, on_failure) in policies() {
        for (replicas, canary) in [
            (0, false),
            (1, false),
            (1, true),
            (2, true),
            (3, false),
            (7, true),
            (12, false),
        ] {
            let mut world = World::new(replicas, 'a');
            world.wanted.policy = policy;
            world.wanted.on_failure = on_failure;
            world.wanted.with_canary = canary;
            settle(&mut world, &mut rng);
            for digit in ['b', 'e', 'c', 'a'] {
                world.edit_to(digit);
                settle(&mut world, &mut rng);
            }
            assert_final(&world, 'a');
        }
    }
}

#[test]
fn a_broken_image_leaves_the_floor_running_and_a_fix_gets_through() {
    let mut rng = Rng::new(2);
    for digit in ['d', 'e', 'f'] {
        let mut world = World::new(4, 'a');
        settle(&mut world, &mut rng);
        world.edit_to(digit);
        settle(&mut world, &mut rng);
        assert_eq!(world.status.available_replicas, 3, "revision {digit}");
        assert_eq!(world.status.current_revision.as_deref(), Some("aaaaaaaaaa"));
        world.edit_to('b');
        settle(&mut world, &mut rng);
        assert_final(&world, 'b');
    }
}

#[test]
fn one_pod_that_is_lost_while_its_successor_does_not_work_comes_back() {
    let mut rng = Rng::new(6);
    let mut world = World::new(1, 'a');
    settle(&mut world, &mut rng);
    world.edit_to('f');
    settle(&mut world, &mut rng);
    let old: Vec<SimPod> = world
        .cluster
        .pods
        .values()
        .filter(|pod| pod.is_ready())
        .cloned()
        .collect();
    assert_eq!(old.len(), 1);
    for pod in old {
        world.cluster.remove(&pod.name);
    }
    settle(&mut world, &mut rng);
    let serving = world
        .cluster
        .pods
        .values()
        .filter(|pod| pod.is_ready() && pod.revision == "aaaaaaaaaa");
    assert_eq!(serving.count(), 1);
}

#[test]
fn a_rollback_on_failure_returns_every_pod_to_the_revision_that_last_completed() {
    let mut rng = Rng::new(3);
    let mut world = World::new(4, 'a');
    world.wanted.on_failure = OnFailure::Rollback;
    world.wanted.with_canary = true;
    settle(&mut world, &mut rng);
    world.edit_to('f');
    settle(&mut world, &mut rng);
    let rollout = world.status.rollout.clone().expect("a rollout");
    assert_eq!(rollout.phase, "RolledBack");
    assert!(
        world
            .cluster
            .pods
            .values()
            .all(|pod| pod.revision == "aaaaaaaaaa" && pod.is_ready())
    );
}

#[test]
fn primaries_wait_for_an_analysis_and_go_on_when_it_has_passed() {
    let mut rng = Rng::new(4);
    let mut world = World::new(4, 'a');
    world.wanted.with_canary = true;
    settle(&mut world, &mut rng);
    world.analysis = AnalysisVerdict::Pending("rolloutanalysis/latency is measuring".to_owned());
    world.edit_to('b');
    settle(&mut world, &mut rng);
    let updated = world
        .cluster
        .pods
        .values()
        .filter(|pod| pod.revision == "bbbbbbbbbb")
        .count();
    assert_eq!(
        (updated, world.status.rollout.clone().expect("a rollout").phase.as_str()),
        (1, "AwaitingAnalysis")
    );
    world.analysis = AnalysisVerdict::Passed;
    settle(&mut world, &mut rng);
    assert_final(&world, 'b');
}

#[test]
fn someone_elses_pod_under_our_name_is_left_alone() {
    let mut rng = Rng::new(5);
    let mut world = World::new(1, 'a');
    let foreign = SimPod {
        name: "svc-0-0".to_owned(),
        uid: "uid-of-a-foreign-pod".to_owned(),
        owner: "uid-of-another".to_owned(),
        set: "primary".to_owned(),
        ordinal: "0".to_owned(),
        generation: "0".to_owned(),
        revision: "0000000000".to_owned(),
        failures: 0,
        created: world.cluster.now,
        deleted: None,
        stage: Stage::Ready {
            since: world.cluster.now,
        },
    };
    world.cluster.put(foreign.clone());
    settle(&mut world, &mut rng);
    assert_eq!(world.cluster.pods.get("svc-0-0"), Some(&foreign));
    assert!(
        world.cluster.pods.contains_key("svc-0-1"),
        "ours takes a higher generation"
    );
}

/// One random run. A failure prints how to repeat it, and what happened last.
fn scenario(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut world = random_world(&mut rng);
    let run = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..STEPS {
            step(&mut world, &mut rng);
        }
        // People are done, and what they want in the end works. (A revision that failed gets its new attempt only when
        // another was seen in between.)
        let digit = *rng.pick(&['a', 'b']).expect("two");
        let replicas = u16::try_from(1 + rng.below(4)).expect("small");
        world.analysis = AnalysisVerdict::None;
        world.edit("USER is done".to_owned(), |wanted| {
            wanted.paused = false;
            wanted.suspend = false;
            wanted.replicas = replicas;
        });
        for digit in ['c', digit] {
            world.edit_to(digit);
            settle(&mut world, &mut rng);
        }
        assert_final(&world, digit);
    }));
    if let Err(cause) = run {
        let from = world.log.len().saturating_sub(40);
        eprintln!("{}", world.log.get(from..).unwrap_or_default().join("\n"));
        eprintln!("repeat with: SCENARIO_SEED={seed} cargo test --test core_scenarios whatever_happens");
        resume_unwind(cause);
    }
}

fn random_world(rng: &mut Rng) -> World {
    let mut world = World::new(u16::try_from(1 + rng.below(4)).expect("small"), 'a');
    world.wanted.with_canary = rng.chance(50);
    world.wanted.max_unavailable = u16::try_from(1 + rng.below(2)).expect("small");
    if rng.chance(25) {
        world.wanted.policy = PodReplacementPolicy::Failed;
    }
    if rng.chance(40) {
        world.wanted.on_failure = OnFailure::Rollback;
    }
    world
}

fn step(world: &mut World, rng: &mut Rng) {
    match rng.below(100) {
        0..30 => {
            let crash = rng.chance(10).then(|| rng.below(4));
            world.pass(crash, rng);
        }
        30..55 => {
            world.cluster.deliver(&mut world.ledger, rng);
        }
        55..80 => move_a_pod(world, rng),
        80..88 => world
            .cluster
            .pass_time(i64::try_from(1 + rng.below(40)).expect("small")),
        88..90 => world
            .cluster
            .pass_time(i64::try_from(300 + rng.below(400)).expect("small")),
        90..92 => world.cluster.begin_list(&mut world.ledger),
        92..95 => fault(world, rng),
        _ => user(world, rng),
    }
    find_unanswered(world, rng);
}

/// The shell looks for Pods whose create got no answer.
fn find_unanswered(world: &mut World, rng: &mut Rng) {
    if !rng.chance(30) {
        return;
    }
    let names: Vec<String> = world.ledger.unanswered().map(str::to_owned).collect();
    for name in names {
        match world.cluster.pods.get(&name).filter(|pod| pod.owner == UID) {
            Some(pod) => world.ledger.created(&name, &pod.uid.clone()),
            None => world.ledger.not_created(&name),
        }
    }
}

fn move_a_pod(world: &mut World, rng: &mut Rng) {
    let names: Vec<String> = world.cluster.pods.keys().cloned().collect();
    if let Some(name) = rng.pick(&names) {
        world.cluster.kubelet(name);
    }
}

fn fault(world: &mut World, rng: &mut Rng) {
    let live: Vec<SimPod> = world
        .cluster
        .pods
        .values()
        .filter(|pod| pod.is_live())
        .cloned()
        .collect();
    let Some(pod) = rng.pick(&live) else { return };
    let mut pod = pod.clone();
    let at = world.cluster.now;
    world.log.push(format!("FAULT hits {}", pod.name));
    match rng.below(4) {
        0 => pod.stage = Stage::Failed { at, disruption: false },
        1 => pod.stage = Stage::Failed { at, disruption: true },
        2 => pod.deleted = Some(at + SignedDuration::from_secs(30)),
        _ if pod.is_ready() => pod.stage = Stage::Running { since: at },
        _ => {}
    }
    world.cluster.put(pod);
}

fn user(world: &mut World, rng: &mut Rng) {
    match rng.below(10) {
        0..4 => {
            let digit = *rng.pick(&['a', 'b', 'c', 'd', 'e', 'f']).expect("six");
            world.edit_to(digit);
        }
        4..6 => {
            let replicas = u16::try_from(rng.below(5)).expect("small");
            world.edit(format!("USER scales to {replicas}"), |wanted| {
                wanted.replicas = replicas;
            });
        }
        6 => world.edit("USER toggles pause".to_owned(), |wanted| wanted.paused = !wanted.paused),
        7 => world.edit("USER toggles suspend".to_owned(), |wanted| {
            wanted.suspend = !wanted.suspend;
        }),
        8 => world.edit("USER toggles the canary".to_owned(), |wanted| {
            wanted.with_canary = !wanted.with_canary;
        }),
        _ => {
            let now = world.cluster.now;
            world.edit("USER restarts".to_owned(), |wanted| wanted.restart_at = Some(now));
        }
    }
}

/// Lets everything happen that is under way, until nothing is and time alone changes nothing any more. A revision that
/// does not work is tried again for ever; after some hours of that it is as settled as it gets.
fn settle(world: &mut World, rng: &mut Rng) {
    let start = world.cluster.now;
    for _ in 0..PASSES_MAX {
        find_all_unanswered(world);
        while world.cluster.deliver(&mut world.ledger, rng) {}
        let pass = world.pass(None, rng);
        let names: Vec<String> = world.cluster.pods.keys().cloned().collect();
        let moved = names.iter().filter(|name| world.cluster.kubelet(name)).count();
        if moved > 0 || pass.writes > 0 {
            world.cluster.pass_time(1);
            continue;
        }
        let Some(after) = pass.wake_after else { return };
        world.cluster.now += after;
        let update = world.wanted.revision.clone().expect("a revision");
        if world.cluster.now > start + SETTLED_AFTER && quality(update.as_str()) != Quality::Good {
            return;
        }
    }
    let from = world.log.len().saturating_sub(12);
    panic!("not settled after {PASSES_MAX} passes: {:#?}", world.log.get(from..));
}

fn find_all_unanswered(world: &mut World) {
    let names: Vec<String> = world.ledger.unanswered().map(str::to_owned).collect();
    for name in names {
        match world.cluster.pods.get(&name).filter(|pod| pod.owner == UID) {
            Some(pod) => world.ledger.created(&name, &pod.uid.clone()),
            None => world.ledger.not_created(&name),
        }
    }
}

/// Every wanted Pod is there, of this revision and Ready, and nothing else; the status says so, and nothing is to be done.
fn assert_final(world: &World, digit: char) {
    let wanted = usize::from(world.wanted.total());
    let expected = revision(digit);
    let pods: Vec<_> = world.cluster.pods.values().filter(|pod| pod.owner == UID).collect();
    let good = pods
        .iter()
        .filter(|pod| pod.is_ready() && pod.revision == expected.as_str())
        .count();
    assert_eq!(
        (good, pods.len()),
        (wanted, wanted),
        "Pods of revision {digit}, and all"
    );
    let ready = world
        .status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
        .expect("Ready");
    assert_eq!(ready.status, "True", "{ready:?}");
    if wanted > 0 {
        assert_eq!(world.status.current_revision.as_deref(), Some(expected.as_str()));
    }
    assert_eq!(world.decision().actions, Vec::new(), "nothing is left to do");
    assert_eq!(world.ledger.unseen().count(), 0, "every own write has been seen");
}
