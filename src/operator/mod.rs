//! The composition root: makes the parts of the operator, connects them, and ends them in order.
//!
//! Every replica serves admission and keeps its caches warm; the holder of the lease reconciles, renews certificates and
//! keeps `caBundle`. Must never hold a rule of the product: it only decides what runs when.

pub mod crds;
pub mod fault;
mod machine;
mod overlap;
mod parts;
pub mod rights;
mod settings;
mod signals;
mod start;
mod term;

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::runtime::events::{Recorder, Reporter};
use kube::{Client, Config};
use rustls::server::ResolvesServerCert;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::analyses::{AnalysisContext, AskSources};
use crate::api::meta::EVENT_REPORTER;
use crate::caches::{Analyses, Pipelines, Triggers};
use crate::certs::{self, ServingCertificate};
use crate::client;
use crate::controller::{self, Clock, Context, World};
use crate::core::overlap::Watched;
use crate::leader::{self, LeaseSettings, WriteGate};
use crate::metrics_sources::Sources;
use crate::server::{self, Limits, Need, Readiness, Transport, WorkLimits, probes, tls};
use crate::telemetry::Metrics;
use crate::webhook::authorizer::{Authorizer, Times};
use crate::webhook::{self, Names};

use machine::{bind, hostname, identity, limits};
use parts::{Admission, Parts, Task};
pub use settings::{Certificate, LeaseTimes, Settings, WebhookSettings};
use signals::Signals;

/// Name of the Lease, and of the Service without `--tls-host`.
pub const NAME: &str = "streaming-operator";

/// How a run ended.
#[derive(Debug)]
pub enum Ending {
    /// Told to stop, and all is stopped.
    Stopped,
    /// Something that it was told to use cannot be used: a port, a kubeconfig.
    Unusable(String),
    /// The API server lacks the CRD or refuses rights; each with what to do.
    Refused(Vec<String>),
    /// The lease was lost and the work could not be stopped before another replica may take over.
    LostLease,
    /// Told to stop at once.
    SecondSignal,
}

/// Runs until told to stop.
pub async fn run(settings: Settings) -> Ending {
    // The client takes its cryptography from the process. An error means that it is set already.
    let _set_already = rustls::crypto::ring::default_provider().install_default();
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => return Ending::Unusable(format!("cannot listen for signals: {error}")),
    };
    let told = CancellationToken::new();
    let operator = async {
        match Operator::new(settings).await {
            Ok(operator) => operator.run(told.clone()).await,
            Err(ending) => ending,
        }
    };
    let mut operator = std::pin::pin!(operator);
    tokio::select! {
        ending = &mut operator => return ending,
        name = signals.next() => tracing::info!("{name}: stops"),
    }
    told.cancel();
    tokio::select! {
        ending = operator => ending,
        _ = signals.next() => Ending::SecondSignal,
    }
}

/// The parts that exist before the API server is asked for anything.
struct Operator {
    settings: Settings,
    metrics: Metrics,
    readiness: Readiness,
    config: Config,
    namespace: String,
    probes: Task,
    /// Where admission is served, and what bounds its connections.
    webhook_listener: Option<(TcpListener, Limits)>,
}

impl Operator {
    async fn new(settings: Settings) -> Result<Self, Ending> {
        let version = env!("CARGO_PKG_VERSION");
        let commit = env!("STREAMING_OPERATOR_COMMIT");
        tracing::info!(version, commit, "starts");
        let metrics = Metrics::new(version, commit, settings.pipeline_metrics);
        let needs: &[Need] = match &settings.webhook {
            Some(_) => &[Need::Crds, Need::CachesSynced, Need::Certificate, Need::Running],
            None => &[Need::Crds, Need::CachesSynced, Need::Running],
        };
        let readiness = Readiness::new(needs);
        let http = bind("--http-addr", settings.http_addr).await?;
        let webhook_listener = match &settings.webhook {
            Some(webhook) => Some((bind("--webhook-addr", webhook.addr).await?, limits(webhook)?)),
            None => None,
        };
        let config = Config::infer().await;
        let config = config.map_err(|error| Ending::Unusable(format!("no way to the API server is known: {error}")))?;
        let routes = probes::router(readiness.clone(), metrics.clone());
        let probes = Task::spawn(|stop| server::serve(http, Transport::Plain, routes, Limits::probes(), stop));
        Ok(Self {
            namespace: settings
                .namespace
                .clone()
                .unwrap_or_else(|| config.default_namespace.clone()),
            settings,
            metrics,
            readiness,
            config,
            probes,
            webhook_listener,
        })
    }

    async fn run(mut self, told: CancellationToken) -> Ending {
        let gate = match self.settings.lease {
            Some(_) => WriteGate::closed(),
            None => WriteGate::always_open(),
        };
        let clients = client::counted(&self.config, &self.metrics)
            .and_then(|reads| Ok((reads, client::gated(&self.config, &self.metrics, &gate)?)));
        let (reads, writes) = match clients {
            Ok(clients) => clients,
            Err(error) => return Ending::Unusable(format!("the way to the API server cannot be used: {error}")),
        };
        let rights = rights::Rights::of(&self.settings, &self.namespace);
        let checked = start::check(&reads, &rights, &self.readiness);
        match told.run_until_cancelled(checked).await {
            None => return Ending::Stopped,
            Some(Err(faults)) => return Ending::Refused(faults),
            Some(Ok(())) => {}
        }
        self.readiness.met(Need::Running);
        let parts = match self.start(&reads, &writes, gate) {
            Ok(parts) => parts,
            Err(ending) => return ending,
        };
        let ending = tokio::select! {
            () = told.cancelled() => Ending::Stopped,
            () = term::cannot_stop(parts.leads.clone(), parts.passes.clone(), self.time_to_stop()) => Ending::LostLease,
        };
        if matches!(ending, Ending::Stopped) {
            self.readiness.not_met(Need::Running, "told to stop");
            parts.end().await;
            self.probes.end().await;
        }
        ending
    }

    /// How long after the end of a term another replica may begin one.
    fn time_to_stop(&self) -> Duration {
        let times = self.settings.lease.as_ref();
        times.map_or(Duration::MAX, |times| {
            times.lease_duration.saturating_sub(times.renew_deadline)
        })
    }

    /// Starts everything that needs the API server.
    fn start(&mut self, reads: &Client, writes: &Client, gate: WriteGate) -> Result<Parts, Ending> {
        let (leads_sender, leads) = watch::channel(self.settings.lease.is_none());
        let election = self.election(reads, gate, leads_sender);
        let triggers = Triggers::new(self.metrics.clone());
        let reservation_ttl = self.settings.webhook.as_ref().map(|webhook| webhook.reservation_ttl);
        let workload_namespace = self.settings.workload_namespace.as_deref();
        let names = Arc::new(Names::new(
            workload_namespace.map(str::to_owned),
            reservation_ttl.unwrap_or_default(),
        ));
        let analyses = Analyses::new(&self.settings.watch_namespaces, triggers.clone());
        let (observed, targets) = (Arc::clone(&names), analyses.clone());
        let pipelines = Pipelines::new(
            &self.settings.watch_namespaces,
            workload_namespace,
            triggers.clone(),
            move |event| {
                observed.observe(event);
                targets.saw_pipeline(event);
            },
        );
        let mut watches = vec![Task::spawn(|stop| pipelines.clone().run(reads.clone(), stop))];
        let mut synced = vec![pipelines.synced()];
        let (passes_sender, passes) = watch::channel(false);
        let sources = Sources::new(self.settings.metrics_sources.clone(), self.metrics.clone());
        let sources = sources.map_err(|faults| Ending::Unusable(faults.join("; ")))?;
        let terms = self.settings.controller_enabled.then(|| {
            let namespaces = &self.settings.watch_namespaces;
            let world = World::new(pipelines.clone(), triggers.clone(), namespaces, workload_namespace);
            let world = Arc::new(world.with_takeover(self.settings.legacy.takeover));
            synced.push(world.synced());
            watches.push(Task::spawn(|stop| {
                controller::watch(reads.clone(), Arc::clone(&world), stop)
            }));
            synced.push(analyses.synced());
            watches.push(Task::spawn(|stop| analyses.clone().run(reads.clone(), stop)));
            let runs = self.runs(reads, leads.clone(), &mut watches);
            let context = Arc::new(self.context(writes, pipelines, analyses, world, triggers));
            let sources = AskSources::of(sources);
            let context = Arc::new(AnalysisContext::new(context, sources, self.settings.deployment_targets));
            Task::spawn(|stop| term::terms(context, runs, passes_sender, stop))
        });
        let admission = self.admission(reads, writes, &leads, names)?;
        watches.push(self.tell_readiness(synced));
        Ok(Parts {
            leads,
            passes,
            election,
            watches,
            terms,
            admission,
        })
    }

    fn election(&self, client: &Client, gate: WriteGate, leads: watch::Sender<bool>) -> Task {
        let Some(times) = &self.settings.lease else {
            self.metrics.leader(true);
            // Keeps the sender, so that nobody takes its end for news.
            return Task::spawn(|stop| async move {
                stop.cancelled().await;
                drop(leads);
            });
        };
        let settings = LeaseSettings {
            namespace: self.namespace.clone(),
            name: NAME.to_owned(),
            identity: identity(),
            lease_duration: times.lease_duration,
            renew_deadline: times.renew_deadline,
            retry_period: times.retry_period,
        };
        let (client, metrics) = (client.clone(), self.metrics.clone());
        Task::spawn(|stop| leader::run(client, settings, gate, leads, metrics, stop))
    }

    /// Whether this replica runs pipelines: while it leads, and no other release runs those of this one.
    fn runs(&self, client: &Client, leads: watch::Receiver<bool>, watches: &mut Vec<Task>) -> watch::Receiver<bool> {
        let release = overlap::Release {
            configuration: self
                .settings
                .webhook
                .as_ref()
                .map(|webhook| webhook.config_name.clone()),
            watched: Watched::of(&self.settings.watch_namespaces),
        };
        let (alone_sender, alone) = watch::channel(false);
        let (runs_sender, runs) = watch::channel(false);
        let client = client.clone();
        watches.push(Task::spawn(|stop| overlap::watch(client, release, alone_sender, stop)));
        watches.push(Task::spawn(|stop| overlap::both(leads, alone, runs_sender, stop)));
        runs
    }

    fn context(
        &self,
        client: &Client,
        pipelines: Pipelines,
        analyses: Analyses,
        world: Arc<World>,
        triggers: Triggers,
    ) -> Context {
        let reporter = Reporter {
            controller: EVENT_REPORTER.to_owned(),
            instance: Some(hostname()),
        };
        Context {
            client: client.clone(),
            pipelines,
            analyses,
            world,
            triggers,
            settings: self.settings.pipelines,
            clock: Clock::wall(),
            metrics: self.metrics.clone(),
            recorder: Recorder::new(client.clone(), reporter),
            pod_writes: Semaphore::new(self.settings.max_pod_writes_in_flight),
            namespaces: controller::namespaces::Namespaces::default(),
            legacy: self.settings.legacy.clone(),
            legacy_rights: controller::legacy::LegacyRights::default(),
            stored_revisions: Mutex::new(HashMap::new()),
        }
    }

    /// Admission and its certificate, if it is served.
    fn admission(
        &mut self,
        reads: &Client,
        writes: &Client,
        leads: &watch::Receiver<bool>,
        names: Arc<Names>,
    ) -> Result<Option<Admission>, Ending> {
        let Some((settings, (listener, limits))) = self.settings.webhook.as_ref().zip(self.webhook_listener.take())
        else {
            return Ok(None);
        };
        let served = Arc::new(ServingCertificate::default());
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<ServingCertificate>::clone(&served);
        let tls =
            tls::server_config(resolver).map_err(|error| Ending::Unusable(format!("TLS cannot be used: {error}")))?;
        let deps = certs::Deps {
            client: reads.clone(),
            as_leader: writes.clone(),
            served,
            readiness: self.readiness.clone(),
            metrics: self.metrics.clone(),
            is_leader: leads.clone(),
        };
        let certificates = certs::Settings {
            source: settings.certificate.source(&self.namespace, &hostname()),
            webhook_config_name: settings.config_name.clone(),
        };
        // A follower serves admission too, so this client has no gate.
        let authorizer = self
            .settings
            .guarded()
            .map(|guarded| Arc::new(Authorizer::new(reads.clone(), guarded, Times::default())));
        let sources = self.settings.metrics_sources.iter();
        let sources = sources.map(|source| source.name.clone()).collect();
        let routes = webhook::router(webhook::Deps {
            names,
            authorizer,
            metrics_sources: Arc::new(sources),
            metrics: self.metrics.clone(),
            limits: WorkLimits::default(),
        });
        let transport = Transport::Tls(TlsAcceptor::from(Arc::new(tls)));
        Ok(Some(Admission {
            certificates: Task::spawn(|stop| certs::run(certificates, deps, stop)),
            server: Task::spawn(|stop| server::serve(listener, transport, routes, limits, stop)),
        }))
    }

    /// Says when all caches are complete. They stay so: a watch that breaks leaves what is known.
    fn tell_readiness(&self, synced: Vec<watch::Receiver<bool>>) -> Task {
        let readiness = self.readiness.clone();
        Task::spawn(|stop| async move {
            let all = async {
                for mut synced in synced {
                    if synced.wait_for(|synced| *synced).await.is_err() {
                        pending::<()>().await;
                    }
                }
                readiness.met(Need::CachesSynced);
            };
            stop.run_until_cancelled(all).await;
        })
    }
}
