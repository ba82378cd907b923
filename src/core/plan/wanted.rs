//! What a pipeline's spec asks of its Pods, in the planner's own terms.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::api::StreamingPipelineSpec;
use crate::api::meta::{ANNOTATION_ABORT, ANNOTATION_PROMOTE, ANNOTATION_RESUME};
use crate::api::rollout::{OnFailure, PodReplacementPolicy};
use crate::core::names::{BaseName, REPLICAS_MAX, Revision, WorkloadSet, base_name};
use crate::core::observed::PipelineFacts;
use crate::core::settings::whole_seconds;

use super::facts::{Facts, FailedWhy};

/// What a pipeline's spec asks of its Pods.
#[allow(clippy::struct_excessive_bools, reason = "they are the switches of the spec")]
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Revision of the spec; `None` when the spec cannot be rendered, so that it has no Pods.
    pub revision: Option<Revision>,
    /// Name of the ConfigMap that the spec's revision mounts; `None` when the spec cannot be rendered.
    pub config_map: Option<String>,
    /// What the Pods of the primary set, and the ControllerRevisions, are named with.
    pub primary: BaseName,
    /// What the Pods of the canary set are named with; `None` when the spec asks for none and the name would be invalid.
    pub canary: Option<BaseName>,
    /// `spec.replicas`, 0 to 999.
    pub replicas: u16,
    /// `spec.with_canary`.
    pub with_canary: bool,
    /// `spec.suspend`.
    pub suspend: bool,
    /// `rollout.paused`.
    pub paused: bool,
    /// `rollout.maxUnavailable` in Pods of `replicas`, rounded down, before it is bounded (see
    /// [`Budget`](super::budget::Budget)).
    pub max_unavailable: u16,
    /// `rollout.minReadySeconds`.
    pub min_ready: SignedDuration,
    /// `rollout.progressDeadlineSeconds`.
    pub progress_deadline: SignedDuration,
    /// `rollout.podReplacementPolicy`.
    pub policy: PodReplacementPolicy,
    /// `rollout.restartAt`, in whole seconds as creationTimestamps are; `None` also when it is no time.
    pub restart_at: Option<Timestamp>,
    /// `rollout.requireAnalysis`.
    pub require_analysis: bool,
    /// `rollout.onFailure`.
    pub on_failure: OnFailure,
    /// `spec.revisionHistoryLimit`.
    pub history_limit: usize,
}

/// What the Pods of the two sets are named with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bases {
    /// Of the primary set.
    pub primary: BaseName,
    /// Of the canary set; `None` when the spec asks for none and the name would be invalid.
    pub canary: Option<BaseName>,
}

impl Bases {
    /// Of the spec of the object named `object_name`, valid or not; `None` when no Pod can have the primary's name.
    #[must_use]
    pub fn of(object_name: &str, spec: &StreamingPipelineSpec) -> Option<Self> {
        let pipeline = spec.pipeline_name.as_deref().unwrap_or(object_name);
        let base = |set| BaseName::parse(&base_name(&spec.service_name, pipeline, spec.segment_id, set));
        Some(Self {
            primary: base(WorkloadSet::Primary)?,
            canary: base(WorkloadSet::Canary),
        })
    }
}

impl Wanted {
    /// Whether a failure sends the Pods back, instead of holding where it stands.
    #[must_use]
    pub const fn rolls_back(&self) -> bool {
        match self.on_failure {
            OnFailure::Pause => false,
            OnFailure::Rollback => true,
        }
    }

    /// Of a spec, the names of its Pods and, when it can be rendered, its revision and the name of its ConfigMap.
    #[must_use]
    pub fn new(spec: &StreamingPipelineSpec, bases: Bases, rendered: Option<(Revision, String)>) -> Self {
        let replicas = u16::try_from(spec.replicas.clamp(0, i64::from(REPLICAS_MAX))).unwrap_or(REPLICAS_MAX);
        let (revision, config_map) = rendered.unzip();
        Self {
            revision,
            config_map,
            primary: bases.primary,
            canary: bases.canary,
            replicas,
            with_canary: spec.with_canary,
            suspend: spec.suspend,
            paused: spec.rollout.paused,
            max_unavailable: scaled(&spec.rollout.max_unavailable, replicas),
            min_ready: SignedDuration::from_secs(spec.rollout.min_ready_seconds.into()),
            progress_deadline: SignedDuration::from_secs(spec.rollout.progress_deadline_seconds.into()),
            policy: spec.rollout.pod_replacement_policy,
            restart_at: spec.rollout.restart_at.as_deref().and_then(time),
            require_analysis: spec.rollout.require_analysis,
            on_failure: spec.rollout.on_failure,
            history_limit: usize::try_from(spec.revision_history_limit).unwrap_or(0),
        }
    }

    /// Pods wanted now, of both sets.
    #[must_use]
    pub const fn total(&self) -> u16 {
        if self.suspend { 0 } else { self.replicas }
    }

    /// Pods wanted now of one set: one of the canary set if there are two or more in all.
    #[must_use]
    pub const fn count(&self, set: WorkloadSet) -> u16 {
        let canary = if self.with_canary && self.canary.is_some() && self.total() > 1 {
            1
        } else {
            0
        };
        match set {
            WorkloadSet::Canary => canary,
            WorkloadSet::Primary => self.total() - canary,
        }
    }

    /// What the Pods of a set are named with.
    #[must_use]
    pub const fn base(&self, set: WorkloadSet) -> Option<&BaseName> {
        match set {
            WorkloadSet::Canary => self.canary.as_ref(),
            WorkloadSet::Primary => Some(&self.primary),
        }
    }
}

/// An integer or a percentage of `replicas`, rounded down (as Deployments do for `maxUnavailable`:
/// `intstr.GetScaledValueFromIntOrPercent` with `roundUp` false). What is neither counts as 0.
fn scaled(value: &IntOrString, replicas: u16) -> u16 {
    match value {
        IntOrString::Int(number) => u16::try_from((*number).clamp(0, i32::from(u16::MAX))).unwrap_or(u16::MAX),
        IntOrString::String(text) => {
            let percent: u32 = text
                .strip_suffix('%')
                .and_then(|digits| digits.parse().ok())
                .unwrap_or(0);
            u16::try_from(u32::from(replicas) * percent.min(100) / 100).unwrap_or(u16::MAX)
        }
    }
}

fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok().map(whole_seconds)
}

/// What people ask of a rollout by annotations on the pipeline. Each is bound to a revision, so one that was left behind
/// does nothing to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// `promote: <revision>` opens the gate for this revision.
    pub promote: Option<Revision>,
    /// `abort: <revision>` sends the Pods of this revision back to the current one, in the attempt in which it is set.
    pub abort: Option<Revision>,
    /// `resume: <revision>@<time>` lets this revision try again, once a time.
    pub resume: Option<(Revision, Timestamp)>,
}

impl Orders {
    /// Of the pipeline's annotations; what cannot be read is no order.
    #[must_use]
    pub fn read(annotations: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| annotations.get(key).map(String::as_str);
        Self {
            promote: text(ANNOTATION_PROMOTE).and_then(revision),
            abort: text(ANNOTATION_ABORT).and_then(revision),
            resume: text(ANNOTATION_RESUME).and_then(revision_at),
        }
    }

    /// The annotations that were meant as orders and cannot be read, a sentence each with the shape that is expected.
    /// One that can be read and is bound to another revision is none of them: it may be left behind.
    #[must_use]
    pub fn unreadable(annotations: &BTreeMap<String, String>) -> Vec<String> {
        let bare = "REVISION, ten hex digits as in status.updateRevision";
        let timed = "REVISION@TIME, as in 0123456789@2027-01-15T08:00:00Z";
        let is_revision: fn(&str) -> bool = |text| revision(text).is_some();
        let is_timed: fn(&str) -> bool = |text| revision_at(text).is_some();
        let orders = [
            (ANNOTATION_PROMOTE, is_revision, bare),
            (ANNOTATION_ABORT, is_revision, bare),
            (ANNOTATION_RESUME, is_timed, timed),
        ];
        let unreadable = orders.into_iter().filter_map(|(key, is_readable, shape)| {
            let text = annotations.get(key).filter(|text| !is_readable(text))?;
            // A semicolon stands between two of these sentences.
            let shown = text.chars().filter(|character| *character != ';');
            let shown: String = shown.take(UNREADABLE_CHARS_MAX).collect();
            Some(format!(
                "annotation {key} is ignored: its value {shown:?} is not {shape}"
            ))
        });
        unreadable.collect()
    }

    /// The annotations that can be read, are for the spec's revision, and do nothing all the same, a sentence each.
    #[must_use]
    pub fn without_effect(&self, pipeline: &PipelineFacts, facts: &Facts) -> Vec<String> {
        let update = facts.update_revision.as_ref();
        let first = self
            .abort
            .as_ref()
            .filter(|of| Some(*of) == update && facts.current_revision.is_none());
        let first = first.map(|revision| {
            format!(
                "annotation {ANNOTATION_ABORT} is ignored: no revision has completed yet to which the Pods of revision \
                 {revision} could go back"
            )
        });
        let late = self.resume.as_ref().zip(facts.failed.as_ref());
        let late = late.filter(|((of, time), failed)| *of == failed.revision && *time < failed.at);
        let late = late.map(|((revision, time), failed)| {
            format!(
                "annotation {ANNOTATION_RESUME} is ignored: its time {time} {BEFORE_THE_FAILURE} of revision {revision} at {}",
                failed.at
            )
        });
        first
            .into_iter()
            .chain(self.used_abort(pipeline, facts))
            .chain(late)
            .collect()
    }

    /// An order to abort that has been looked at, while its revision is rolled out all the same: it was left behind.
    fn used_abort(&self, pipeline: &PipelineFacts, facts: &Facts) -> Option<String> {
        let revision = self
            .abort
            .as_ref()
            .filter(|of| facts.answered_abort.as_ref() == Some(*of))?;
        let is_aborted = facts
            .failed
            .as_ref()
            .is_some_and(|failed| failed.why == FailedWhy::Aborted);
        let is_over = facts
            .current_revision
            .as_ref()
            .is_none_or(|current| current == revision);
        let (namespace, name) = (&pipeline.namespace, &pipeline.name);
        (!is_aborted && !is_over).then(|| {
            format!(
                "annotation {ANNOTATION_ABORT} is ignored: it {LEFT_BEHIND} an earlier attempt of revision {revision}. Remove \
                 it with kubectl annotate -n {namespace} spipe {name} {ANNOTATION_ABORT}- and set it again to abort this one"
            )
        })
    }
}

/// What a sentence of [`Orders::without_effect`] says of a `resume` that came before the failure.
pub(crate) const BEFORE_THE_FAILURE: &str = "is before the failure";

/// What such a sentence says of an `abort` that has done its work.
pub(crate) const LEFT_BEHIND: &str = "was left behind by";

/// How much of a value that cannot be read is shown, in characters; an annotation may be 256 KiB long.
const UNREADABLE_CHARS_MAX: usize = 40;

fn revision(text: &str) -> Option<Revision> {
    Revision::parse(text.trim())
}

/// `<revision>@<RFC 3339>`.
fn revision_at(text: &str) -> Option<(Revision, Timestamp)> {
    let (of, at) = text.trim().split_once('@')?;
    Some((Revision::parse(of)?, time(at)?))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{at, revision, wanted};
    use super::*;

    #[test]
    fn a_percentage_is_of_the_replicas_rounded_down() {
        let percent = |text: &str, replicas| scaled(&IntOrString::String(text.to_owned()), replicas);
        assert_eq!(
            (
                percent("25%", 12),
                percent("25%", 3),
                percent("100%", 999),
                percent("1%", 50)
            ),
            (3, 0, 999, 0)
        );
        assert_eq!(
            (scaled(&IntOrString::Int(4), 2), scaled(&IntOrString::Int(-4), 2)),
            (4, 0)
        );
        assert_eq!((percent("many", 9), percent("900%", 9)), (0, 9));
    }

    #[test]
    fn a_canary_is_wanted_from_two_pods_on() {
        let counts = |replicas| {
            let wanted = wanted(replicas).canary().build();
            (wanted.count(WorkloadSet::Canary), wanted.count(WorkloadSet::Primary))
        };
        assert_eq!(
            [counts(0), counts(1), counts(2), counts(9)],
            [(0, 0), (0, 1), (1, 1), (1, 8)]
        );
        let suspended = wanted(9).canary().suspend().build();
        assert_eq!(
            (
                suspended.count(WorkloadSet::Canary),
                suspended.count(WorkloadSet::Primary)
            ),
            (0, 0)
        );
    }

    #[test]
    fn orders_are_read_with_the_revision_they_are_bound_to() {
        let annotations = [
            ("streams.sentry.io/promote", "aaaaaaaaaa"),
            ("streams.sentry.io/abort", "latest"),
            ("streams.sentry.io/resume", "bbbbbbbbbb@2027-01-15T08:00:07.9Z"),
        ];
        let annotations = annotations
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let orders = Orders {
            promote: Some(revision('a')),
            abort: None,
            resume: Some((revision('b'), at(7))),
        };
        assert_eq!(Orders::read(&annotations), orders);
    }

    #[test]
    fn an_order_that_cannot_be_read_is_named_with_the_shape_that_is_expected() {
        let annotations = [
            ("streams.sentry.io/promote", "aaaaaaaaaa"),
            ("streams.sentry.io/abort", "latest"),
            ("streams.sentry.io/resume", "bbbbbbbbbb"),
            ("streams.sentry.io/other", "?"),
        ];
        let annotations = annotations
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let expected = [
            "annotation streams.sentry.io/abort is ignored: its value \"latest\" is not REVISION, ten hex digits as in status.updateRevision",
            "annotation streams.sentry.io/resume is ignored: its value \"bbbbbbbbbb\" is not REVISION@TIME, as in 0123456789@2027-01-15T08:00:00Z",
        ];
        assert_eq!(Orders::unreadable(&annotations), expected);
        let long = BTreeMap::from([("streams.sentry.io/promote".to_owned(), "x".repeat(9000))]);
        let told = Orders::unreadable(&long).join("");
        assert!(told.len() < 300, "{told}");
    }
}
