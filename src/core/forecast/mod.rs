//! What an edit of a pipeline will do to its Pods, foretold: the planner itself is run on Pods in memory, with every new
//! Pod becoming available, until it has nothing left to do.
//!
//! Must never hold a rule of a rollout: what is told is what `plan::decide` did.

mod edited;
mod world;

use jiff::{SignedDuration, Timestamp};

use super::names::Revision;
use super::observed::LegacyDeployment;
use super::plan::{Action, CreateReason, DeleteReason, HoldBy, Phase, ScaleLegacy};
use super::settings::later;
use super::valid::ValidPipeline;

use world::World;

pub use edited::{Edited, edited_fields};

/// What an edit, or a first deployment, does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Consumers that are taken off Deployments of the Python operator; 0 for a pipeline that has none.
    pub taken_over: usize,
    /// The revision before; `None` for a pipeline that is new.
    pub from: Option<Revision>,
    /// The revision of the new spec.
    pub to: Revision,
    /// The fields of the spec that differ; empty for a pipeline that is new.
    pub edited: Vec<Edited>,
    /// Names of the ConfigMaps that are created.
    pub config_maps: Vec<String>,
    /// Pods that the new spec wants: replicas, or none while suspended.
    pub wanted: u16,
    /// What happens to Pods, in order. Each step begins when the Pods made by the one before are available and the
    /// deleted ones are gone.
    pub steps: Vec<Step>,
    /// Consumers available at the lowest point, two Pods of one ordinal counted once; before the edit is a point too.
    pub lowest: usize,
    /// Where the rollout stands in the end.
    pub phase: Phase,
    /// What holds it in the end.
    pub holds: Vec<HoldBy>,
    /// What `restartAt` does, where the edit brings one.
    pub restart: Restart,
}

/// What a `restartAt` does to the Pods that are there when it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// There is none, or it was there before.
    #[default]
    None,
    /// It has come, and the old Pods are taken to be older: those that the edit leaves are replaced, as the steps say.
    Now,
    /// It is earlier than the old one, which has done its work: nothing is replaced for it.
    Back,
    /// It is yet to come. Not among the steps.
    Later {
        /// When.
        at: Timestamp,
        /// How many Pods are replaced then.
        pods: usize,
    },
}

/// What happens at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Pods that are deleted, by name.
    pub deleted: Vec<(String, DeleteReason)>,
    /// Pods that are created, by name.
    pub created: Vec<(String, CreateReason)>,
    /// Deployments of the Python operator off which consumers are taken.
    pub scaled: Vec<ScaleLegacy>,
    /// Deployments of the Python operator whose rolling update hangs and that get an earlier Pod template back, in words.
    pub set_back: Vec<String>,
    /// Deployments of the Python operator that are deleted, in words.
    pub removed: Vec<String>,
    /// Consumers that run once that is done, ours and those of the Python operator, the available ones and the others.
    pub consumers: usize,
    /// Consumers available once that is done and no new Pod is available yet.
    pub available: usize,
    /// Whether a RolloutAnalysis must pass before this step.
    pub after_analysis: bool,
}

impl Forecast {
    /// Number of Pods that go and have others made in their stead, at the same place or in the other set.
    #[must_use]
    pub fn replaced(&self) -> usize {
        self.deleted().min(self.created())
    }

    /// Number of Pods that are deleted.
    #[must_use]
    pub fn deleted(&self) -> usize {
        self.steps.iter().map(|step| step.deleted.len()).sum()
    }

    /// Number of Pods that are created.
    #[must_use]
    pub fn created(&self) -> usize {
        self.steps.iter().map(|step| step.created.len()).sum()
    }
}

/// Foretells what becomes of the pipeline `namespace`/`name` when its spec `old` is replaced by `new`; without `old`, what
/// its first deployment does.
///
/// Assumed is that `old` is rolled out and healthy, that no Pod fails, and that an analysis passes where
/// `requireAnalysis` asks for one. When the old Pods were created is not known: before `now`, and after the `restartAt` of
/// `old` if that has come. So one that has come and is later than that restarts the Pods.
#[must_use]
pub fn forecast(
    namespace: &str,
    name: &str,
    old: Option<&ValidPipeline>,
    new: &ValidPipeline,
    now: Timestamp,
) -> Forecast {
    let mut world = World::new(namespace, name, now);
    if let Some(old) = old {
        world.edit(old, None);
        world.run();
    }
    let order = restart_at(new);
    let restart = restart(old.and_then(restart_at), order, old.is_some(), new, now);
    let due = order.filter(|_| restart == Restart::Now);
    if let Some(time) = due {
        world.age_pods(later(time, SignedDuration::from_secs(-1)));
    }
    told(world, name, old, new, restart, due)
}

/// Foretells how the pipeline moves from these Deployments of the Python operator. Those of its consumers that are not
/// available never become so; in a rolling update the available ones are of the template before. Else assumed is the same as in [`forecast`], and that the Python operator has stopped.
#[must_use]
pub fn take_over(
    namespace: &str,
    name: &str,
    deployments: Vec<LegacyDeployment>,
    new: &ValidPipeline,
    now: Timestamp,
) -> Forecast {
    let mut world = World::new(namespace, name, now);
    world.take_over(deployments);
    let restart = restart(None, restart_at(new), false, new, now);
    told(world, name, None, new, restart, None)
}

fn told(
    mut world: World,
    name: &str,
    old: Option<&ValidPipeline>,
    new: &ValidPipeline,
    restart: Restart,
    due: Option<Timestamp>,
) -> Forecast {
    let before = world.available();
    let taken_over = world.legacy();
    world.edit(new, due);
    let told = world.run();
    let created = told.actions.iter().filter_map(|action| match action {
        Action::CreateConfigMap { name, .. } => Some(name.clone()),
        _ => None,
    });
    let steps = told.steps;
    Forecast {
        taken_over,
        from: old.map(|old| old.revision().clone()),
        to: new.revision().clone(),
        edited: old.map_or_else(Vec::new, |old| edited_fields(name, old.spec(), new.spec())),
        config_maps: created.collect(),
        wanted: new.counts().total(),
        lowest: steps.iter().map(|step| step.available).fold(before, usize::min),
        steps,
        phase: told.phase,
        holds: told.holds,
        restart,
    }
}

fn restart_at(pipeline: &ValidPipeline) -> Option<Timestamp> {
    let time = pipeline.spec().rollout.restart_at.as_deref()?;
    time.parse().ok()
}

/// What the time `new` does, that is to stand in the place of `old`. A pipeline that is not there yet has no Pods to
/// restart at once.
fn restart(
    old: Option<Timestamp>,
    new: Option<Timestamp>,
    is_there: bool,
    pipeline: &ValidPipeline,
    now: Timestamp,
) -> Restart {
    let Some(time) = new.filter(|_| new != old) else {
        return Restart::None;
    };
    let pods = usize::from(pipeline.counts().total());
    match old.filter(|old| *old <= now) {
        _ if time > now && pods > 0 => Restart::Later { at: time, pods },
        _ if time > now || !is_there => Restart::None,
        Some(done) if time < done => Restart::Back,
        _ => Restart::Now,
    }
}

#[cfg(test)]
mod tests;
