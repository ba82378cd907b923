//! Checked settings of a run. Must never hold text that is still to be read.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::NAME;
use crate::certs::due::Policy;
use crate::certs::{Mounted, SelfMade, Source};
use crate::controller::legacy::LegacySettings;
use crate::core;
use crate::metrics_sources::SourceSettings;
use crate::telemetry::LogFormat;
use crate::webhook::access::Guarded;

/// What a run is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `None`: admission is not served.
    pub webhook: Option<WebhookSettings>,
    /// Whether pipelines are reconciled.
    pub controller_enabled: bool,
    /// Where probes and metrics are served.
    pub http_addr: SocketAddr,
    /// The operator's own namespace; `None`: that of the kubeconfig or of the Pod.
    pub namespace: Option<String>,
    /// Where all Pods run; `None`: each pipeline's in its own namespace.
    pub workload_namespace: Option<String>,
    /// Whose pipelines are looked after, sorted; empty for all.
    pub watch_namespaces: Vec<String>,
    /// `None`: this replica always leads.
    pub lease: Option<LeaseTimes>,
    /// Graces and back-off of pipelines.
    pub pipelines: core::settings::Settings,
    /// How the Python operator is taken over from.
    pub legacy: LegacySettings,
    /// Most Pod writes at once, 1 to 10,000.
    pub max_pod_writes_in_flight: usize,
    /// The Prometheus servers that analyses may ask.
    pub metrics_sources: Vec<SourceSettings>,
    /// Whether analyses may have Deployments as targets.
    pub deployment_targets: bool,
    /// Whether there are metrics with names of pipelines.
    pub pipeline_metrics: bool,
    /// Form of the log.
    pub log_format: LogFormat,
}

/// Times of the election; retry period < renew deadline < lease duration.
#[derive(Clone, Debug)]
pub struct LeaseTimes {
    /// How long the others wait. Whole seconds.
    pub lease_duration: Duration,
    /// How long the holder goes on without a renewal.
    pub renew_deadline: Duration,
    /// Time between two attempts.
    pub retry_period: Duration,
}

/// How admission is served.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Where.
    pub addr: SocketAddr,
    /// With which certificate.
    pub certificate: Certificate,
    /// Name of the two webhook configurations.
    pub config_name: String,
    /// How long names stay reserved.
    pub reservation_ttl: Duration,
    /// Whether users must be allowed to create Pods in the workload namespace, where there is one.
    pub workload_access_check: bool,
    /// How long it is served on after the operator was told to stop.
    pub shutdown_delay: Duration,
}

/// Where the certificate comes from.
#[derive(Clone, Debug)]
pub enum Certificate {
    /// The operator makes it; without hosts for its Service.
    SelfMade(Policy),
    /// A mounted folder.
    Files(PathBuf),
}

impl Settings {
    /// Whether pipelines of that namespace are looked after.
    pub(super) fn is_watched(&self, namespace: &str) -> bool {
        self.watch_namespaces.is_empty() || self.watch_namespaces.iter().any(|name| name == namespace)
    }

    /// Which rights of users are asked about at admission; `None`: none is.
    pub(super) fn guarded(&self) -> Option<Guarded> {
        let webhook = self.webhook.as_ref()?;
        let workload_namespace = self.workload_namespace.clone();
        let guarded = Guarded {
            workload_namespace: workload_namespace.filter(|_| webhook.workload_access_check),
            deployments: self.deployment_targets,
        };
        (guarded != Guarded::default()).then_some(guarded)
    }
}

impl Certificate {
    /// The source, for the operator in `namespace` whose Pod is `pod`.
    pub(super) fn source(&self, namespace: &str, pod: &str) -> Source {
        match self {
            Self::Files(folder) => Source::Files(Mounted {
                folder: folder.clone(),
                namespace: namespace.to_owned(),
                pod: pod.to_owned(),
            }),
            Self::SelfMade(policy) => {
                let mut policy = policy.clone();
                if policy.hosts.is_empty() {
                    policy.hosts = BTreeSet::from([format!("{NAME}.{namespace}.svc")]);
                }
                Source::SelfMade(SelfMade {
                    namespace: namespace.to_owned(),
                    policy,
                })
            }
        }
    }
}
