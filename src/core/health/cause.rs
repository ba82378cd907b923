//! Why a Pod failed, and whether that was its own doing.
//!
//! Must never take what a container did before its last start for the end of the Pod, while the kubelet still restarts
//! it.

use k8s_openapi::api::core::v1::{Container, ContainerStateTerminated, ContainerStatus};

/// Words of `status.reason` for a Pod that was ended for the node's sake: kubelet eviction, preemption by a critical
/// Pod, node shutdown (pkg/kubelet/{eviction,preemption,nodeshutdown}), and a node that is gone (pkg/util/node).
const DISRUPTIONS: [&str; 6] = [
    "Evicted",
    "Preempting",
    "Terminated",
    "NodeShutdown",
    "Shutdown",
    "NodeLost",
];

/// A container that was running when its node lost it (pkg/kubelet/container `ContainerReasonStatusUnknown`).
const CONTAINER_LOST: &str = "ContainerStatusUnknown";

/// How the message of a Pod begins that a kubelet would not start at all, under pressure or shutting down
/// (pkg/kubelet/kubelet.go `rejectPod`). Made again at once it would be refused at once.
const REFUSED: &str = "Pod was rejected: ";

/// What the messages of evictions have in common that the Pod's own limits of storage caused, and none for the node's
/// sake has (pkg/kubelet/eviction/helpers.go `containerEphemeralStorageMessageFmt` and its neighbours).
const OVER_ITS_LIMIT: &str = "exceed";

/// Why a Pod failed.
pub(super) struct Cause {
    /// In a word of the kubelet.
    pub(super) reason: String,
    /// In a sentence.
    pub(super) message: String,
    /// Whether the node lost the container.
    pub(super) lost: bool,
}

impl Cause {
    /// Of a container that ended with an error.
    fn of(name: &str, ended: &ContainerStateTerminated) -> Self {
        let word = ended.reason.as_deref().filter(|reason| !reason.is_empty());
        let reason = word.map_or_else(|| format!("ExitCode{}", ended.exit_code), str::to_owned);
        let said = ended
            .message
            .as_deref()
            .map(|message| format!(": {}", message.trim()))
            .unwrap_or_default();
        Self {
            lost: reason == CONTAINER_LOST,
            reason,
            message: format!("container {name} ended with exit code {}{said}", ended.exit_code),
        }
    }
}

/// The end of a container that has one: of one that waits that of its last run, where the Pod is `over`, for of a
/// container that its node lost nothing else is told (`pkg/kubelet/kubelet_pods.go`, `convertToAPIContainerStatuses`).
fn end(status: &ContainerStatus, over: bool) -> Option<&ContainerStateTerminated> {
    let now = status.state.as_ref();
    let before = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let waits = now.is_some_and(|state| state.waiting.is_some());
    now.and_then(|state| state.terminated.as_ref())
        .or(before.filter(|_| over && waits))
}

/// The first of these containers to end with an error; not one that the kubelet restarts in place.
pub(super) fn first_error(statuses: &[ContainerStatus], specs: &[Container], over: bool) -> Option<Cause> {
    let errors = statuses.iter().filter_map(|status| {
        let ended = end(status, over).filter(|ended| ended.exit_code != 0)?;
        (!is_restarted(&status.name, ended.exit_code, specs)).then_some((status, ended))
    });
    let (status, ended) = errors.min_by_key(|(_, ended)| ended.finished_at.as_ref().map(|time| time.0))?;
    Some(Cause::of(&status.name, ended))
}

/// Whether the kubelet restarts a container that ended so: by its own restart policy, which a native sidecar has, and
/// since Kubernetes 1.35 any container may have (pkg/api/v1/pod `ContainerShouldRestart`). The Pod's is Never.
pub(super) fn is_restarted(name: &str, exit_code: i32, specs: &[Container]) -> bool {
    let spec = specs.iter().find(|spec| spec.name == name);
    match spec.and_then(|spec| spec.restart_policy.as_deref()) {
        Some("Always") => true,
        Some("OnFailure") => exit_code != 0,
        _ => false,
    }
}

/// Whether a Pod with this reason and message was ended for the node's sake, and not refused by its kubelet nor over a
/// limit of its own.
pub(super) fn is_disruption(reason: &str, message: Option<&str>) -> bool {
    let own = message.is_some_and(|text| text.starts_with(REFUSED) || text.contains(OVER_ITS_LIMIT));
    DISRUPTIONS.contains(&reason) && !own
}
