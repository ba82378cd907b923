//! What people have to be told about certificates, in the log of each replica and, by the leader, as a Warning Event.
//!
//! Told once as long as it stays the same. An Event that cannot be published is tried again at the next look; nothing
//! waits for it for long. Must never hold up serving, and never show a key.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::watch;
use tokio::time::timeout;

use super::due::made_at;
use super::pair::Certificate;
use super::run::Deps;
use crate::api::meta::EVENT_REPORTER;

/// How long before it expires a certificate that nobody has renewed is warned of: two weeks, in which a person can act.
pub(super) const EXPIRES_SOON: SignedDuration = SignedDuration::from_hours(14 * 24);
/// Of a certificate of our own that lives for less than some months, the last part of its life that is too late for its
/// renewal, as 1 over this: it is due with a third left, and has failed for half of that.
const LATE_FRACTION: i32 = 6;
/// How long publishing one Event may take.
const PUBLISH_LIMIT: Duration = Duration::from_secs(2);
/// Longest note of an Event, in characters; the API server takes 1,024 bytes.
const NOTE_CHARS_MAX: usize = 500;

/// What a warning is about: the reason of its Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The served certificate, or its authority, expires soon.
    Expiring,
    /// Mounted files hold a certificate that cannot be served.
    Refused,
}

impl Reason {
    /// As the Event has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expiring => "CertificateExpiring",
            Self::Refused => "CertificateRefused",
        }
    }
}

/// Tells warnings about one object.
pub(super) struct Warnings {
    client: Client,
    about: ObjectReference,
    is_leader: watch::Receiver<bool>,
    logged: BTreeMap<Reason, String>,
    published: BTreeMap<Reason, String>,
}

impl Warnings {
    /// Warnings about the object of `kind` (of the core group) and `name` in `namespace`.
    pub(super) fn about(kind: &str, namespace: &str, name: &str, deps: &Deps) -> Self {
        let about = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some(kind.to_owned()),
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectReference::default()
        };
        Self {
            client: deps.as_leader.clone(),
            about,
            is_leader: deps.is_leader.clone(),
            logged: BTreeMap::new(),
            published: BTreeMap::new(),
        }
    }

    /// To be called at each look: `what` there is to say now, if anything.
    pub(super) async fn tell(&mut self, reason: Reason, what: Option<String>) {
        let Some(what) = what else {
            self.logged.remove(&reason);
            self.published.remove(&reason);
            return;
        };
        if self.logged.get(&reason) != Some(&what) {
            tracing::warn!(reason = reason.as_str(), "{what}");
            self.logged.insert(reason, what.clone());
        }
        if *self.is_leader.borrow() && self.published.get(&reason) != Some(&what) && self.publish(reason, &what).await {
            self.published.insert(reason, what);
        }
    }

    async fn publish(&self, reason: Reason, what: &str) -> bool {
        let event = Event {
            type_: EventType::Warning,
            reason: reason.as_str().to_owned(),
            note: Some(what.chars().take(NOTE_CHARS_MAX).collect()),
            action: "Serve".to_owned(),
            secondary: None,
        };
        // A recorder of its own: one that remembers would count this up in an earlier Event, and keep that one's words.
        let recorder = Recorder::new(self.client.clone(), Reporter::from(EVENT_REPORTER));
        match timeout(PUBLISH_LIMIT, recorder.publish(&event, &self.about)).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::debug!(%error, "an Event about the certificate cannot be published; tries again");
                false
            }
            Err(_) => false,
        }
    }
}

/// What is to be said of a certificate that someone else renews: that it, or the authority that clients trust it by,
/// expires within two weeks.
#[must_use]
pub fn expires_soon(leaf: &Certificate, authorities: &[Certificate], now: Timestamp) -> Option<String> {
    let within = |certificate: &Certificate| certificate.not_after.duration_since(now) < EXPIRES_SOON;
    let what = if within(leaf) {
        format!("the serving certificate expires at {}", leaf.not_after)
    } else {
        let authority = issuer_of(leaf, authorities).filter(|authority| within(authority))?;
        format!("the CA of the serving certificate expires at {}", authority.not_after)
    };
    Some(format!(
        "{what} and has not been renewed; after that the API server refuses to call the webhook, and creates and spec \
         edits of pipelines fail: renew it (with cert-manager: `kubectl describe certificate` says why it is not)"
    ))
}

/// What is to be said of a certificate that the operator renews itself: that it should have done so long ago, and why it
/// has not.
#[must_use]
pub fn renewal_is_late(leaf: &Certificate, now: Timestamp, why: &str) -> Option<String> {
    let life = leaf.not_after.duration_since(made_at(leaf));
    let is_late = leaf.not_after.duration_since(now) < EXPIRES_SOON.min(life / LATE_FRACTION);
    is_late.then(|| {
        format!(
            "the serving certificate expires at {} and should have been renewed: {why}; after that the API server \
             refuses to call the webhook, and creates and spec edits of pipelines fail",
            leaf.not_after
        )
    })
}

/// The authority that signed `leaf`, if it is among `authorities`; else the one of them that expires first.
pub(super) fn issuer_of<'a>(leaf: &Certificate, authorities: &'a [Certificate]) -> Option<&'a Certificate> {
    let signer = authorities.iter().find(|authority| leaf.names_issuer(authority));
    signer.or_else(|| authorities.iter().min_by_key(|authority| authority.not_after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certs::authority::{new_authority, new_leaf};

    /// Whether it is late to renew a leaf of this life when so much of it is left.
    fn is_late(life: SignedDuration, left: SignedDuration) -> bool {
        let made: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let authority = new_authority(made, SignedDuration::from_hours(43_800)).expect("an authority");
        let leaf = new_leaf(&authority, &["h".to_owned()].into(), made, life).expect("a leaf");
        renewal_is_late(leaf.certificate(), made + life - left, "it failed").is_some()
    }

    #[test]
    fn renewal_is_late_14_days_before_the_end_and_for_short_lives_a_sixth_before() {
        let days = |days: i64| SignedDuration::from_hours(days * 24);
        assert!(!is_late(days(90), days(15)));
        assert!(is_late(days(90), days(13)));
        let seconds = SignedDuration::from_secs;
        assert!(!is_late(seconds(12), seconds(3)), "it was due with four left");
        assert!(is_late(seconds(12), seconds(1)));
    }
}
