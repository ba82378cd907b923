//! The Secret with our CA and serving certificate: every replica serves what it holds, the leader brings it up to date.
//!
//! Must never write without the resourceVersion of what was read (replicas that start together then agree), and never
//! stop serving a good pair because the Secret has gone bad.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::authority::{AuthorityFault, bring_up_to_date};
use super::ca_bundle::Live;
use super::contents::Contents;
use super::due::{Policy, Step, mended};
use super::run::{Bundle, Deps, SaidOnce, SelfMade, changed};
use super::warnings::{Reason, Warnings, renewal_is_late};
use crate::api::meta;
use crate::telemetry::labels::CertificateRole;

/// Name of the Secret.
pub const SECRET_NAME: &str = "streaming-operator-tls";

/// How long one write may take before it is given up and tried again.
const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// Time between two looks at the clock. Looking costs no request, so it may be often; for short lifetimes it must be.
const LOOK_INTERVAL_MAX: Duration = Duration::from_secs(10);
/// A lifetime is divided into at least this many looks.
const LOOKS_PER_LIFETIME: u32 = 30;
/// Lower bound of the time between two looks, for lifetimes of seconds.
const LOOK_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Why the Secret could not be written.
#[derive(Debug, thiserror::Error)]
enum WriteFault {
    #[error(transparent)]
    Authority(#[from] AuthorityFault),
    #[error("{0}")]
    Api(#[from] kube::Error),
    #[error("no answer within {WRITE_LIMIT:?}")]
    NoAnswer,
}

/// What is known of the Secret.
#[derive(Default)]
struct Keeper {
    /// Whether a whole list was seen.
    synced: bool,
    secret: Option<Secret>,
    /// The list that is coming in held the Secret.
    listed: bool,
    found: Contents,
    /// The last whole contents seen.
    remembered: Option<Contents>,
}

/// Serves what the Secret holds, publishes its bundle, and while this replica leads keeps the Secret up to date.
///
/// `live` says which authorities every webhook configuration trusts: the next one does not sign before it is there.
pub(super) async fn keep(
    settings: &SelfMade,
    deps: &Deps,
    publish: watch::Sender<Bundle>,
    live: watch::Receiver<Live>,
) {
    let api: Api<Secret> = Api::namespaced(deps.client.clone(), &settings.namespace);
    let only_ours = watcher::Config::default().fields(&format!("metadata.name={SECRET_NAME}"));
    let mut events = std::pin::pin!(watcher(api, only_ours).default_backoff());
    let lifetime = settings
        .policy
        .leaf_lifetime
        .min(settings.policy.ca_overlap.max(Duration::from_secs(1)));
    let mut look = interval((lifetime / LOOKS_PER_LIFETIME).clamp(LOOK_INTERVAL_MIN, LOOK_INTERVAL_MAX));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_leader = deps.is_leader.clone();
    let (mut keeper, mut watch_fault, mut write_said) = (Keeper::default(), SaidOnce::default(), SaidOnce::default());
    let mut warnings = Warnings::about("Secret", &settings.namespace, SECRET_NAME, deps);
    // What the last attempt to write met; `None` when it succeeded or none was made.
    let mut write_fault: Option<String> = None;
    loop {
        tokio::select! {
            Some(event) = events.next() => match event {
                Ok(event) => {
                    watch_fault.clear();
                    keeper.observe(event, deps, &publish);
                }
                Err(error) => {
                    watch_fault.warn(format!(
                        "Secret {}/{SECRET_NAME} cannot be watched: {error}; serving what is in hand and trying again",
                        settings.namespace
                    ));
                    continue;
                }
            },
            () = changed(&mut is_leader) => {}
            _ = look.tick() => {}
        }
        let leads = *is_leader.borrow_and_update();
        if keeper.may_write(leads) {
            let client = if leads { &deps.as_leader } else { &deps.client };
            let writes = Api::namespaced(client.clone(), &settings.namespace);
            let live = live.borrow().clone();
            write_fault = match keeper.update(&writes, settings, &live, deps, &publish).await {
                Ok(()) => None,
                Err(fault) => Some(fault.to_string()),
            };
            match &write_fault {
                None => write_said.clear(),
                Some(fault) => write_said.warn(format!(
                    "Secret {}/{SECRET_NAME} cannot be brought up to date: {fault}; serving what is in hand and trying \
                     again",
                    settings.namespace
                )),
            }
        }
        let late = keeper.late(leads, write_fault.as_deref());
        warnings.tell(Reason::Expiring, late).await;
    }
}

impl Keeper {
    fn observe(&mut self, event: Event<Secret>, deps: &Deps, publish: &watch::Sender<Bundle>) {
        match event {
            Event::Init => self.listed = false,
            Event::InitApply(secret) => {
                self.listed = true;
                self.adopt(Some(secret), deps, publish);
            }
            Event::InitDone => {
                if !self.listed {
                    self.adopt(None, deps, publish);
                }
                self.synced = true;
            }
            Event::Apply(secret) => self.adopt(Some(secret), deps, publish),
            Event::Delete(_) => self.adopt(None, deps, publish),
        }
    }

    /// Takes in what the Secret holds now; serves and publishes it if it is whole.
    fn adopt(&mut self, secret: Option<Secret>, deps: &Deps, publish: &watch::Sender<Bundle>) {
        let now = Timestamp::now();
        let found = match secret.as_ref().and_then(|secret| secret.data.as_ref()) {
            Some(data) => Contents::parse(data),
            None => Contents::default(),
        };
        for fault in &found.faults {
            tracing::warn!("Secret {SECRET_NAME} is damaged: {fault}; the leader repairs it");
        }
        if let Some(leaf) = found.usable_leaf(now) {
            deps.serve(leaf);
        }
        if found.is_whole(now) {
            if let Some(signing) = &found.signing {
                let expiry = signing.certificate().not_after.as_second();
                deps.metrics.certificate_expiry(CertificateRole::Ca, expiry);
            }
            publish.send_replace(Some(Arc::new(found.bundle_pem())));
            self.remembered = Some(found.clone());
        }
        self.found = found;
        self.secret = secret;
    }

    /// What there is to say of a renewal that should have been made. A leader that has just tried knows why not.
    fn late(&self, leads: bool, fault: Option<&str>) -> Option<String> {
        let leaf = self.remembered.as_ref()?.leaf.as_ref()?;
        let why = if leads {
            fault?
        } else {
            "no replica that leads has done it"
        };
        renewal_is_late(leaf.certificate(), Timestamp::now(), why)
    }

    /// Renewing is for the leader. Only the very first Secret may be made by anyone, for without it nobody is ready.
    fn may_write(&self, leads: bool) -> bool {
        let first = self.secret.is_none() && self.remembered.is_none();
        self.synced && (leads || first)
    }

    async fn update(
        &mut self,
        api: &Api<Secret>,
        settings: &SelfMade,
        live: &Live,
        deps: &Deps,
        publish: &watch::Sender<Bundle>,
    ) -> Result<(), WriteFault> {
        let now = Timestamp::now();
        let base = mended(&self.found, self.remembered.as_ref(), now);
        let restored = base != self.found;
        let policy = held_back(&settings.policy, &base, live);
        let (wanted, steps) = bring_up_to_date(base, now, &policy)?;
        if wanted == self.found {
            return Ok(());
        }
        let written = timeout(WRITE_LIMIT, self.write(api, &settings.namespace, &wanted)).await;
        match written.map_err(|_| WriteFault::NoAnswer)? {
            Ok(secret) => {
                say(&settings.namespace, restored, &steps);
                self.adopt(Some(secret), deps, publish);
                Ok(())
            }
            // Another replica was faster; the watch brings what it wrote.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn write(&self, api: &Api<Secret>, namespace: &str, wanted: &Contents) -> Result<Secret, kube::Error> {
        let params = PostParams {
            field_manager: Some(meta::FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let data = Some(wanted.to_data());
        if let Some(secret) = &self.secret {
            let mut secret = Secret { data, ..secret.clone() };
            secret.metadata.managed_fields = None;
            return api.replace(SECRET_NAME, &params, &secret).await;
        }
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(SECRET_NAME.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            data,
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        };
        api.create(&params, &secret).await
    }
}

/// The policy as it is, but that the next authority waits for as long as a webhook configuration does not trust it: what
/// it signed would be refused there. Only the end of the one that signs ends that wait.
fn held_back(policy: &Policy, contents: &Contents, live: &Live) -> Policy {
    let mut policy = policy.clone();
    match &contents.next {
        Some(next) if live.iter().any(|trusted| **trusted == *next.certificate().der) => {}
        Some(_) => policy.ca_overlap = Duration::MAX,
        // One that is made only now is looked at again when somebody may have seen it.
        None => policy.ca_overlap = policy.ca_overlap.max(Duration::from_secs(1)),
    }
    policy
}

fn say(namespace: &str, restored: bool, steps: &[Step]) {
    if restored {
        tracing::warn!("Secret {namespace}/{SECRET_NAME}: put back as it was, for it was deleted or damaged");
    }
    for step in steps {
        tracing::info!("Secret {namespace}/{SECRET_NAME}: {step}");
    }
}
