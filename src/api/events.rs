//! What Events say: every reason with its page, from which `make generate` writes docs/reasons.md.
//!
//! Written as in [`super::reasons`]: a doc comment is what the reason means, behind `=>` stands what to do. Reasons are
//! an API, people alert on them: must never rename one.

macro_rules! event_reasons {
    ($(#[doc = $doc:literal])+ $name:ident: $($(#[doc = $means:literal])+ $reason:ident $kind:ident => $to_do:literal,)*) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $means])+ $reason),* }

        impl $name {
            /// Every one, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$reason),*];

            /// `reason` of the Event.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$reason => stringify!($reason)),* }
            }

            /// Whether the Event is a Warning.
            #[must_use]
            pub const fn is_warning(self) -> bool {
                match self { $(Self::$reason => event_reasons!(@warns $kind)),* }
            }

            /// What it means, in Markdown.
            #[must_use]
            pub const fn means(self) -> &'static str {
                match self { $(Self::$reason => concat!($($means),+)),* }
            }

            /// What to do about it, in Markdown.
            #[must_use]
            pub const fn to_do(self) -> &'static str {
                match self { $(Self::$reason => $to_do),* }
            }
        }
    };
    (@warns Warning) => { true };
    (@warns Normal) => { false };
}

event_reasons! {
    /// What an Event about a pipeline, or about what it made, tells.
    NoticeReason:
    /// A new revision is being rolled out.
    RolloutStarted Normal => "Nothing.",
    /// The canary is good, or a person opened the gate with the annotation `promote`; the primary Pods follow. The note says
    /// which.
    CanaryPromoted Normal => "Nothing.",
    /// Every Pod is of the new revision and available, or, after an edit back to it, of the current one.
    RolloutCompleted Normal => "Nothing.",
    /// `rollout.paused` holds a rollout that has work left.
    RolloutPaused Normal => "To go on, set `spec.rollout.paused` to false.",
    /// The rollout is held no longer, or a failed revision may try again.
    RolloutResumed Normal => "Nothing.",
    /// A Pod that failed, or was evicted or lost with its node, was replaced. The note begins with why, and says how many
    /// failed in a row at its place; one that ended for its node's sake counts as none.
    PodReplaced Normal =>
        "Nothing for one. When it repeats, look at `Ready` and at the logs of the failed Pod, which stays until it is replaced.",
    /// A Pod did not end within its grace and 10 minutes, and was deleted with grace period 0.
    PodForceDeleted Warning =>
        "Look at the node that it was on: when the node only lost its connection, the consumer may still run there beside its \
         replacement. `podReplacementPolicy: Failed` never forces.",
    /// A Deployment of the Python operator was in a rolling update that did not come to its end, as with an image that
    /// cannot be pulled. It got the Pod template back that it had before, whose Pods serve, so that they can be moved.
    LegacyWorkloadSetBack Normal => "Nothing: the pipeline's Pods are made of its spec. If the image of that is the one that hung, mend it.",
    /// The consumers of a Deployment of the Python operator run as Pods of this operator, and the Deployment is deleted.
    LegacyWorkloadRemoved Normal => "Nothing.",
    /// No Pod of the revision became available, and no gate opened, for `progressDeadlineSeconds`, and it is not sent back:
    /// `onFailure` is `Pause`, or there is no other revision to go back to.
    ProgressDeadlineExceeded Warning => "As for the reason [ProgressDeadlineExceeded](#progressdeadlineexceeded).",
    /// The revision failed, and holds where it stands.
    RolloutFailed Warning => "As for the reason [RolloutFailed](#rolloutfailed).",
    /// The revision failed or was aborted, and the Pods go back to the current one.
    RolledBack Warning => "As for the reason [RolledBack](#rolledback).",
    /// The spec cannot be turned into Pods; what runs is kept.
    RenderFailed Warning => "As for the reason [RenderFailed](#renderfailed).",
    /// A Pod or ConfigMap whose pipeline is gone was removed. The Event is about that object, in its namespace.
    OrphanRemoved Normal =>
        "Nothing: its pipeline was deleted and could not take it along. Whoever wants such a Pod to stay takes the label \
         `streams.sentry.io/managed-by` off it before.",
    /// More than 10 Pods, or more than a tenth of all that are managed, belong to no pipeline: nothing is removed. The
    /// Event is about the first of them.
    OrphanSweepRefused Warning =>
        "Find out where their pipelines went (a deleted namespace or CRD, a restore from backup). \
         `streaming-operator orphans` lists what would go, `streaming-operator orphans --delete` removes it.",
    /// Another pipeline or object holds a name that is needed.
    NameCollision Warning => "As for the reason [NameCollision](#namecollision).",
    /// The API server refused an object that is needed; the note has its words.
    ApiRejected Warning => "As for the reason [ApiRejected](#apirejected).",
    /// The operator lacks a right that it needs for the pipeline.
    Forbidden Warning => "As for the reason [Forbidden](#forbidden).",
    /// A quota of the workload namespace is used up.
    QuotaExceeded Warning => "As for the reason [QuotaExceeded](#quotaexceeded).",
    /// One of the annotations `promote`, `abort` and `resume` does nothing: its value cannot be read, or it is an `abort`
    /// while no revision has completed yet or that an earlier attempt of the revision left behind, or a `resume` with a time
    /// before the failure.
    OrderIgnored Warning =>
        "The note has the annotation and why, or the shape that is expected. Write it again with \
         `kubectl annotate --overwrite`, an `abort` that was left behind after removing it; REVISION is `status.updateRevision`. A first deployment is mended by an edit.",
}

event_reasons! {
    /// What an Event about an analysis tells. Those that hold a rollout, or let it go, are about the target too.
    AnalysisNotice:
    /// The metrics of a revision that rolls out regressed: `failureLimit` measurements failed, and the analysis holds the
    /// rollout. The note has the metric, its value and its limit.
    RolloutPaused Warning => "As for the reason [RegressionDetected](#rolloutanalysis-regressiondetected).",
    /// The analysis no longer holds the rollout: a new revision, a rollback, a person's resume, or an edit of the analysis.
    /// The note says which.
    RolloutResumed Normal => "Nothing.",
    /// `requiredPasses` measurements of the revision passed.
    AnalysisPassed Normal => "Nothing.",
    /// The metrics of a revision regressed and nothing is held for it: the rollout has ended, there is nothing to go back to,
    /// or `mode` is `ReportOnly`.
    RegressionDetected Warning => "As for the reason [RegressionDetected](#rolloutanalysis-regressiondetected).",
    /// The metrics hold again, after a rollout that had ended.
    RegressionEnded Normal => "Nothing.",
    /// All attempts of a measurement failed. That counts nothing and pauses nothing; a gate that is shut stays shut.
    MetricsUnavailable Warning => "As for the reason [MetricsUnavailable](#rolloutanalysis-metricsunavailable).",
    /// The metrics source answers again.
    MetricsAvailable Normal => "Nothing.",
}
