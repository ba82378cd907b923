//! Whether an installed operator works, as `streaming-operator check` tells it: each part is asked about by itself, so that
//! every fault is found at once.
//!
//! What the operator asks at its start is asked here too, by the same functions. Must never change anything: what is
//! created is a dry run.

mod admission;
mod certificate;
mod crds;
mod deployment;
mod leader;
mod overlap;
mod rights;
mod versions;
mod webhook;

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use serde::Serialize;
use tokio::time::timeout;

use crate::client::in_words;
use crate::operator::Settings;
use crate::operator::rights::Account;

pub use deployment::{Installed, find};

/// How long one part may take.
const PART: Duration = Duration::from_secs(20);

/// What came of looking at one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works; somebody should know this all the same.
    Warning,
    /// It does not work.
    Wrong,
    /// Whoever asks may not see it, or the API server did not answer.
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about, in one word.
    pub check: &'static str,
    /// What came of it.
    pub state: State,
    /// What was seen, in a sentence.
    pub message: String,
    /// What to do about it; absent when nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Ok,
            message: message.into(),
            todo: None,
        }
    }

    /// Anything else, with what to do.
    pub fn told(check: &'static str, state: State, message: impl Into<String>, todo: impl Into<String>) -> Self {
        Self {
            check,
            state,
            message: message.into(),
            todo: Some(todo.into()),
        }
    }

    /// It does not work.
    pub fn wrong(check: &'static str, message: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::told(check, State::Wrong, message, todo)
    }

    /// The API server refused to say, or failed to.
    fn unasked(check: &'static str, what: &str, error: &kube::Error) -> Self {
        let todo = match error {
            kube::Error::Api(status) if matches!(status.code, 401 | 403) => {
                format!("check as somebody who may {what}")
            }
            _ => "try again; look at the API server if it stays so".to_owned(),
        };
        let message = format!("cannot {what}: {}", in_words(error));
        Self::told(check, State::Unknown, message, todo)
    }
}

/// Whom to look at.
pub struct Subject<'a> {
    /// Who asks.
    pub client: &'a Client,
    /// How the operator runs.
    pub settings: &'a Settings,
    /// The operator's own namespace.
    pub namespace: &'a str,
    /// Whose rights are judged.
    pub account: &'a Account,
    /// Its Deployment, if there is one.
    pub installed: Option<&'a Installed>,
    /// Where the dry runs create pipelines.
    pub dry_run_namespace: &'a str,
    /// The time by this machine's clock.
    pub now: Timestamp,
}

/// Looks at everything, in the order in which a fault of one explains those of the next.
pub async fn run(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(installed) = subject.installed {
        findings.extend(within("deployment", deployment::look(subject, installed)).await);
    }
    findings.extend(within("versions", versions::look(subject)).await);
    findings.extend(within("crds", crds::look(subject)).await);
    findings.extend(within("rights", rights::look(subject)).await);
    findings.extend(within("overlap", overlap::look(subject)).await);
    findings.extend(within("leader", leader::look(subject)).await);
    let Some(webhook) = &subject.settings.webhook else {
        let message = "admission is turned off (--webhook-enabled=false): only the rules in the CRD hold";
        findings.push(Finding::ok("webhook", message));
        return findings;
    };
    let (seen, entries) = webhook::look(subject, webhook).await;
    findings.extend(seen);
    findings.extend(within("certificate", certificate::look(subject, webhook, &entries)).await);
    findings.extend(within("admission", admission::look(subject)).await);
    findings
}

/// What `look` finds, or that it took too long.
async fn within(check: &'static str, look: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    let found = timeout(PART, look).await;
    found.unwrap_or_else(|_| {
        let message = format!("the API server did not answer within {PART:?}");
        vec![Finding::told(
            check,
            State::Unknown,
            message,
            "try again; look at the API server if it stays so",
        )]
    })
}
