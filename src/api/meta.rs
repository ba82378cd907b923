//! Names that stand in metadata: labels, annotations, the finalizer, field managers. Each is written once, here.
//!
//! They are an API: Pods of an earlier release carry them, and people select by them. None may be renamed.

use std::collections::BTreeMap;

/// API group of our kinds.
pub const GROUP: &str = "streams.sentry.io";
/// The one served version.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of our kinds.
pub const API_VERSION: &str = "streams.sentry.io/v1alpha1";
/// Kind of the pipelines.
pub const KIND: &str = "StreamingPipeline";
/// Plural (resource) name of the pipelines.
pub const PLURAL: &str = "streamingpipelines";
/// Kind of the analyses.
pub const ANALYSIS_KIND: &str = "RolloutAnalysis";
/// Plural (resource) name of the analyses.
pub const ANALYSIS_PLURAL: &str = "rolloutanalyses";

/// Label on everything we make; its value is [`MANAGED_BY_VALUE`]. The one selector of our watches.
pub const LABEL_MANAGED_BY: &str = "streams.sentry.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`].
pub const MANAGED_BY_VALUE: &str = "streaming-operator";
/// Label: uid of the pipeline that owns the object. Nothing is changed or deleted whose label is another uid.
pub const LABEL_OWNER_UID: &str = "streams.sentry.io/owner-uid";
/// Label: the same, as the Python operator writes it. Earlier ones of it wrote [`LABEL_OWNER_UID`].
pub const LABEL_LEGACY_OWNER_UID: &str = "pipeline.streams.sentry.io/owner-uid";
/// Label on Pods: `primary` or `canary`.
pub const LABEL_WORKLOAD_SET: &str = "streams.sentry.io/workload-set";
/// Label on Pods: the ordinal within the set, decimal.
pub const LABEL_ORDINAL: &str = "streams.sentry.io/ordinal";
/// Label on Pods: the generation of the ordinal, decimal.
pub const LABEL_GENERATION: &str = "streams.sentry.io/generation";
/// Label on Pods, ConfigMaps and ControllerRevisions: the revision they belong to (10 hex digits).
pub const LABEL_REVISION: &str = "streams.sentry.io/revision";

/// Annotation: name of the owning pipeline.
pub const ANNOTATION_OWNER_NAME: &str = "streams.sentry.io/owner-name";
/// Annotation: namespace of the owning pipeline.
pub const ANNOTATION_OWNER_NAMESPACE: &str = "streams.sentry.io/owner-namespace";
/// Annotation: name of the owning pipeline, as the Python operator writes it.
pub const ANNOTATION_LEGACY_OWNER_NAME: &str = "pipeline.streams.sentry.io/owner-name";
/// Annotation: namespace of the owning pipeline, as the Python operator writes it.
pub const ANNOTATION_LEGACY_OWNER_NAMESPACE: &str = "pipeline.streams.sentry.io/owner-namespace";
/// Annotation on Deployments of the Python operator: the `spec.replicas` that was last written to it here, decimal. More
/// than that in `spec.replicas` was written by somebody else.
pub const ANNOTATION_LEGACY_REPLICAS: &str = "streams.sentry.io/legacy-replicas";
/// Annotation on Deployments of the Python operator: since when they are left to this operator (RFC 3339), and a word more
/// when they had been applied again before. With it their [`ANNOTATION_LEGACY_OWNER_NAME`] is taken off, and the label
/// [`LABEL_OWNER_UID`] of earlier ones becomes [`LABEL_LEGACY_OWNER_UID`], so that it is seen when the Python operator applies
/// them again.
pub const ANNOTATION_LEGACY_CLAIMED: &str = "streams.sentry.io/legacy-claimed";
/// Annotation on Deployments of the Python operator: when this operator set them back to an earlier Pod template, because a
/// rolling update did not come to its end (RFC 3339). It is done once.
pub const ANNOTATION_LEGACY_SET_BACK: &str = "streams.sentry.io/legacy-set-back";
/// How the finalizers and annotations begin that the Python operator, and nobody else, puts on pipelines.
pub const LEGACY_MARK_PREFIX: &str = "kopf.zalando.org/";
/// Annotation on Pods: how many failures in a row led to this Pod, decimal; the back-off goes by it.
pub const ANNOTATION_FAILURES: &str = "streams.sentry.io/failures";
/// Annotation on ControllerRevisions: when the revision last completed (RFC 3339).
pub const ANNOTATION_COMPLETED_AT: &str = "streams.sentry.io/completed-at";
/// Annotation on ControllerRevisions: name of the ConfigMap that Pods of the revision mount, so that which ConfigMaps
/// are in use is known from metadata alone.
pub const ANNOTATION_CONFIG_MAP: &str = "streams.sentry.io/config-map";
/// Annotation on pipelines: `<revision>` whose gate a person opens.
pub const ANNOTATION_PROMOTE: &str = "streams.sentry.io/promote";
/// Annotation on pipelines: `<revision>` that a person sends back.
pub const ANNOTATION_ABORT: &str = "streams.sentry.io/abort";
/// Annotation on pipelines: `<revision>@<RFC 3339>` that a person lets try again.
pub const ANNOTATION_RESUME: &str = "streams.sentry.io/resume";
/// Annotation on Pods with the digest of their config, as the Python operator has it.
pub const ANNOTATION_CONFIG_VERSION: &str = "configVersion";
/// Default annotation on Pods: their emptyDir volumes hold nothing worth keeping a node for.
pub const ANNOTATION_SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";

/// Finalizer on pipelines whose Pods live in another namespace, where no ownerReference can point back.
pub const FINALIZER: &str = "streams.sentry.io/cleanup";

/// Name of the entry of a ValidatingWebhookConfiguration that judges pipelines; by it the configurations of other releases
/// are known.
pub const VALIDATING_WEBHOOK: &str = "validate.streamingpipelines.streams.sentry.io";
/// Annotation on a ValidatingWebhookConfiguration of ours: `false` when the release serves admission and runs no
/// pipelines, so that it is in no other release's way.
pub const ANNOTATION_RUNS_PIPELINES: &str = "streams.sentry.io/runs-pipelines";

/// Field manager of what the controller writes.
pub const FIELD_MANAGER: &str = "streaming-operator";
/// Field manager of `caBundle` in the webhook configurations.
pub const FIELD_MANAGER_CA: &str = "streaming-operator-ca";
/// Field manager of what is written to Deployments of the Python operator, whose own is [`FIELD_MANAGER`] too.
pub const FIELD_MANAGER_LEGACY: &str = "streaming-operator-migration";
/// What the field manager with which an analysis holds a Deployment begins with; its uid follows. One for each analysis, so
/// that the API server counts who holds.
pub const FIELD_MANAGER_ANALYSIS_PREFIX: &str = "streaming-operator/ra-";
/// `reportingController` of our Events.
pub const EVENT_REPORTER: &str = "streaming-operator";

/// Uid of the pipeline that owns an object with these labels: by our label, else by that of the Python operator.
#[must_use]
pub fn owner_uid(labels: Option<&BTreeMap<String, String>>) -> Option<&String> {
    let labels = labels?;
    labels
        .get(LABEL_OWNER_UID)
        .or_else(|| labels.get(LABEL_LEGACY_OWNER_UID))
}
