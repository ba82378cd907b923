//! Before anything starts: is the API server there, does it know our kinds as this release has them, may we do what we
//! have to? Waits for the API server and for an older CRD to be upgraded; names everything else that is missing. Must never
//! start anything itself.

use std::time::Duration;

use kube::Client;
use tokio::time::{sleep, timeout};

use super::crds::{self, State};
use super::fault::Fault;
use super::rights::{Account, Rights, missing, not_granted};
use crate::client::in_words;
use crate::server::{Need, Readiness};

/// Time between two attempts to reach the API server.
const RETRY: Duration = Duration::from_secs(2);
/// Time between two looks at a CRD that is older than this release.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How long all questions together may take.
const ANSWER: Duration = Duration::from_secs(10);

/// What was found, when the API server could be asked.
enum Found {
    /// All is there.
    Fine,
    /// What no time mends, each with what to do.
    Faults(Vec<Fault>),
    /// CRDs that lack fields of this release: which.
    Older(String),
}

/// Waits for the API server and for CRDs that are not older than this release; fails with everything else that is missing,
/// each with what to do.
///
/// With an older CRD the API server would drop fields from what is written, of the status too. Pods made on the strength
/// of half a spec, and a status that never reads back as it was written, are worse than a replica that waits: in an upgrade
/// those of the release before work on meanwhile.
pub(super) async fn check(client: &Client, rights: &Rights, readiness: &Readiness) -> Result<(), Vec<String>> {
    let mut told = None;
    loop {
        let wait = match timeout(ANSWER, look(client, rights)).await {
            Ok(Ok(Found::Fine)) => {
                readiness.met(Need::Crds);
                return Ok(());
            }
            Ok(Ok(Found::Faults(faults))) => return Err(faults.iter().map(ToString::to_string).collect()),
            Ok(Ok(Found::Older(which))) => {
                readiness.not_met(Need::Crds, which.as_str());
                if told.as_ref() != Some(&which) {
                    tracing::error!("{which}; waits until it is upgraded, and does nothing until then");
                    told = Some(which);
                }
                LOOK_AGAIN
            }
            Ok(Err(error)) => wait_for_it(in_words(&error), &mut told),
            Err(_) => wait_for_it("no answer in time".to_owned(), &mut told),
        };
        sleep(wait).await;
    }
}

fn wait_for_it(why: String, told: &mut Option<String>) -> Duration {
    if told.is_none() {
        tracing::warn!(why, "the API server cannot be asked; waits for it");
        *told = Some(why);
    }
    RETRY
}

/// Fails when the API server cannot say.
async fn look(client: &Client, rights: &Rights) -> Result<Found, kube::Error> {
    let missing = missing(client, rights, &Account::Asker).await?;
    let mut faults = not_granted(&missing);
    let mut older: Vec<String> = Vec::new();
    for (name, state) in crds::look(client).await? {
        match state {
            State::Fine => {}
            State::Older(_) => older.extend(state.fault(&name).map(|fault| fault.to_string())),
            // The right to read it is among those that are missing, or was given a moment ago.
            State::Unreadable(_) if !faults.is_empty() => {}
            State::Absent | State::NotEstablished | State::Unreadable(_) => faults.extend(state.fault(&name)),
        }
    }
    Ok(match (faults.is_empty(), older.is_empty()) {
        (false, _) => Found::Faults(faults),
        (true, false) => Found::Older(older.join("; ")),
        (true, true) => Found::Fine,
    })
}
