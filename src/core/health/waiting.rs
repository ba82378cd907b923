//! Why a container waits, and what helps.
//!
//! The words are the kubelet's. The set is open: a release of Kubernetes, or a runtime, may bring others, and those are
//! shown as they are.

use std::fmt;

/// What can be done about a container that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// It is on its way: nothing to say before the grace is over.
    Patience,
    /// It is said at once; the kubelet goes on trying, and a replacement would meet the same.
    Report,
    /// It is said at once; past the grace the Pod is replaced, for another node or another pull may do better.
    Replace,
    /// Only an edit of the spec can help.
    Person,
}

macro_rules! waiting_reasons {
    ($($(#[$doc:meta])* $variant:ident = $remedy:ident),* $(,)?) => {
        /// Why a container, or a Pod as a whole, waits.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum WaitingReason {
            $($(#[$doc])* $variant,)*
            /// One that is not known here, in the words of the Pod.
            Other(String),
        }

        impl WaitingReason {
            /// Every known one.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// As the kubelet says it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                    Self::Other(reason) => reason,
                }
            }

            /// What can be done about it.
            #[must_use]
            pub const fn remedy(&self) -> Remedy {
                match self {
                    $(Self::$variant => Remedy::$remedy,)*
                    Self::Other(_) => Remedy::Report,
                }
            }
        }
    };
}

waiting_reasons! {
    /// The image's name is malformed (`pkg/kubelet/images/types.go`).
    InvalidImageName = Person,
    /// The image could not be pulled (`pkg/kubelet/images/types.go`).
    ErrImagePull = Replace,
    /// The next pull waits (`pkg/kubelet/images/types.go`); alternates with `ErrImagePull`.
    ImagePullBackOff = Replace,
    /// The registry does not answer (cri-api `pkg/errors/errors.go`).
    RegistryUnavailable = Replace,
    /// The image's signature is not good (cri-api `pkg/errors/errors.go`).
    SignatureValidationFailed = Replace,
    /// The image is there and cannot be read (`pkg/kubelet/images/types.go`).
    ImageInspectError = Replace,
    /// The image is not on the node and may not be pulled (`pkg/kubelet/images/types.go`).
    ErrImageNeverPull = Replace,
    /// A ConfigMap, Secret or key that the container needs is missing (`pkg/kubelet/kuberuntime/kuberuntime_container.go`).
    CreateContainerConfigError = Replace,
    /// The runtime could not create the container (`pkg/kubelet/kuberuntime/kuberuntime_container.go`).
    CreateContainerError = Replace,
    /// The runtime could not start the container (`pkg/kubelet/container/sync_result.go`).
    RunContainerError = Replace,
    /// A hook of the kubelet failed (`pkg/kubelet/kuberuntime/kuberuntime_container.go`).
    PreCreateHookError = Replace,
    /// A hook of the kubelet failed (`pkg/kubelet/kuberuntime/kuberuntime_container.go`).
    PreStartHookError = Replace,
    /// The container's postStart hook failed (`pkg/kubelet/kuberuntime/kuberuntime_container.go`).
    PostStartHookError = Replace,
    /// A container that is restarted (a native sidecar) keeps ending (`pkg/kubelet/container/sync_result.go`).
    CrashLoopBackOff = Report,
    /// All containers are being restarted in place by a rule of one (`pkg/kubelet/kubelet_pods.go`).
    RestartingAllContainers = Patience,
    /// The init containers are at work (`pkg/kubelet/kubelet_pods.go`).
    PodInitializing = Patience,
    /// Sandbox, volumes or the image are being prepared (`pkg/kubelet/kubelet_pods.go`).
    ContainerCreating = Patience,
    /// No node takes the Pod (k8s.io/api core/v1 `PodReasonUnschedulable`).
    Unschedulable = Report,
    /// A scheduling gate holds the Pod (k8s.io/api core/v1 `PodReasonSchedulingGated`).
    SchedulingGated = Report,
    /// The scheduler failed (k8s.io/api core/v1 `PodReasonSchedulerError`).
    SchedulerError = Report,
    /// The Pod runs and is not Ready.
    NotReady = Patience,
    /// The node does not tell how the Pod is.
    Unknown = Report,
    /// Nobody has looked at the Pod yet.
    Pending = Patience,
}

impl WaitingReason {
    /// Of the words of a Pod.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let known = Self::ALL.iter().find(|reason| reason.as_str() == text);
        known.cloned().unwrap_or_else(|| Self::Other(text.to_owned()))
    }
}

impl fmt::Display for WaitingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
