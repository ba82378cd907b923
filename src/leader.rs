//! Which replica reconciles: the holder of a Lease, by the rules of client-go's `leaderelection` package.
//!
//! - A follower judges whether the lease has run out by its own monotonic clock since the record last changed, never by
//!   the time stamps in it, which are another machine's.
//! - A leader that could not renew within the renew deadline, counted from when its last successful request was
//!   *sent*, leads no longer. The deadline is shorter than the lease, so it is off before a follower can be on.
//! - Every write is a PUT with the resourceVersion of what was read, so of two that try one succeeds.
//!
//! No jitter: a handful of replicas ask every few seconds, and two at once are told apart by the resourceVersion.
//! Must never start a write itself but for the Lease, and never say "leads" longer than the deadline allows.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::client::in_words;
use crate::telemetry::Metrics;

/// How a lease is held and taken over. The caller has checked retry period < renew deadline < lease duration.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// Who we are: unique among the replicas, and never used again by another process.
    pub identity: String,
    /// How long followers wait after the last change of the record. Whole seconds.
    pub lease_duration: Duration,
    /// How long after its last successful write a leader still leads.
    pub renew_deadline: Duration,
    /// Time between two attempts.
    pub retry_period: Duration,
}

/// Until when this process may write. Clones share the deadline.
#[derive(Clone, Debug)]
pub struct WriteGate(Arc<Mutex<Deadline>>);

#[derive(Clone, Copy, Debug)]
enum Deadline {
    Closed,
    At(Instant),
    Never,
}

impl WriteGate {
    /// A gate that is shut until an election opens it.
    #[must_use]
    pub fn closed() -> Self {
        Self(Arc::new(Mutex::new(Deadline::Closed)))
    }

    /// A gate that is always open: for an operator that runs without an election.
    #[must_use]
    pub fn always_open() -> Self {
        Self(Arc::new(Mutex::new(Deadline::Never)))
    }

    /// Whether a write may be started now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Deadline::Closed => false,
            Deadline::At(deadline) => Instant::now() < deadline,
            Deadline::Never => true,
        }
    }

    /// Opens it until `deadline`, whatever was said before.
    pub fn open_until(&self, deadline: Instant) {
        self.set(Deadline::At(deadline));
    }

    fn set(&self, deadline: Deadline) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }
}

/// Takes part in the election until `stop`, then gives the lease up if it is held.
///
/// `leads` says whether this replica leads; `gate` is open exactly while it may write. The client must not retry by
/// itself: a retry that outlives the deadline would be a write of a leader that is none.
pub async fn run(
    client: Client,
    settings: LeaseSettings,
    gate: WriteGate,
    leads: watch::Sender<bool>,
    metrics: Metrics,
    stop: CancellationToken,
) {
    let mut candidate = Candidate {
        api: Api::namespaced(client, &settings.namespace),
        settings,
        observed: None,
        unanswered: false,
        last_fault: None,
    };
    metrics.leader(false);
    while !stop.is_cancelled() {
        let Some(acquired) = until(&stop, candidate.acquire()).await else {
            break;
        };
        tracing::info!(lease = %candidate.settings.name, identity = %candidate.settings.identity, "leads");
        gate.open_until(acquired + candidate.settings.renew_deadline);
        metrics.leader(true);
        leads.send_replace(true);
        let lost = until(&stop, candidate.hold(acquired, &gate)).await;
        if lost.is_some() {
            gate.set(Deadline::Closed);
            leads.send_replace(false);
            metrics.leader(false);
            tracing::warn!(lease = %candidate.settings.name, "lost the lease; stops writing and stands by");
        }
    }
    gate.set(Deadline::Closed);
    if leads.send_replace(false) {
        metrics.leader(false);
        candidate.release().await;
    } else if candidate.unanswered {
        // It may have become ours by a request that nobody waited for.
        candidate.release_if_ours().await;
    }
}

/// What `work` gives, or nothing when `stop` comes first.
async fn until<T>(stop: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        done = work => Some(done),
    }
}

struct Candidate {
    api: Api<Lease>,
    settings: LeaseSettings,
    /// The Lease as last read or written, and when its spec was first seen like that.
    observed: Option<(Lease, Instant)>,
    /// Whether the last attempt was sent and got no answer, so that it may have been carried out.
    unanswered: bool,
    /// The last fault that was logged, so that an outage is one line and not one every retry period.
    last_fault: Option<String>,
}

impl Candidate {
    /// Tries until the lease is ours; gives when the request that made it so was sent.
    async fn acquire(&mut self) -> Instant {
        loop {
            let sent = Instant::now();
            if self.attempt(self.settings.renew_deadline).await {
                return sent;
            }
            sleep_until(self.next_attempt()).await;
        }
    }

    /// When to try again: a retry period from now, or as soon as the lease runs out if nobody renews it. So a lease
    /// whose holder died is not left lying for the rest of a period.
    fn next_attempt(&self) -> Instant {
        let now = Instant::now();
        let retry = now + self.settings.retry_period;
        match self.runs_out() {
            Some(runs_out) if runs_out > now => runs_out.min(retry),
            _ => retry,
        }
    }

    /// Renews until the lease is lost. `renewed` is when the last successful request was sent.
    async fn hold(&mut self, mut renewed: Instant, gate: &WriteGate) {
        loop {
            let deadline = renewed + self.settings.renew_deadline;
            let next = (Instant::now() + self.settings.retry_period).min(deadline);
            sleep_until(next).await;
            let sent = Instant::now();
            if sent >= deadline {
                return;
            }
            if self.attempt(deadline - sent).await {
                renewed = sent;
                gate.open_until(renewed + self.settings.renew_deadline);
            } else if self.held_by_another() {
                return;
            }
        }
    }

    /// One attempt to acquire or renew, within `limit`. False when it failed or the lease is another's.
    async fn attempt(&mut self, limit: Duration) -> bool {
        self.unanswered = true;
        match timeout(limit, self.try_acquire_or_renew()).await {
            Ok(Ok(ours)) => {
                self.unanswered = false;
                self.last_fault = None;
                ours
            }
            Ok(Err(error)) => {
                self.unanswered = !matches!(error, kube::Error::Api(_));
                self.fault(in_words(&error));
                false
            }
            Err(_elapsed) => {
                self.fault("no answer in time".to_owned());
                false
            }
        }
    }

    fn fault(&mut self, fault: String) {
        if self.last_fault.as_ref() != Some(&fault) {
            tracing::warn!(lease = %self.settings.name, %fault, "cannot acquire or renew the lease; tries again");
            self.last_fault = Some(fault);
        }
    }

    /// As client-go's `tryAcquireOrRenew`: the holder renews from what it wrote last; everyone else reads first.
    async fn try_acquire_or_renew(&mut self) -> Result<bool, kube::Error> {
        if let Some((lease, _)) = self.observed.clone()
            && self.is_ours(&lease)
        {
            match self.write(Some(&lease)).await {
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {}
                other => return other.map(|()| true),
            }
        }
        let Some(lease) = self.api.get_opt(&self.settings.name).await? else {
            return match self.write(None).await {
                // Another replica was faster.
                Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(false),
                other => other.map(|()| true),
            };
        };
        self.observe(lease.clone());
        if !self.is_ours(&lease) && !self.has_run_out() {
            return Ok(false);
        }
        match self.write(Some(&lease)).await {
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Notes what was read; the clock starts anew only when the record changed.
    fn observe(&mut self, lease: Lease) {
        let since = match &self.observed {
            Some((known, since)) if known.spec == lease.spec => *since,
            _ => Instant::now(),
        };
        self.observed = Some((lease, since));
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        holder(lease) == Some(self.settings.identity.as_str())
    }

    fn held_by_another(&self) -> bool {
        let lease = self.observed.as_ref().map(|(lease, _)| lease);
        lease.is_some_and(|lease| holder(lease).is_some_and(|holder| holder != self.settings.identity))
    }

    /// Whether nobody holds the observed lease, or its duration has passed since its record last changed.
    fn has_run_out(&self) -> bool {
        let is_free = self.observed.as_ref().is_some_and(|(lease, _)| holder(lease).is_none());
        is_free || self.runs_out().is_some_and(|runs_out| runs_out <= Instant::now())
    }

    /// When the duration of the observed lease has passed since its record last changed.
    fn runs_out(&self) -> Option<Instant> {
        let (lease, since) = self.observed.as_ref()?;
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Some(*since + seconds.map_or(self.settings.lease_duration, Duration::from_secs))
    }

    /// Writes the lease as ours over `known`, or creates it.
    async fn write(&mut self, known: Option<&Lease>) -> Result<(), kube::Error> {
        let now = MicroTime(Timestamp::now());
        let before = known.and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let renewal = known.is_some_and(|lease| self.is_ours(lease));
        let transitions = before.lease_transitions.unwrap_or_default();
        let spec = LeaseSpec {
            holder_identity: Some(self.settings.identity.clone()),
            lease_duration_seconds: Some(whole_seconds(self.settings.lease_duration)),
            acquire_time: if renewal {
                before.acquire_time
            } else {
                Some(now.clone())
            },
            renew_time: Some(now),
            lease_transitions: Some(if renewal || known.is_none() {
                transitions
            } else {
                transitions + 1
            }),
            ..LeaseSpec::default()
        };
        let written = self.put(known, spec).await?;
        self.observed = Some((written, Instant::now()));
        Ok(())
    }

    async fn put(&self, known: Option<&Lease>, spec: LeaseSpec) -> Result<Lease, kube::Error> {
        let params = PostParams::default();
        if let Some(known) = known {
            let lease = Lease {
                metadata: known.metadata.clone(),
                spec: Some(spec),
            };
            self.api.replace(&known.name_any(), &params, &lease).await
        } else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.settings.name.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(spec),
            };
            self.api.create(&params, &lease).await
        }
    }

    /// Gives the lease up, as client-go does: nobody holds it, for one second. A fault costs the next leader the wait
    /// for the lease to run out, and nothing else.
    async fn release(&mut self) {
        let Some((lease, _)) = self.observed.clone().filter(|(lease, _)| self.is_ours(lease)) else {
            return;
        };
        self.tell_release(self.free(&lease)).await;
    }

    /// Gives the lease up if the API server says that it is ours.
    async fn release_if_ours(&mut self) {
        self.tell_release(self.free_if_ours()).await;
    }

    async fn tell_release(&self, release: impl Future<Output = Result<bool, kube::Error>>) {
        match timeout(self.settings.retry_period, release).await {
            Ok(Ok(true)) => tracing::info!(lease = %self.settings.name, "gave the lease up"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                tracing::warn!(lease = %self.settings.name, error = in_words(&error), "could not give the lease up; it runs out");
            }
            Err(_) => tracing::warn!(lease = %self.settings.name, "could not give the lease up in time; it runs out"),
        }
    }

    /// Writes that nobody holds the lease; false if it is another's. A conflict is most likely with a renewal of our own
    /// that was on its way when it was to stop: the lease is read once more, and left alone if it is another's by now.
    async fn free(&self, lease: &Lease) -> Result<bool, kube::Error> {
        match self.put(Some(lease), freed(lease)).await {
            Err(kube::Error::Api(status)) if status.is_conflict() => self.free_if_ours().await,
            other => other.map(|_| true),
        }
    }

    async fn free_if_ours(&self) -> Result<bool, kube::Error> {
        match self.api.get_opt(&self.settings.name).await? {
            Some(lease) if self.is_ours(&lease) => self.put(Some(&lease), freed(&lease)).await.map(|_| true),
            _ => Ok(false),
        }
    }
}

/// The lease as nobody's.
fn freed(lease: &Lease) -> LeaseSpec {
    let now = MicroTime(Timestamp::now());
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        lease_transitions: lease.spec.as_ref().and_then(|spec| spec.lease_transitions),
        ..LeaseSpec::default()
    }
}

fn holder(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref()?.holder_identity.as_deref()?;
    (!holder.is_empty()).then_some(holder)
}

fn whole_seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)
}
