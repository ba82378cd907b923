//! Whether this release may run pipelines, or another one runs them: watched, for releases come and go. Must never ask the
//! API server while nothing changes.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::core::overlap::{Claim, REMEDY, Watched, in_the_way};

/// This release.
#[derive(Clone, Debug)]
pub(super) struct Release {
    /// The name of its webhook configurations; `None` without admission.
    pub(super) configuration: Option<String>,
    /// Whose pipelines it is to run.
    pub(super) watched: Watched,
}

/// What other releases claim.
#[derive(Debug, Default)]
struct Claims {
    known: BTreeMap<String, Claim>,
    /// Of the list that is coming in.
    listed: BTreeMap<String, Claim>,
    /// Whether a whole list was seen.
    complete: bool,
}

impl Claims {
    fn observe(&mut self, event: Event<ValidatingWebhookConfiguration>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(configuration) => note(&mut self.listed, &configuration),
            Event::InitDone => {
                self.known = std::mem::take(&mut self.listed);
                self.complete = true;
            }
            Event::Apply(configuration) => note(&mut self.known, &configuration),
            Event::Delete(configuration) => {
                self.known.remove(&configuration.name_any());
            }
        }
    }
}

fn note(claims: &mut BTreeMap<String, Claim>, configuration: &ValidatingWebhookConfiguration) {
    let name = configuration.name_any();
    match Claim::of(configuration) {
        Some(claim) => claims.insert(name, claim),
        None => claims.remove(&name),
    };
}

/// Says through `alone` whether no other release runs what `release` is to run, until `stop`. It is false until that is
/// known, and afterwards what was last known while the API server is away.
pub(super) async fn watch(client: Client, release: Release, alone: watch::Sender<bool>, stop: CancellationToken) {
    let api = Api::<ValidatingWebhookConfiguration>::all(client);
    let mut events = std::pin::pin!(watcher(api, Config::default()).default_backoff());
    let mut claims = Claims::default();
    let mut told = String::new();
    while let Some(Some(event)) = stop.run_until_cancelled(events.next()).await {
        match event {
            Ok(event) => claims.observe(event),
            Err(error) => {
                tracing::warn!(%error, "the webhook configurations of other releases cannot be watched; tries again");
                continue;
            }
        }
        if claims.complete {
            let overlaps = in_the_way(release.configuration.as_deref(), &release.watched, &claims.known);
            let words: Vec<String> = overlaps.iter().map(ToString::to_string).collect();
            tell(&words.join("; "), &mut told);
            alone.send_if_modified(|alone| std::mem::replace(alone, overlaps.is_empty()) != overlaps.is_empty());
        }
    }
}

/// Logs what is new.
fn tell(words: &str, told: &mut String) {
    if words == told {
        return;
    }
    if words.is_empty() {
        tracing::info!("no other release runs the pipelines of this one any more; runs them");
    } else {
        tracing::error!("runs no pipelines, and only serves admission: {words}. Do: {REMEDY}");
    }
    words.clone_into(told);
}

/// Follows `leads` and `alone`: `runs` is true while both are, until `stop`.
pub(super) async fn both(
    mut leads: watch::Receiver<bool>,
    mut alone: watch::Receiver<bool>,
    runs: watch::Sender<bool>,
    stop: CancellationToken,
) {
    loop {
        let now = *leads.borrow_and_update() && *alone.borrow_and_update();
        runs.send_if_modified(|runs| std::mem::replace(runs, now) != now);
        let changed = async {
            tokio::select! {
                leads = leads.changed() => leads,
                alone = alone.changed() => alone,
            }
        };
        // An error: the operator ends, and with it every term.
        if !matches!(stop.run_until_cancelled(changed).await, Some(Ok(()))) {
            return;
        }
    }
}
