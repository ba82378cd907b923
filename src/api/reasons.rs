//! Why a condition is as it is: every reason with its page, from which `make generate` writes docs/reasons.md.
//!
//! A doc comment is what the reason means, as on the page; behind `=>` stands what to do. Without either it does not
//! compile. The texts are for whoever is woken by one: plain, short, with the command to run, in which `NAME` is the
//! pipeline. Reasons are an API, people alert on them: must never rename one.

use super::conditions::{ConditionStatus, ConditionType};

/// What is to be known of a reason.
#[derive(Clone, Copy, Debug)]
pub struct ReasonPage<T: 'static = ConditionType> {
    /// The conditions that have it, with the status that they then have; the page has it under the first.
    pub on: &'static [(T, ConditionStatus)],
    /// What it means, in Markdown.
    pub means: &'static str,
    /// What to do about it, in Markdown.
    pub to_do: &'static str,
}

macro_rules! reasons {
    ($(#[doc = $doc:literal])+ $name:ident on $types:ident:
     $($(#[doc = $means:literal])+ $reason:ident [$($type:ident $status:ident),+] => $to_do:literal,)*) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $means])+ $reason),* }

        impl $name {
            /// Every one, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$reason),*];

            /// As it stands on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$reason => stringify!($reason)),* }
            }

            /// What it means, and what to do.
            #[must_use]
            pub const fn page(self) -> super::reasons::ReasonPage<$types> {
                match self {
                    $(Self::$reason => super::reasons::ReasonPage {
                        on: &[$(($types::$type, super::conditions::ConditionStatus::$status)),+],
                        means: concat!($($means),+),
                        to_do: $to_do,
                    }),*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(super) use reasons;

reasons! {
    /// Why a condition of a pipeline is as it is.
    Reason on ConditionType:
    /// All Pods are of the spec's revision and available.
    Ready [Ready True] => "Nothing.",
    /// `suspend` is set, and no Pod is left. Everything else is kept.
    Suspended [Ready True, Progressing True] =>
        "Nothing, if that is meant. To start it again: `kubectl patch spipe NAME --type merge -p '{\"spec\":{\"suspend\":false}}'`.",
    /// `replicas` is 0, and no Pod is left.
    ScaledToZero [Ready True, Progressing True] =>
        "Nothing, if that is meant. To start it again: `kubectl scale spipe NAME --replicas=N`. If nobody scaled it, look \
         whether a HorizontalPodAutoscaler or KEDA did.",
    /// Pods of a new revision are being made, or put in the place of older ones, no more at a time than `maxUnavailable`
    /// allows.
    RollingOut [Ready False, Reconciling True] =>
        "Wait. The message names the Pod that is waited for. To hold it: set `spec.rollout.paused`; to go back: apply the \
         earlier spec, or `kubectl annotate spipe NAME streams.sentry.io/abort=REVISION`.",
    /// A Pod that failed or went missing is being made again, with a back-off of up to 300 s when it fails again and again.
    Healing [Ready False, Reconciling True] =>
        "Look at the message: it names the Pod and why it failed. The failed Pod stays until its replacement is made, so \
         `kubectl logs POD` still shows its end; `status.pods` says how often it failed and when the next try is.",
    /// Pods that are older than `rollout.restartAt` are being made again, no more at a time than `maxUnavailable` allows.
    Restarting [Ready False, Reconciling True] =>
        "Wait. To hold it: set `spec.rollout.paused`; to end it: take `spec.rollout.restartAt` away.",
    /// Pods are being added or removed because `replicas`, `with_canary` or `suspend` changed.
    Scaling [Ready False, Reconciling True] =>
        "Wait. When it stays, the message says what its Pods wait for: mostly room on the nodes (`kubectl describe pod`).",
    /// The canary has the new revision and is not available yet (for `minReadySeconds`). The primary Pods keep the revision
    /// that they have.
    AwaitingCanary [Ready False, Reconciling True] =>
        "Wait, or look why the canary does not get ready: `kubectl describe pod` and `kubectl logs` of the Pod with the label \
         `streams.sentry.io/workload-set=canary`. If it is broken, mend the spec; that replaces it at once. To roll out \
         without it: `kubectl annotate spipe NAME streams.sentry.io/promote=REVISION`.",
    /// The canary is good, and the gate to the primary Pods waits for a RolloutAnalysis to pass.
    AwaitingAnalysis [Ready False, Progressing True, Reconciling True] =>
        "Wait; the message says which analysis has how many passes. To open the gate by hand: \
         `kubectl annotate spipe NAME streams.sentry.io/promote=REVISION`.",
    /// A pipeline of the same name was deleted and left Pods or ConfigMaps behind (`--cascade=orphan`, a restore from
    /// backup). They are replaced by Pods of this one within the budget.
    WaitingForPredecessor [Ready False, Reconciling True] =>
        "Wait. While it lasts some consumers still run what the deleted pipeline asked for.",
    /// `rollout.paused` is set and there is work left. Failed Pods are still replaced, and scaling goes on.
    RolloutPaused [Ready False, Progressing Unknown, RolloutPaused True, Stalled True] =>
        "To go on: `kubectl patch spipe NAME --type merge -p '{\"spec\":{\"rollout\":{\"paused\":false}}}'`.",
    /// No Pod became available, and no gate opened, for `progressDeadlineSeconds`. While an updated Pod is unavailable no
    /// further one is moved to the new revision; the Pods of the current one run on.
    ProgressDeadlineExceeded [Ready False, Progressing False, RolloutPaused True, Stalled True] =>
        "The message says what the Pods wait for: a bad image or a missing Secret wants an edit, a full cluster wants room. \
         The rollout goes on by itself as soon as its Pod is available. To go back: apply the earlier spec, or \
         `kubectl annotate spipe NAME streams.sentry.io/abort=REVISION`. With `rollout.onFailure: Rollback` that happens by \
         itself.",
    /// The spec's revision failed (an analysis, with `onFailure: Pause`). Pods of it that work stay, others come back with
    /// the current revision, and no further Pod is moved.
    RolloutFailed [Ready False, Progressing False, RolloutPaused True, Stalled True] =>
        "Look at `status.rollout.failedRevision` for why. Mend the spec (a new revision starts afresh), apply the earlier \
         one, or let it try again: `kubectl annotate --overwrite spipe NAME streams.sentry.io/resume=REVISION@$(date -u +%FT%TZ)`.",
    /// The spec's revision failed or was aborted, and the Pods are back, or on their way back, at the current one. What
    /// runs is not what the spec says.
    RolledBack [Ready False, Progressing False, RolloutPaused True, Stalled True] =>
        "The pipeline is served; nothing burns. `status.rollout.failedRevision` says why it went back. Bring the spec in line: \
         mend it or apply the earlier one. To try the same again: \
         `kubectl annotate --overwrite spipe NAME streams.sentry.io/resume=REVISION@$(date -u +%FT%TZ)`.",
    /// The spec is stored and cannot be turned into Pods. That happens to a spec that was stored while the webhook was off,
    /// or that a newer release judges more strictly. What runs is kept and healed at the current revision.
    RenderFailed [Ready False, Rendered False, Applied Unknown, Stalled True] =>
        "The message has every fault with its path. Mend them and apply; `streaming-operator validate -f FILE` tells beforehand.",
    /// A name that is needed belongs to another pipeline, or to an object that is not of this operator. It is neither
    /// changed nor deleted. With another pipeline in the way nothing is created or deleted at all; with a Pod in the way its
    /// place stays empty and all others are healed as ever; with a ConfigMap in the way no Pod is made that would mount it.
    NameCollision [Ready False, Applied False, Stalled True] =>
        "The message names the holder. Look at it (`kubectl get pod NAME -o yaml`): if nobody needs it, delete it; else give \
         one of the two another `service_name`, `pipeline_name` or `segment_id`, which takes a new object, for these cannot be \
         edited. When the name is free the operator goes on by itself, within 5 minutes.",
    /// The API server refused an object: PodSecurity, a LimitRange, another's webhook, an invalid field, or somebody changed
    /// an object of ours. When it is the first Pod of a revision, every old Pod runs on.
    ApiRejected [Ready False, Applied False, RolloutPaused True, Stalled True] =>
        "The message has the API server's words. Change the spec or what refuses it. It is tried again after 10 to 300 s, and \
         at once after an edit.",
    /// The operator lacks a right.
    Forbidden [Ready False, Applied False, Stalled True] =>
        "The message names verb and resource. Put the operator's roles back (`helm upgrade`, or look who edited them: \
         `kubectl auth can-i VERB RESOURCE --as=system:serviceaccount:NS:streaming-operator`). It is tried again within 5 minutes.",
    /// A ResourceQuota of the workload namespace is used up, so that a Pod cannot be made.
    QuotaExceeded [Ready False, Applied False, Stalled True] =>
        "`kubectl describe quota -n NAMESPACE`: raise it, or lower `replicas` or the resources. It is tried again within 5 minutes.",
    /// The API server did not answer, answered with a failure of its own, or asked to be asked less.
    ApiUnavailable [Ready False, Applied False, Reconciling True] =>
        "Wait: it is tried again within 30 s. Pods run on meanwhile. When it stays, look at the API server; the metric \
         `streaming_operator_retries_total` shows how often.",
    /// The namespace in which the Pods run is being deleted, or does not exist.
    NamespaceTerminating [Ready False, Applied False, Stalled True] =>
        "Create the namespace, or delete the pipeline.",
    /// What the Python operator, or an earlier setting of this one, left running in another namespace cannot be listed or
    /// deleted there, so nothing is created: two consumers might read the same partitions. The message names the missing
    /// right.
    LegacyUnreadable [Ready False, Stalled True, Applied False] =>
        "Grant the right that the message names (chart value `settings.legacyNamespace`, or docs/permissions.md); it goes on \
         within 30 s. See docs/migrate.md.",
    /// The move from the Python operator stops: somebody set or applied its Deployment after this operator had claimed it.
    /// Most likely the Python operator still runs.
    LegacyOperatorRunning [Ready False, Stalled True, Applied False] =>
        "Stop the Python operator, or whatever else applies or scales the Deployment. The move goes on by itself when the \
         Deployment has been left alone for `settings.legacyGrace`. See docs/migrate.md.",
    /// The move from the Python operator waits: its Deployment is in a rolling update that does not come to its end, so that
    /// Pods that serve might go with the first that is taken off. It was set back once, or Pods of its new template serve too,
    /// and which to keep is a person's choice.
    LegacyRolloutHangs [Ready False, Stalled True, Applied False] =>
        "The message has the Deployment and the command. `kubectl get pods` in its namespace shows which of its Pods do not become \
         ready; mend what keeps them, or `kubectl rollout undo` it. It goes on by itself. See docs/migrate.md.",
    /// A Pod waits for something that no replacement can mend, such as a malformed image name.
    PermanentPodFailure [Ready False, Stalled True] =>
        "The message has the Pod and the kubelet's words. Mend the spec; a new revision replaces such a Pod at once.",
    /// A Pod is being deleted and does not end, and it may not be forced to (`podReplacementPolicy: Failed`: two of its
    /// identity must never run at once). Its place stays empty.
    StuckTerminating [Ready False, Stalled True] =>
        "`kubectl get pod POD -o wide` and look at its node. If the node is gone for good, and only then: \
         `kubectl delete pod POD --grace-period=0 --force`. Else remove what holds the Pod (a finalizer, a hanging volume).",
    /// The pipeline is being deleted, and waits until its Pods are gone.
    Deleting [Ready False, Reconciling True] =>
        "Wait for the Pods' grace. When it stays, look for a Pod that does not end (`kubectl get pods -l \
         streams.sentry.io/owner-uid=UID`).",
    /// The spec was turned into Pods.
    Rendered [Rendered True] => "Nothing.",
    /// Everything was written.
    Applied [Applied True] => "Nothing.",
    /// Enough Pods are available.
    MinimumReplicasAvailable [Available True] => "Nothing.",
    /// Fewer Pods are available than `replicas` - `maxUnavailable`. A rollout alone never causes that, but
    /// for `replicas: 1` with `podReplacementPolicy: Failed`.
    MinimumReplicasUnavailable [Available False] =>
        "Consumers are missing: look at `Ready`, whose message names the cause. Right after the first apply it is the normal \
         state for a minute.",
    /// The last rollout is complete.
    NewRevisionAvailable [Progressing True] => "Nothing.",
    /// A rollout, or healing or scaling, is under way; the message says how many Pods are updated.
    RolloutProgressing [Progressing True] => "Wait; `Ready` says what for.",
    /// The condition has nothing to report, which is the good answer of these. `Unknown` on `Applied`, `Available` or
    /// `Progressing`: the operator did not get as far as to judge it.
    AsExpected [Stalled False, Reconciling False, RolloutPaused False, Applied Unknown, Available Unknown, Progressing Unknown] =>
        "Nothing.",
}
