//! What happens to a pipeline besides the operator's passes: people, faults, time.

use jiff::SignedDuration;
use streaming_operator::api::meta;
use streaming_operator::core::plan::AnalysisVerdict;

use crate::cluster::{Quality, SimPod, Stage, quality};
use crate::rng::Rng;
use crate::world::World;

/// One step: of the operator, of the watch, of the kubelet, of time, a fault, or a person.
pub(crate) fn step(world: &mut World, rng: &mut Rng) {
    world.seen = false;
    match rng.below(100) {
        0..30 => {
            let crash = rng.chance(10).then(|| rng.below(6));
            world.pass(crash, rng);
        }
        30..55 => {
            let times = world.cluster.deliver(&mut world.ledger, rng);
            if times == 2 {
                world.tally.note("watch: an event comes twice");
            }
        }
        55..79 => move_a_pod(world, rng),
        79..87 => world.cluster.pass_time(seconds(rng, 1, 40)),
        87..89 => world.cluster.pass_time(seconds(rng, 300, 400)),
        89..91 => {
            if world.cluster.behind() > 0 {
                world.tally.note("watch: events are lost");
            }
            world.cluster.begin_list(&mut world.ledger);
        }
        91..94 => fault(world, rng),
        94..95 => others(world, rng),
        _ if !world.deleting => person(world, rng),
        _ => {}
    }
    if rng.chance(30) {
        world.find_unanswered();
    }
}

fn seconds(rng: &mut Rng, least: i64, most: usize) -> i64 {
    least + i64::try_from(rng.below(most)).expect("small")
}

fn move_a_pod(world: &mut World, rng: &mut Rng) {
    let names: Vec<String> = world.cluster.pods.keys().cloned().collect();
    let Some(name) = rng.pick(&names) else { return };
    if !world.cluster.kubelet(name) {
        return;
    }
    let Some(pod) = world.cluster.pods.get(name) else {
        return;
    };
    match (pod.stage, quality(&pod.revision)) {
        (Stage::PullError { .. }, _) => world.tally.note("pod: cannot pull its image"),
        (Stage::Running { .. }, Quality::NeverReady) => world.tally.note("pod: never becomes ready"),
        (Stage::Failed { .. }, _) => world.tally.note("pod: fails"),
        _ => {}
    }
}

fn fault(world: &mut World, rng: &mut Rng) {
    let live: Vec<SimPod> = world.pods().filter(|pod| pod.is_live()).cloned().collect();
    let Some(mut pod) = rng.pick(&live).cloned() else {
        return;
    };
    let at = world.cluster.now;
    let what = match rng.below(5) {
        0 => {
            pod.stage = Stage::Failed { at, disruption: false };
            "pod: fails"
        }
        1 => {
            pod.stage = Stage::Failed { at, disruption: true };
            "pod: is disrupted"
        }
        2 => {
            pod.deleted = Some(at + SignedDuration::from_secs(30));
            "pod: is deleted by a person"
        }
        3 => {
            pod.deleted = Some(at + SignedDuration::from_secs(30));
            pod.stuck = true;
            "pod: will not end"
        }
        _ if pod.is_ready() => {
            pod.stage = Stage::Running { since: at };
            "pod: is no longer ready"
        }
        _ => return,
    };
    world.log.push(format!("FAULT {} {what}", pod.name));
    world.tally.note(what);
    world.cluster.put(pod);
}

/// What others do: take a name, delete the pipeline, make one of the same names.
fn others(world: &mut World, rng: &mut Rng) {
    match rng.below(4) {
        0 if world.others.len() < 2 => {
            let gone = |name: &&String| !world.cluster.pods.contains_key(*name);
            let free: Vec<String> = world.cluster.cache.keys().filter(gone).cloned().collect();
            let Some(name) = rng.pick(&free) else { return };
            let pod = SimPod::of_another(name, world.cluster.new_uid(), world.cluster.now);
            world.log.push(format!("FAULT another's Pod takes the name {name}"));
            world.tally.note("pod: another's takes a free name");
            world.others.push(pod.clone());
            world.cluster.put(pod);
        }
        1 if world.has_finalizer && !world.deleting => {
            world.log.push("USER deletes the pipeline".to_owned());
            world.tally.note("pipeline: is deleted");
            world.deleting = true;
        }
        2 if !world.deleting && rng.chance(50) => {
            world.tally.note("pipeline: is made again over its old Pods");
            world.gone();
        }
        3 => {
            world.collides = !world.collides;
            world
                .log
                .push(format!("FAULT the names are another's: {}", world.collides));
            world.tally.note("pipeline: its names are another's");
        }
        _ => {}
    }
}

fn person(world: &mut World, rng: &mut Rng) {
    match rng.below(16) {
        0..5 => {
            let digit = *rng.pick(&['a', 'b', 'c', 'd', 'e', 'f']).expect("six");
            world.tally.note("edit: revision");
            world.edit_to(digit);
        }
        5..7 => {
            let replicas = u16::try_from(rng.below(5)).expect("small");
            world.tally.note("edit: scale");
            world.edit(&format!("scales to {replicas}"), |wanted| wanted.replicas = replicas);
        }
        7 => {
            world.tally.note("edit: pause");
            world.edit("toggles pause", |wanted| wanted.paused = !wanted.paused);
        }
        8 => {
            world.tally.note("edit: suspend");
            world.edit("toggles suspend", |wanted| wanted.suspend = !wanted.suspend);
        }
        9 => {
            world.tally.note("edit: canary");
            world.edit("toggles the canary", |wanted| wanted.with_canary = !wanted.with_canary);
        }
        10 => {
            let now = world.cluster.now;
            world.tally.note("edit: restartAt");
            world.edit("restarts", |wanted| wanted.restart_at = Some(now));
        }
        11 => {
            world.tally.note("edit: cannot be rendered");
            world.unrendered = true;
            world.edit("edits to what cannot be rendered", |_| {});
        }
        12..14 => order(world, rng),
        _ => analysis(world, rng),
    }
}

fn order(world: &mut World, rng: &mut Rng) {
    let Some(revision) = world.spec.revision.as_ref().map(ToString::to_string) else {
        return;
    };
    let resume = format!("{revision}@{}", world.cluster.now);
    let (what, key, value) = match rng.below(3) {
        0 => ("order: promote", meta::ANNOTATION_PROMOTE, revision),
        1 => ("order: abort", meta::ANNOTATION_ABORT, revision),
        _ => ("order: resume", meta::ANNOTATION_RESUME, resume),
    };
    world.log.push(format!("USER {what} {value}"));
    world.tally.note(what);
    world.annotations.insert(key.to_owned(), value);
}

fn analysis(world: &mut World, rng: &mut Rng) {
    let (what, verdict) = match rng.below(4) {
        0 => ("analysis: pending", AnalysisVerdict::Pending("it measures".to_owned())),
        1 => (
            "analysis: failed",
            AnalysisVerdict::Failed("above its limit".to_owned()),
        ),
        2 => ("analysis: passed", AnalysisVerdict::Passed),
        _ => ("analysis: none", AnalysisVerdict::None),
    };
    world.log.push(what.to_owned());
    world.tally.note(what);
    world.analysis = verdict;
}
