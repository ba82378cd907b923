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
mod defects;
mod finish;
mod invariants;
mod legacy;
mod operator;
mod people;
mod rng;
mod scenario;
mod stories;
mod story;
mod tally;
mod world;

use streaming_operator::api::OnFailure;
use streaming_operator::core::plan::AnalysisVerdict;

use cluster::SimPod;
use defects::Defect;
use finish::{assert_final, settle};
use operator::policies;
use rng::Rng;
use world::World;

/// Seeds of a run (`SCENARIO_SEEDS` for more): less than a minute on two processors.
const SEEDS: u64 = 2000;
/// Within so many seeds a planted defect is found.
const SEEDS_FOR_A_DEFECT: u64 = 1000;

#[test]
fn whatever_happens_the_invariants_hold_and_the_pipeline_converges() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("SCENARIO_SEED") {
        scenario::replay(seed);
        return;
    }
    let seeds = number("SCENARIO_SEEDS").unwrap_or(SEEDS);
    let begin = std::time::Instant::now();
    let tally = scenario::all(seeds);
    let took = begin.elapsed().as_secs_f64();
    println!(
        "{seeds} seeds of {} steps in {took:.0} s; what occurred, and how often:",
        scenario::STEPS
    );
    print!("{}", tally.text());
    assert_eq!(tally.missing(), Vec::<String>::new(), "never occurred");
}

#[test]
fn every_planted_defect_is_found() {
    for defect in Defect::ALL {
        let found = scenario::first_failure(SEEDS_FOR_A_DEFECT, defect);
        let Some((seed, what)) = found else {
            panic!("{defect:?} is not found within {SEEDS_FOR_A_DEFECT} seeds");
        };
        println!("{defect:?} is found by seed {seed}: {what}");
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
            world.spec.policy = policy;
            world.spec.on_failure = on_failure;
            world.spec.with_canary = canary;
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
    world.spec.on_failure = OnFailure::Rollback;
    world.spec.with_canary = true;
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
    world.spec.with_canary = true;
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
    let foreign = SimPod::of_another("svc-0-0", "uid-of-a-foreign-pod".to_owned(), world.cluster.now);
    world.cluster.put(foreign.clone());
    settle(&mut world, &mut rng);
    assert_eq!(world.cluster.pods.get("svc-0-0"), Some(&foreign));
    assert!(
        world.cluster.pods.contains_key("svc-0-1"),
        "ours takes a higher generation"
    );
}
