//! The certificate that is served: whether the API server trusts it, and until when. Must never show a key.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;

use super::deployment::{a_replica, get};
use super::webhook::Entry;
use super::{Finding, State, Subject};
use crate::certs::pair::Certificate;
use crate::certs::secret::SECRET_NAME;
use crate::certs::trust;
use crate::certs::warnings::{expires_soon, renewal_is_late};
use crate::client::in_words;
use crate::operator::{Certificate as Source, WebhookSettings};

const CHECK: &str = "certificate";
/// The metric of a replica, up to its value.
const EXPIRY: &str = "streaming_operator_certificate_expiry_timestamp_seconds{role=\"leaf\"} ";

pub(super) async fn look(subject: &Subject<'_>, webhook: &WebhookSettings, entries: &[Entry]) -> Vec<Finding> {
    let is_ours = matches!(webhook.certificate, Source::SelfMade(_));
    let mounted = subject.installed.and_then(|installed| installed.tls_secret.as_deref());
    let Some(name) = (if is_ours { Some(SECRET_NAME) } else { mounted }) else {
        return vec![by_metric(subject, "its folder is not the cluster's to know").await];
    };
    let api = Api::<Secret>::namespaced(subject.client.clone(), subject.namespace);
    let place = format!("Secret {}/{name}", subject.namespace);
    match api.get_opt(name).await {
        Err(error) => vec![by_metric(subject, &format!("{place} cannot be read: {}", in_words(&error))).await],
        Ok(None) => vec![Finding::wrong(
            CHECK,
            format!("{place} is not there: no certificate is served"),
            if is_ours {
                "the leader makes it: look at the operator's Pods and their log"
            } else {
                "make it, or have cert-manager make it: docs/certificates.md"
            },
        )],
        Ok(Some(secret)) => judge(&place, &secret, is_ours, entries, subject.now),
    }
}

fn judge(place: &str, secret: &Secret, is_ours: bool, entries: &[Entry], now: Timestamp) -> Vec<Finding> {
    let data = |key: &str| {
        secret
            .data
            .as_ref()
            .and_then(|data| data.get(key))
            .cloned()
            .unwrap_or_default()
            .0
    };
    let chain = match Certificate::parse_all(&data("tls.crt")) {
        Ok(chain) => chain,
        Err(fault) => {
            let message = format!("{place}: tls.crt cannot be read: {fault}");
            return vec![Finding::wrong(CHECK, message, "docs/certificates.md")];
        }
    };
    let Some(leaf) = chain.first() else {
        return vec![Finding::wrong(
            CHECK,
            format!("{place}: tls.crt is empty"),
            "docs/certificates.md",
        )];
    };
    let ders: Vec<_> = chain.iter().map(|certificate| certificate.der.clone()).collect();
    let mut findings = Vec::new();
    // An empty bundle is told of already.
    for entry in entries.iter().filter(|entry| !entry.bundle.is_empty()) {
        if let Err(why) = trust::verify(&ders, &entry.bundle, &entry.host, now) {
            let message = format!("{} for host {}: {why}", entry.what, entry.host);
            let todo = "the leading operator mends caBundle within seconds, unless something writes it again and again: \
                        look at its log; docs/certificates.md";
            findings.push(Finding::wrong(CHECK, message, todo));
        }
    }
    let authorities = Certificate::parse_all(&data("ca.crt")).unwrap_or_default();
    let late = if is_ours {
        renewal_is_late(leaf, now, "the leader's log says why it was not")
    } else {
        expires_soon(leaf, &authorities, now)
    };
    findings.push(match late {
        Some(late) => Finding::wrong(CHECK, late, "docs/certificates.md says who renews it, and when"),
        None => Finding::ok(
            CHECK,
            format!("{place}: valid until {}, {}", leaf.not_after, left(leaf.not_after, now)),
        ),
    });
    findings
}

/// `89 days left`.
fn left(until: Timestamp, now: Timestamp) -> String {
    let hours = until.duration_since(now).as_hours();
    if hours < 48 {
        format!("{hours} hours left")
    } else {
        format!("{} days left", hours / 24)
    }
}

/// The expiry that a replica tells itself; `why` the certificate cannot be seen.
async fn by_metric(subject: &Subject<'_>, why: &str) -> Finding {
    match expiry(subject).await {
        Ok(Some(until)) if until <= subject.now => {
            Finding::wrong(CHECK, format!("it expired at {until}"), "docs/certificates.md")
        }
        Ok(Some(until)) => {
            let left = left(until, subject.now);
            Finding::ok(CHECK, format!("valid until {until}, {left}, as a replica says ({why})"))
        }
        Ok(None) => unknown(why, "no replica could be asked"),
        Err(error) => unknown(why, &format!("no replica could be asked: {}", in_words(&error))),
    }
}

fn unknown(why: &str, more: &str) -> Finding {
    let todo = "check as somebody who may get that Secret, or get pods/proxy there";
    Finding::told(CHECK, State::Unknown, format!("cannot be seen: {why}; {more}"), todo)
}

async fn expiry(subject: &Subject<'_>) -> Result<Option<Timestamp>, kube::Error> {
    let Some(installed) = subject.installed else {
        return Ok(None);
    };
    let Some(pod) = a_replica(subject.client, installed).await? else {
        return Ok(None);
    };
    let metrics = get(subject.client, installed, &pod, "metrics").await?;
    let seconds = metrics
        .lines()
        .find_map(|line| line.strip_prefix(EXPIRY)?.trim().parse::<i64>().ok());
    Ok(seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()))
}
