//! Why a condition of an analysis is as it is: every reason with its page, as in [`super::reasons`].
//!
//! `NAME` in a command is the analysis, `TARGET` the object that it watches. Reasons are an API, people alert on them: must
//! never rename one.

use super::conditions::AnalysisConditionType;

super::reasons::reasons! {
    /// Why a condition of an analysis is as it is.
    AnalysisReason on AnalysisConditionType:
    /// No Pod of the target's revision has been available yet, or none is now, or `initialDelay` is not over: nothing is
    /// measured.
    AwaitingRollout [Ready True] => "Nothing; measurements begin with the first Pod of the revision that is available.",
    /// Measurements are made at each `interval`, and the revision has neither passed nor failed.
    Measuring [Ready True] => "Nothing. The columns PASSES and FAILURES say how far it is.",
    /// `requiredPasses` measurements of the revision passed.
    Passed [Ready True] => "Nothing.",
    /// The metrics regressed. While the revision rolls out: `failureLimit` measurements failed, and the verdict `Failed` stays
    /// for this revision. After the rollout: the last `failureLimit` measurements failed; nothing is held.
    RegressionDetected [Ready False, RegressionDetected True, RolloutPaused True] =>
        "The message has the metric, its value and its limit. Mend the target's spec or bring it back: a new revision is measured \
         afresh. To let the same revision try again, annotate the target: for a pipeline `kubectl annotate --overwrite spipe \
         TARGET streams.sentry.io/resume=REVISION@$(date -u +%FT%TZ)`; a Deployment `kubectl rollout resume deployment TARGET`.",
    /// Three or more measurements in a row had no data: the result is empty, or a series is NaN. With `onNoData: Pause` they
    /// count nothing, so a gate that is shut stays shut.
    NoData [Ready False] =>
        "Run `streaming-operator query -f FILE` and look whether the labels of the query match the Pods, and whether there is traffic.",
    /// The metrics source did not answer any attempt of the last measurement: refused, timed out, 5xx, 429, or no answer of
    /// Prometheus. It counts nothing and pauses nothing, and a verdict that is there stays.
    MetricsUnavailable [Ready False, MetricsUnavailable True] =>
        "The message has the source and its words. Look at Prometheus, and at the operator's `--metrics-source`. It is tried \
         again at each `interval`. To open a gate without it: `kubectl annotate spipe TARGET streams.sentry.io/promote=REVISION`.",
    /// The metrics source refuses the query, or answers it with what cannot be held against a limit. It counts nothing.
    QueryRejected [Ready False, MetricsUnavailable True, Stalled True] =>
        "The message has the words of the source. Mend the query; `streaming-operator query -f FILE` tries it.",
    /// The operator is not configured with a metrics source of that name, so nothing is asked.
    UnknownSource [Ready False, MetricsUnavailable Unknown, Stalled True] =>
        "Name one of the sources that the message lists, or add it to the operator's `--metrics-source`.",
    /// The target does not exist. Nothing is asked; when it is there, it is measured afresh.
    TargetMissing [Ready False, TargetFound False] => "Create the target, or delete the analysis.",
    /// The spec is stored and cannot be used, as when it was stored while the webhook was off. Nothing is measured, and a gate
    /// that waits for this analysis stays shut.
    InvalidSpec [Ready False, TargetFound Unknown, Stalled True] =>
        "The message has every fault with its path. Mend them; `streaming-operator validate -f FILE` tells beforehand.",
    /// The target is a Deployment, and the operator runs without the rights on Deployments.
    DeploymentTargetsOff [Ready False, TargetFound Unknown, Stalled True] =>
        "Set the chart value `settings.deploymentTargets` (`--deployment-targets`), or use a StreamingPipeline as target.",
    /// The API server refuses what the analysis needs: to read its target, or to hold it.
    Forbidden [Ready False, TargetFound Unknown, Stalled True] =>
        "The message has the API server's words. Put the operator's roles back (`helm upgrade`). It is tried again at each visit.",
    /// The target is there.
    TargetFound [TargetFound True] => "Nothing.",
    /// The metrics source answers.
    MetricsAvailable [MetricsUnavailable False] => "Nothing.",
    /// A person lifted the pause of this revision. It is not paused again.
    ResumedByUser [RolloutPaused False] => "Nothing, if that was meant.",
    /// The condition has nothing to report, which is the good answer of these.
    AsExpected [MetricsUnavailable False, RegressionDetected False, RolloutPaused False, Stalled False] => "Nothing.",
}
