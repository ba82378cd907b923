//! `caBundle` of our two webhook configurations, and whether it trusts what we serve.
//!
//! Must never touch another field of the configurations, name an entry that is not there (the API server would refuse
//! the whole patch), or create a configuration.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::select;
use futures::{Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::pair::Certificate;
use super::run::{Bundle, Deps, SaidOnce, changed};
use super::trust::{self, Distrust};
use crate::client::in_words;
use crate::server::Need;

mod patch;

use patch::patch;

/// Time between two looks when nothing changes: failed writes are tried again, and certificates expire without an event.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// Least time between two writes to one configuration, should somebody strip the bundle as often as we put it back.
const WRITE_INTERVAL_MIN: Duration = Duration::from_secs(1);
/// Times in a row that somebody may put another bundle in place of ours, each soon after it was written, before it is no
/// accident (a re-apply of a manifest) but a fight.
const UNDONE_MAX: u32 = 3;
/// How soon after a write counts as soon.
const UNDONE_WITHIN: Duration = Duration::from_secs(60);
/// How long one write may take before it is given up and tried again.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// Which of the two configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mutating,
    Validating,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Mutating, Self::Validating];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Mutating => "MutatingWebhookConfiguration",
            Self::Validating => "ValidatingWebhookConfiguration",
        }
    }
}

/// What is known of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// No whole list was seen yet, and why.
    Unknown(String),
    /// It does not exist.
    Absent,
    /// It exists.
    Present { uid: String, entries: Vec<Entry> },
}

impl Default for Seen {
    fn default() -> Self {
        Self::Unknown("has not been read yet".to_owned())
    }
}

/// One webhook of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    /// The name that the API server checks our certificate for.
    host: String,
    ca_bundle: Vec<u8>,
}

impl Entry {
    fn new(name: &str, client: &WebhookClientConfig) -> Self {
        let service = client
            .service
            .as_ref()
            .map(|service| format!("{}.{}.svc", service.name, service.namespace));
        let url = || {
            let uri: Option<http::Uri> = client.url.as_deref().and_then(|url| url.parse().ok());
            let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default();
            host.trim_matches(['[', ']']).to_owned()
        };
        Self {
            name: name.to_owned(),
            host: service.unwrap_or_else(url),
            ca_bundle: client
                .ca_bundle
                .as_ref()
                .map(|bundle| bundle.0.clone())
                .unwrap_or_default(),
        }
    }
}

/// The authorities that every entry of both configurations trusts, DER.
pub(super) type Live = Vec<Vec<u8>>;

/// What was written to one configuration.
#[derive(Debug, Default)]
struct Writes {
    /// When which bundle was last sent.
    last: Option<(Instant, Arc<Vec<u8>>)>,
    /// How often in a row a written bundle was replaced again within [`UNDONE_WITHIN`].
    undone: u32,
}

impl Writes {
    /// Counts that `bundle` has to be written again: whether it is the same as last time, again and again, so that
    /// somebody undoes it.
    fn is_fought_over(&mut self, bundle: &[u8], now: Instant) -> bool {
        let soon = |(at, written): &(Instant, Arc<Vec<u8>>)| now - *at < UNDONE_WITHIN && ***written == *bundle;
        let undone = self.last.as_ref().is_some_and(soon);
        self.undone = if undone { self.undone.saturating_add(1) } else { 0 };
        self.undone >= UNDONE_MAX
    }
}

/// One configuration and what was done to it.
#[derive(Debug, Default)]
struct Known {
    seen: Seen,
    writes: Writes,
    fight: SaidOnce,
    write_fault: SaidOnce,
    watch_fault: SaidOnce,
}

impl Known {
    fn observe(&mut self, kind: Kind, name: &str, seen: Result<Seen, watcher::Error>) {
        match (seen, &self.seen) {
            (Ok(seen), _) => {
                self.watch_fault.clear();
                self.seen = seen;
            }
            (Err(error), known) => {
                let why = format!("cannot be watched: {error}");
                self.watch_fault
                    .warn(format!("{} {name} {why}; trying again", kind.as_str()));
                // What was seen before holds until something else is seen.
                if matches!(known, Seen::Unknown(_)) {
                    self.seen = Seen::Unknown(why);
                }
            }
        }
    }
}

/// Puts the published bundle into every entry of the configurations called `name` while this replica leads; says in the
/// readiness whether they trust what is served, and in `live` which authorities all of them trust.
pub(super) async fn uphold(name: &str, deps: &Deps, mut bundle: watch::Receiver<Bundle>, live: watch::Sender<Live>) {
    let mut changes = std::pin::pin!(changes(&deps.client, name));
    let mut look = interval(LOOK_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_leader = deps.is_leader.clone();
    let (mut mutating, mut validating) = (Known::default(), Known::default());
    // When a write that came too soon after the one before may be made.
    let mut again: Option<Instant> = None;
    loop {
        tokio::select! {
            Some((kind, seen)) = changes.next() => match kind {
                Kind::Mutating => mutating.observe(kind, name, seen),
                Kind::Validating => validating.observe(kind, name, seen),
            },
            () = changed(&mut bundle) => {}
            () = changed(&mut is_leader) => {}
            () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {}
            _ = look.tick() => {}
        }
        again = None;
        let wanted = bundle.borrow_and_update().clone();
        let leads = *is_leader.borrow_and_update();
        if let (true, Some(wanted)) = (leads, wanted) {
            let first = write(Kind::Mutating, &mut mutating, name, &deps.as_leader, &wanted).await;
            let second = write(Kind::Validating, &mut validating, name, &deps.as_leader, &wanted).await;
            again = first.into_iter().chain(second).min();
        }
        let trusted_by_all = trusted_by_all([&mutating.seen, &validating.seen]);
        live.send_if_modified(|live| {
            let differs = *live != trusted_by_all;
            *live = trusted_by_all;
            differs
        });
        match trusted(name, [&mutating.seen, &validating.seen], deps) {
            Ok(()) => deps.readiness.met(Need::Certificate),
            Err(why) => deps.readiness.not_met(Need::Certificate, why),
        }
    }
}

/// Every change of both configurations, with the whole of what is known of the one that changed.
fn changes(client: &Client, name: &str) -> impl Stream<Item = (Kind, Result<Seen, watcher::Error>)> + use<> {
    let only_ours = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mutating = watcher(
        Api::<MutatingWebhookConfiguration>::all(client.clone()),
        only_ours.clone(),
    );
    let validating = watcher(Api::<ValidatingWebhookConfiguration>::all(client.clone()), only_ours);
    let mutating = seen(mutating.default_backoff(), |configuration| {
        let webhooks = configuration.webhooks.iter().flatten();
        let entries = webhooks
            .map(|webhook| Entry::new(&webhook.name, &webhook.client_config))
            .collect();
        (configuration.metadata.uid.clone().unwrap_or_default(), entries)
    });
    let validating = seen(validating.default_backoff(), |configuration| {
        let webhooks = configuration.webhooks.iter().flatten();
        let entries = webhooks
            .map(|webhook| Entry::new(&webhook.name, &webhook.client_config))
            .collect();
        (configuration.metadata.uid.clone().unwrap_or_default(), entries)
    });
    select(
        mutating.map(|seen| (Kind::Mutating, seen)),
        validating.map(|seen| (Kind::Validating, seen)),
    )
}

fn seen<K>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>>,
    read: impl Fn(&K) -> (String, Vec<Entry>),
) -> impl Stream<Item = Result<Seen, watcher::Error>> {
    let mut listed = false;
    events.filter_map(move |event| {
        let present = |configuration: &K| {
            let (uid, entries) = read(configuration);
            Some(Ok(Seen::Present { uid, entries }))
        };
        let seen = match event {
            Ok(Event::Init) => {
                listed = false;
                None
            }
            Ok(Event::InitApply(configuration)) => {
                listed = true;
                present(&configuration)
            }
            Ok(Event::InitDone) => (!listed).then_some(Ok(Seen::Absent)),
            Ok(Event::Apply(configuration)) => present(&configuration),
            Ok(Event::Delete(_)) => Some(Ok(Seen::Absent)),
            Err(error) => Some(Err(error)),
        };
        std::future::ready(seen)
    })
}

/// Writes the bundle if an entry has another one; gives when to try again if that would be too soon.
async fn write(kind: Kind, known: &mut Known, name: &str, client: &Client, bundle: &Arc<Vec<u8>>) -> Option<Instant> {
    let Seen::Present { uid, entries } = &known.seen else {
        return None;
    };
    if entries.iter().all(|entry| entry.ca_bundle == **bundle) {
        return None;
    }
    let may_write = known.writes.last.as_ref().map(|(at, _)| *at + WRITE_INTERVAL_MIN);
    if may_write.is_some_and(|may_write| Instant::now() < may_write) {
        return may_write;
    }
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let now = Instant::now();
    if known.writes.is_fought_over(bundle, now) {
        known.fight.warn(fought_over(kind, name));
    } else {
        known.fight.clear();
    }
    known.writes.last = Some((now, Arc::clone(bundle)));
    let written = timeout(WRITE_LIMIT, patch(kind, client, name, uid, &names, bundle)).await;
    let written = written.map_err(|_| format!("no answer within {WRITE_LIMIT:?}"));
    match written.and_then(|written| written.map_err(|error| in_words(&error))) {
        Ok(()) => {
            tracing::info!("{} {name}: caBundle written", kind.as_str());
            known.write_fault.clear();
        }
        Err(why) => known.write_fault.warn(format!(
            "caBundle of {} {name} cannot be written: {why}; the API server cannot call the webhook until it is; trying again",
            kind.as_str()
        )),
    }
    None
}

fn fought_over(kind: Kind, name: &str) -> String {
    let kind = kind.as_str();
    format!(
        "somebody else writes caBundle of {kind} {name} again and again: now and then the API server does not trust the \
         webhook, and refuses creates and spec edits of our kinds. Is there another operator with the same \
         --webhook-config-name, or an injector of certificates? `kubectl get {} {name} -o yaml --show-managed-fields` \
         says who writes it",
        kind.to_lowercase(),
    )
}

/// The authorities that every entry of both configurations trusts; none, while one of them is not known.
fn trusted_by_all(seen: [&Seen; 2]) -> Live {
    let mut trusted: Option<Live> = None;
    for seen in seen {
        let Seen::Present { entries, .. } = seen else {
            return Live::new();
        };
        for entry in entries {
            let bundle = Certificate::parse_all(&entry.ca_bundle).unwrap_or_default();
            let bundle: Live = bundle.into_iter().map(|authority| authority.der.to_vec()).collect();
            trusted = Some(match trusted {
                None => bundle,
                Some(trusted) => trusted.into_iter().filter(|one| bundle.contains(one)).collect(),
            });
        }
    }
    trusted.unwrap_or_default()
}

/// Whether the API server would take what is served, for every entry of both configurations; else why not.
fn trusted(name: &str, seen: [&Seen; 2], deps: &Deps) -> Result<(), String> {
    let served = deps
        .served
        .current()
        .ok_or_else(|| Distrust::NothingServed.to_string())?;
    let now = Timestamp::now();
    for (kind, seen) in Kind::ALL.into_iter().zip(seen) {
        let kind = kind.as_str();
        let entries = match seen {
            Seen::Unknown(why) => return Err(format!("{kind} {name} {why}")),
            Seen::Absent => {
                return Err(format!(
                    "{kind} {name} does not exist; install it (streaming-operator webhook-config)"
                ));
            }
            Seen::Present { entries, .. } if entries.is_empty() => {
                return Err(format!(
                    "{kind} {name} has no webhooks, so nothing is asked of us; install it again (streaming-operator webhook-config)"
                ));
            }
            Seen::Present { entries, .. } => entries,
        };
        for entry in entries {
            trust::verify(&served.cert, &entry.ca_bundle, &entry.host, now)
                .map_err(|why| format!("{kind} {name}, {} for host {}: {why}", entry.name, entry.host))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of these writes, `(second, bundle)`, is found to be fought over.
    fn fought_over(writes: &[(u64, &[u8])]) -> Vec<bool> {
        let (mut made, start) = (Writes::default(), Instant::now());
        let write = |(second, bundle): &(u64, &[u8])| {
            let now = start + Duration::from_secs(*second);
            let found = made.is_fought_over(bundle, now);
            made.last = Some((now, Arc::new(bundle.to_vec())));
            found
        };
        writes.iter().map(write).collect()
    }

    #[test]
    fn the_third_time_in_a_row_that_a_bundle_is_soon_replaced_is_a_fight() {
        let same = [(0, b"a".as_slice()), (1, b"a"), (30, b"a"), (31, b"a"), (32, b"a")];
        assert_eq!(fought_over(&same), [false, false, false, true, true]);
    }

    #[test]
    fn new_bundles_and_replacements_far_apart_are_none() {
        let renewed = [(0, b"a".as_slice()), (1, b"b"), (2, b"c"), (3, b"d"), (4, b"e")];
        assert_eq!(fought_over(&renewed), [false; 5]);
        let far_apart = [(0, b"a".as_slice()), (60, b"a"), (120, b"a"), (180, b"a"), (240, b"a")];
        assert_eq!(fought_over(&far_apart), [false; 5]);
    }
}
