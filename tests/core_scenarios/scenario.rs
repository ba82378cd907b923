//! Random runs: each from a seed that tells everything about it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use streaming_operator::api::{OnFailure, PodReplacementPolicy};
use streaming_operator::core::plan::AnalysisVerdict;

use crate::defects::Defect;
use crate::finish::{assert_final, settle};
use crate::invariants;
use crate::people::step;
use crate::rng::Rng;
use crate::tally::Tally;
use crate::world::World;

/// Steps of a run, before people and faults are done.
pub(crate) const STEPS: usize = 160;

/// A run that failed.
struct Failure {
    what: String,
    log: Vec<String>,
}

/// Runs one seed.
pub(crate) fn replay(seed: u64) {
    if let Err(failure) = run(seed, None) {
        panic!("{}", report(seed, &failure));
    }
}

/// Runs all seeds below `seeds`, as many at once as there are processors. Gives what occurred.
pub(crate) fn all(seeds: u64) -> Tally {
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    let failed = Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return;
            }
            match run(seed, None) {
                Ok(of_run) => tally.lock().expect("no thread panics").add(&of_run),
                Err(failure) => {
                    next.store(seeds, Ordering::Relaxed);
                    failed.lock().expect("no thread panics").push(report(seed, &failure));
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().expect("no thread panics");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    tally.into_inner().expect("no thread panics")
}

/// The first seed below `seeds` that fails with a defect, and how.
pub(crate) fn first_failure(seeds: u64, defect: Defect) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| {
        let failure = run(seed, Some(defect)).err()?;
        Some((seed, failure.what))
    })
}

fn report(seed: u64, failure: &Failure) -> String {
    let from = failure.log.len().saturating_sub(40);
    let log = failure.log.get(from..).unwrap_or_default().join("\n");
    let what = &failure.what;
    format!("{log}\n{what}\nrepeat with: SCENARIO_SEED={seed} cargo test --test core_scenarios whatever_happens")
}

fn run(seed: u64, defect: Option<Defect>) -> Result<Tally, Failure> {
    let mut rng = Rng::new(seed);
    let mut world = random_world(&mut rng);
    world.defect = defect;
    match catch_unwind(AssertUnwindSafe(|| live(&mut world, &mut rng))) {
        Ok(()) => Ok(world.tally),
        Err(cause) => {
            let text = cause.downcast_ref::<String>().cloned();
            let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(Failure {
                what: text.unwrap_or_default(),
                log: world.log,
            })
        }
    }
}

/// All steps, and then a good end.
fn live(world: &mut World, rng: &mut Rng) {
    for _ in 0..STEPS {
        step(world, rng);
        invariants::of_the_world(world);
    }
    // People are done, and what they want in the end works. (A revision that failed gets its new attempt only when
    // another was seen in between.)
    let digit = *rng.pick(&['a', 'b']).expect("two");
    let replicas = u16::try_from(1 + rng.below(4)).expect("small");
    calm(world);
    world.edit("is done", |wanted| {
        wanted.paused = false;
        wanted.suspend = false;
        wanted.replicas = replicas;
    });
    for digit in ['c', digit] {
        world.edit_to(digit);
        settle(world, rng);
    }
    assert_final(world, digit);
    invariants::of_the_world(world);
}

/// Faults are done: nodes are back, names are free, nothing is refused.
fn calm(world: &mut World) {
    world.calm = true;
    world.collides = false;
    world.annotations.clear();
    world.analysis = AnalysisVerdict::None;
    if world.spec.policy == PodReplacementPolicy::Failed || world.deleting {
        // The operator does not force such a Pod: its node must come back, or a person must let it go.
        let stuck: Vec<_> = world.pods().filter(|pod| pod.stuck).cloned().collect();
        for mut pod in stuck {
            pod.stuck = false;
            world.cluster.put(pod);
        }
    }
}

fn random_world(rng: &mut Rng) -> World {
    let mut world = World::new(u16::try_from(1 + rng.below(4)).expect("small"), 'a');
    world.spec.with_canary = rng.chance(50);
    world.spec.max_unavailable = u16::try_from(1 + rng.below(2)).expect("small");
    world.remote = rng.chance(30);
    if rng.chance(25) {
        world.analysis = AnalysisVerdict::Pending("it measures".to_owned());
    }
    if rng.chance(25) {
        world.spec.policy = PodReplacementPolicy::Failed;
    }
    if rng.chance(40) {
        world.spec.on_failure = OnFailure::Rollback;
    }
    world
}
