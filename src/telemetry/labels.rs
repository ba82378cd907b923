//! Values of metric labels: closed sets, each with its text. Must never hold text that a user wrote (a name of an
//! object as a label would make one time series an object); the names of metrics sources are the operator's configuration.

use std::fmt::Write as _;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

/// An enum whose variants stand in a label as the text beside them, with `ALL` to walk them.
macro_rules! label_values {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// As it stands in the label.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl EncodeLabelValue for $name {
            fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
                encoder.write_str(self.as_str())
            }
        }
    )* };
}

label_values! {
    /// How a reconcile ended.
    ReconcileResult {
        /// All that was decided could be written.
        Success = "success",
        /// Something failed in a way that passes by itself; tried again with back-off.
        Retry = "retry",
        /// The API server refused something; tried again with a longer back-off.
        Refused = "refused",
        /// Abandoned: the lease was lost or the process ends.
        Abandoned = "abandoned",
    }

    /// Why something is tried again.
    RetryClass {
        /// 409: someone else wrote in between.
        Conflict = "conflict",
        /// 429.
        Throttled = "throttled",
        /// 5xx.
        Server = "server",
        /// No answer.
        Network = "network",
        /// 401 or 403.
        Forbidden = "forbidden",
        /// 400, 404 for a namespace, 413, 422 and the like: the object is refused.
        Invalid = "invalid",
    }

    /// What a request asks of the API server, in Kubernetes' words.
    Verb {
        /// GET of one object.
        Get = "get",
        /// GET of a collection.
        List = "list",
        /// GET with `watch`.
        Watch = "watch",
        /// POST.
        Create = "create",
        /// PUT.
        Update = "update",
        /// PATCH.
        Patch = "patch",
        /// DELETE of one object.
        Delete = "delete",
        /// DELETE of a collection.
        DeleteCollection = "deletecollection",
        /// Anything else.
        Other = "other",
    }

    /// What a request is about: the resources that the operator uses.
    ApiResource {
        /// Our pipelines.
        Pipelines = "streamingpipelines",
        /// `/status` of our pipelines.
        PipelineStatus = "streamingpipelines/status",
        /// Analyses.
        Analyses = "rolloutanalyses",
        /// `/status` of analyses.
        AnalysisStatus = "rolloutanalyses/status",
        /// Pods.
        Pods = "pods",
        /// ConfigMaps.
        ConfigMaps = "configmaps",
        /// ControllerRevisions.
        ControllerRevisions = "controllerrevisions",
        /// Deployments.
        Deployments = "deployments",
        /// ReplicaSets.
        ReplicaSets = "replicasets",
        /// Events.
        Events = "events",
        /// Leases.
        Leases = "leases",
        /// Secrets.
        Secrets = "secrets",
        /// Namespaces.
        Namespaces = "namespaces",
        /// CustomResourceDefinitions.
        Crds = "customresourcedefinitions",
        /// MutatingWebhookConfigurations.
        MutatingWebhooks = "mutatingwebhookconfigurations",
        /// ValidatingWebhookConfigurations.
        ValidatingWebhooks = "validatingwebhookconfigurations",
        /// SelfSubjectAccessReviews.
        SelfAccessReviews = "selfsubjectaccessreviews",
        /// SubjectAccessReviews.
        AccessReviews = "subjectaccessreviews",
        /// Anything else, discovery and `/version` included.
        Other = "other",
    }

    /// Kind of an object under admission.
    AdmissionKind {
        /// A pipeline.
        StreamingPipeline = "StreamingPipeline",
        /// An analysis.
        RolloutAnalysis = "RolloutAnalysis",
        /// Another kind, which is refused, or a review that could not be read.
        Other = "other",
    }

    /// Operation under admission.
    AdmissionOperation {
        /// CREATE.
        Create = "create",
        /// UPDATE.
        Update = "update",
        /// Another one, or a review that could not be read.
        Other = "other",
    }

    /// What admission answered.
    AdmissionOutcome {
        /// Admitted as it is.
        Allowed = "allowed",
        /// Admitted with a patch that writes defaults.
        Patched = "patched",
        /// Refused for faults of the object, or because of who asks.
        Denied = "denied",
        /// The request was malformed.
        Malformed = "malformed",
        /// Too many requests at once.
        Overloaded = "overloaded",
        /// Not ready to judge, or the judgement failed.
        Unavailable = "unavailable",
    }

    /// Route of the webhook.
    AdmissionPath {
        /// `/mutate`.
        Mutate = "/mutate",
        /// `/validate`.
        Validate = "/validate",
    }

    /// Verdict about a Pod.
    PodVerdict {
        /// Ready.
        Ready = "ready",
        /// Waiting for something.
        Waiting = "waiting",
        /// Ended or broken; replaced, or only a person can help.
        Failed = "failed",
        /// Being deleted.
        Terminating = "terminating",
        /// Being deleted beyond its grace.
        Stuck = "stuck",
    }

    /// Where a rollout stands.
    RolloutPhase {
        /// Nothing left to do.
        Complete = "Complete",
        /// Moving.
        Progressing = "Progressing",
        /// The gate waits for an analysis.
        AwaitingAnalysis = "AwaitingAnalysis",
        /// Held by the spec.
        Paused = "Paused",
        /// No Pod is wanted.
        Suspended = "Suspended",
        /// The revision failed.
        Failed = "Failed",
        /// The Pods are back at the current revision.
        RolledBack = "RolledBack",
        /// Waits for a person.
        Stalled = "Stalled",
        /// The pipeline is being deleted.
        Deleting = "Deleting",
        /// None of these.
        Unknown = "Unknown",
    }

    /// What was found of an object of ours whose pipeline is not known.
    OrphanFinding {
        /// Its pipeline is gone: it is removed, or too many of them are.
        Orphan = "orphan",
        /// It does not say whose it is.
        Unnamed = "unnamed",
        /// The namespace of its pipeline is not watched.
        Unwatched = "unwatched",
        /// Whether its pipeline lives could not be asked.
        Unknown = "unknown",
    }

    /// Number of replicas of a pipeline.
    ReplicaState {
        /// Asked for.
        Desired = "desired",
        /// Ready.
        Ready = "ready",
        /// Available.
        Available = "available",
        /// Of the spec's revision.
        Updated = "updated",
    }

    /// How a request to a metrics source ended.
    SourceOutcome {
        /// With an answer, be it one without series.
        Answered = "answered",
        /// Prometheus refuses the query.
        Rejected = "rejected",
        /// 401 or 403, or the credentials cannot be read.
        Unauthorized = "unauthorized",
        /// 429.
        Throttled = "throttled",
        /// 5xx.
        Server = "server",
        /// Something that is no answer of Prometheus: a redirect, a page, more than may be read.
        Malformed = "malformed",
        /// No answer in time.
        TimedOut = "timeout",
        /// No connection, a certificate that does not hold, or one that broke off.
        Network = "network",
        /// Not sent: too many requests were under way already.
        Busy = "busy",
    }

    /// What came of a measurement of an analysis.
    MeasurementOutcome {
        /// Every metric held.
        Pass = "pass",
        /// A metric did not hold.
        Fail = "fail",
        /// A metric had no data.
        NoData = "no_data",
        /// No attempt got an answer, or the query was refused.
        Error = "error",
        /// It was of a spec or a revision that changed meanwhile.
        Dropped = "dropped",
    }

    /// Verdict of an analysis.
    AnalysisVerdict {
        /// Nothing to measure yet.
        Pending = "Pending",
        /// Measurements count.
        Measuring = "Measuring",
        /// Passed.
        Passed = "Passed",
        /// Failed.
        Failed = "Failed",
        /// No verdict yet, and the metrics source does not answer.
        Unavailable = "Unavailable",
    }

    /// Which certificate.
    CertificateRole {
        /// The one that signs.
        Ca = "ca",
        /// The one that the webhook serves.
        Leaf = "leaf",
    }
}

impl RolloutPhase {
    /// The phase that `status.rollout.phase` holds.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::ALL
            .iter()
            .copied()
            .find(|phase| phase.as_str() == text)
            .unwrap_or(Self::Unknown)
    }
}

/// HTTP status of an answer; 0 stands for no answer. The set is closed by HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(pub u16);

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
        if self.0 == 0 {
            encoder.write_str("none")
        } else {
            write!(encoder, "{}", self.0)
        }
    }
}

/// A label set of the fields it lists.
macro_rules! label_set {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
        pub(super) struct $name { $(pub(super) $field: $type),* }
    )* };
}

label_set! {
    /// Of `reconcile_total`.
    ResultLabel { result: ReconcileResult }
    /// Of `retries_total`.
    ClassLabel { class: RetryClass }
    /// Of `api_requests_total`.
    ApiLabels { verb: Verb, resource: ApiResource, code: Code }
    /// Of `admission_requests_total`.
    AdmissionLabels { kind: AdmissionKind, operation: AdmissionOperation, outcome: AdmissionOutcome }
    /// Of `admission_duration_seconds`.
    PathLabel { path: AdmissionPath }
    /// Of `pods`.
    VerdictLabel { verdict: PodVerdict }
    /// Of `rollouts`.
    PhaseLabel { phase: RolloutPhase }
    /// Of `orphans`.
    FindingLabel { finding: OrphanFinding }
    /// Of `certificate_expiry_timestamp_seconds`.
    RoleLabel { role: CertificateRole }
    /// Of `analysis_measurements_total`.
    MeasurementLabel { outcome: MeasurementOutcome }
    /// Of `analyses`.
    AnalysisVerdictLabel { verdict: AnalysisVerdict }
    /// Of `metrics_source_requests_total`; names of sources are the operator's configuration.
    SourceLabels { source: String, outcome: SourceOutcome }
    /// Of `metrics_source_request_duration_seconds`.
    SourceLabel { source: String }
    /// Of `pipeline_replicas`: the one metric with names of objects, and it can be switched off.
    PipelineLabels { namespace: String, name: String, state: ReplicaState }
}
