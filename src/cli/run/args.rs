//! The flags of `run`. Their values are text here: [`super::settings`] reads them, so that every fault is told at once
//! and not only the first.

use clap::Args;

/// Runs the operator until SIGTERM or SIGINT.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct RunArgs {
    /// Whether admission is served.
    #[arg(long, env = "STREAMS_WEBHOOK_ENABLED", value_name = "BOOL", default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(super) webhook_enabled: String,
    /// Whether pipelines are reconciled.
    #[arg(long, env = "STREAMS_CONTROLLER_ENABLED", value_name = "BOOL", default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(super) controller_enabled: String,
    /// Where admission is served, over TLS.
    #[arg(
        long,
        env = "STREAMS_WEBHOOK_ADDR",
        value_name = "ADDR",
        default_value = "0.0.0.0:9443"
    )]
    pub(super) webhook_addr: String,
    /// Where /livez, /readyz and /metrics are served, without TLS.
    #[arg(long, env = "STREAMS_HTTP_ADDR", value_name = "ADDR", default_value = "0.0.0.0:8080")]
    pub(super) http_addr: String,
    /// Where the webhook's certificate comes from: self (the operator makes it) or files (mounted, see --tls-dir).
    #[arg(long, env = "STREAMS_TLS_MODE", value_name = "MODE", default_value = "self")]
    pub(super) tls_mode: String,
    /// Folder with tls.crt, tls.key and perhaps ca.crt, for --tls-mode files.
    #[arg(long, env = "STREAMS_TLS_DIR", value_name = "DIR")]
    pub(super) tls_dir: Option<String>,
    /// DNS name or IP address that the certificate of --tls-mode self is for; may be given several times. Without it:
    /// the Service streaming-operator in the operator's namespace.
    #[arg(long, env = "STREAMS_TLS_HOST", value_name = "HOST", value_delimiter = ',')]
    pub(super) tls_host: Vec<String>,
    /// Name of the two webhook configurations whose caBundle the operator keeps.
    #[arg(
        long,
        env = "STREAMS_WEBHOOK_CONFIG_NAME",
        value_name = "NAME",
        default_value = "streaming-operator"
    )]
    pub(super) webhook_config_name: String,
    /// Namespace of the operator itself, for its Lease and its Secret. Without it: that of the kubeconfig or of the
    /// Pod.
    #[arg(long, env = "STREAMS_NAMESPACE", value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
    /// Namespace in which all Pods run. Without it: each pipeline's in its own.
    #[arg(long, env = "STREAMS_WORKLOAD_NAMESPACE", value_name = "NAMESPACE")]
    pub(super) workload_namespace: Option<String>,
    /// Namespace whose pipelines are looked after; may be given several times. Without it: all.
    #[arg(
        long,
        env = "STREAMS_WATCH_NAMESPACE",
        value_name = "NAMESPACE",
        value_delimiter = ','
    )]
    pub(super) watch_namespace: Vec<String>,
    /// Whether a Lease decides which of several replicas reconciles.
    #[arg(long, env = "STREAMS_LEADER_ELECT", value_name = "BOOL", default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(super) leader_elect: String,
    /// How long the others wait before they take over a lease that is not renewed. Whole seconds.
    #[arg(long, env = "STREAMS_LEASE_DURATION", value_name = "DURATION", default_value = "15s")]
    pub(super) lease_duration: String,
    /// How long the holder goes on without a successful renewal; less than --lease-duration.
    #[arg(long, env = "STREAMS_RENEW_DEADLINE", value_name = "DURATION", default_value = "10s")]
    pub(super) renew_deadline: String,
    /// Time between two attempts to acquire or renew the lease; less than --renew-deadline.
    #[arg(long, env = "STREAMS_RETRY_PERIOD", value_name = "DURATION", default_value = "2s")]
    pub(super) retry_period: String,
    /// How long a serving certificate lives; it is renewed at two thirds.
    #[arg(
        long,
        env = "STREAMS_LEAF_LIFETIME",
        value_name = "DURATION",
        default_value = "2160h"
    )]
    pub(super) leaf_lifetime: String,
    /// How long a certificate authority lives.
    #[arg(long, env = "STREAMS_CA_LIFETIME", value_name = "DURATION", default_value = "43800h")]
    pub(super) ca_lifetime: String,
    /// How long a new certificate authority is trusted before it signs.
    #[arg(long, env = "STREAMS_CA_OVERLAP", value_name = "DURATION", default_value = "24h")]
    pub(super) ca_overlap: String,
    /// How long a container may wait for its image or its config before its Pod is reported.
    #[arg(long, env = "STREAMS_WAITING_GRACE", value_name = "DURATION", default_value = "300s")]
    pub(super) waiting_grace: String,
    /// How long a Pod may go on terminating after its own grace before it is stuck.
    #[arg(
        long,
        env = "STREAMS_TERMINATING_GRACE",
        value_name = "DURATION",
        default_value = "600s"
    )]
    pub(super) terminating_grace: String,
    /// How long a Pod or ConfigMap of ours must have been without a pipeline before it is removed.
    #[arg(long, env = "STREAMS_ORPHAN_GRACE", value_name = "DURATION", default_value = "300s")]
    pub(super) orphan_grace: String,
    /// How long no primary Pod may be available before the canary's gate no longer holds them.
    #[arg(long, env = "STREAMS_GATE_GRACE", value_name = "DURATION", default_value = "300s")]
    pub(super) gate_grace: String,
    /// The wait before a Pod that failed twice in a row is replaced; it doubles with each further failure.
    #[arg(long, env = "STREAMS_BACKOFF_BASE", value_name = "DURATION", default_value = "10s")]
    pub(super) backoff_base: String,
    /// The longest wait before a failed Pod is replaced.
    #[arg(long, env = "STREAMS_BACKOFF_MAX", value_name = "DURATION", default_value = "300s")]
    pub(super) backoff_max: String,
    /// A Pod that ran this long has no earlier failures.
    #[arg(long, env = "STREAMS_BACKOFF_RESET", value_name = "DURATION", default_value = "600s")]
    pub(super) backoff_reset: String,
    /// How long the names of a pipeline stay reserved after it was admitted, until the watch shows it.
    #[arg(
        long,
        env = "STREAMS_RESERVATION_TTL",
        value_name = "DURATION",
        default_value = "30s"
    )]
    pub(super) reservation_ttl: String,
    /// With --workload-namespace: whether whoever creates a pipeline, or changes its spec, must be allowed to create Pods
    /// there.
    #[arg(long, env = "STREAMS_WORKLOAD_ACCESS_CHECK", value_name = "BOOL", default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(super) workload_access_check: String,
    /// Whether pipelines of the Python operator are taken over: its Deployments are scaled down step by step, its
    /// finalizers removed.
    #[arg(long, env = "STREAMS_LEGACY_TAKEOVER", value_name = "BOOL", default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(super) legacy_takeover: String,
    /// Namespace in which the Python operator ran its Deployments (its `WORKLOAD_NAMESPACE`), for pipelines whose status
    /// does not say.
    #[arg(long, env = "STREAMS_LEGACY_NAMESPACE", value_name = "NAMESPACE")]
    pub(super) legacy_namespace: Option<String>,
    /// How long a Deployment of the Python operator must have been left alone before consumers are taken off it. That
    /// operator applies its Deployments again every 60 s, and later when it is busy.
    #[arg(long, env = "STREAMS_LEGACY_GRACE", value_name = "DURATION", default_value = "90s")]
    pub(super) legacy_grace: String,
    /// Most creates and deletes of Pods at once, over all pipelines.
    #[arg(
        long,
        env = "STREAMS_MAX_POD_WRITES_IN_FLIGHT",
        value_name = "NUMBER",
        default_value = "32"
    )]
    pub(super) max_pod_writes_in_flight: String,
    /// A Prometheus server, or what answers as one does, that analyses may ask by this name, and the file that says how
    /// it is asked; may be given several times. Without it no analysis can measure.
    #[arg(
        long,
        env = "STREAMS_METRICS_SOURCE",
        value_name = "NAME=FILE",
        value_delimiter = ','
    )]
    pub(super) metrics_source: Vec<String>,
    /// Whether a RolloutAnalysis may have a Deployment as target; it then needs rights on Deployments.
    #[arg(long, env = "STREAMS_DEPLOYMENT_TARGETS", value_name = "BOOL", default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(super) deployment_targets: String,
    /// Whether there are metrics for each pipeline, with its name as a label.
    #[arg(long, env = "STREAMS_PIPELINE_METRICS", value_name = "BOOL", default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(super) pipeline_metrics: String,
    /// How long admission is still served after SIGTERM, until no API server sends requests here any more.
    #[arg(long, env = "STREAMS_SHUTDOWN_DELAY", value_name = "DURATION", default_value = "5s")]
    pub(super) shutdown_delay: String,
    /// Form of the log: text or json.
    #[arg(long, env = "STREAMS_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: String,
}
