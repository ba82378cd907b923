//! What the API server refused, in the words of a condition.

use crate::api::{ConditionType, Reason};
use crate::core::plan::{Action, ActionResult, HoldBy};

use super::StatusInput;

/// The longest wait of what was refused. It stands before the API server's words, so that it is never cut off.
const AGAIN: &str = "is tried again within 5 minutes";

/// The first thing that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Refusal {
    /// Of this pass; or, while a refused dry run is not asked again, of the pass that asked.
    pub(super) fn of(input: &StatusInput<'_>) -> Option<Self> {
        let failure = input.outcome.and_then(|outcome| outcome.first_failure());
        if let Some((action, result)) = failure {
            return Self::of_result(action, result);
        }
        let held = input.facts.holds.iter().any(|hold| hold.by == HoldBy::DryRun);
        let before = input
            .previous
            .conditions
            .iter()
            .find(|condition| condition.type_ == ConditionType::Applied.as_str() && condition.status == "False");
        let before = before.filter(|_| held)?;
        let reason = Reason::ALL.iter().find(|reason| reason.as_str() == before.reason)?;
        Some(Self {
            reason: *reason,
            message: before.message.clone(),
        })
    }

    fn of_result(action: &Action, result: &ActionResult) -> Option<Self> {
        let what = what(action);
        let (reason, message) = match result {
            ActionResult::Done | ActionResult::AlreadyOurs | ActionResult::Skipped => return None,
            ActionResult::NotOurs { holder } => {
                let message =
                    format!("{what}: the name belongs to {holder}; it is neither changed nor deleted; it {AGAIN}");
                (Reason::NameCollision, message)
            }
            ActionResult::Refused { code, message, .. } => {
                let reason = refused(*code, message);
                (reason, format!("{what} was refused ({code}), {AGAIN}: {message}"))
            }
            ActionResult::Unavailable { message } => {
                let message = format!("{what} could not be sent: {message}; it is tried again within 30 s");
                (Reason::ApiUnavailable, message)
            }
        };
        Some(Self { reason, message })
    }
}

/// The API server answers 403 to a missing right and to a used-up quota alike; only the text tells them apart
/// (k8s.io/apiserver pkg/admission/plugin/resourcequota: "exceeded quota").
fn refused(code: u16, message: &str) -> Reason {
    match code {
        403 if message.contains("exceeded quota") => Reason::QuotaExceeded,
        403 if message.contains("is being terminated") => Reason::NamespaceTerminating,
        // "… is forbidden: User "x" cannot create resource …"; admission plugins say forbidden without a user.
        403 if message.contains("cannot ") && message.contains("User ") => Reason::Forbidden,
        _ => Reason::ApiRejected,
    }
}

fn what(action: &Action) -> String {
    match action {
        Action::AddFinalizer => "adding the finalizer".to_owned(),
        Action::RemoveFinalizer => "removing the finalizer".to_owned(),
        Action::CreateRevision { name, .. } => format!("creating ControllerRevision {name}"),
        Action::CreateConfigMap { name, .. } => format!("creating ConfigMap {name}"),
        Action::DryRunPod(plan) => format!("a dry run of Pod {} of revision {}", plan.name, plan.revision),
        Action::CreatePod(plan) => format!("creating Pod {}", plan.name),
        Action::DeletePod(delete) => format!("deleting Pod {}", delete.name),
        Action::DeleteConfigMap { name, .. } => format!("deleting ConfigMap {name}"),
        Action::DeleteRevision { name, .. } => format!("deleting ControllerRevision {name}"),
        Action::ClaimLegacy(claim) => format!(
            "claiming Deployment {}/{} of the Python operator",
            claim.namespace, claim.name
        ),
        Action::ScaleLegacy(scale) => format!(
            "taking consumers off Deployment {}/{} of the Python operator",
            scale.namespace, scale.name
        ),
        Action::SetBackLegacy(back) => format!(
            "setting Deployment {}/{} of the Python operator back to the Pods of ReplicaSet {}",
            back.namespace, back.name, back.to
        ),
        Action::DeleteLegacy { namespace, name, .. } => {
            format!("deleting Deployment {namespace}/{name} of the Python operator")
        }
        Action::DeleteLegacyConfigMap { namespace, name, .. } => {
            format!("deleting ConfigMap {namespace}/{name} of the Python operator")
        }
        Action::RemoveLegacyMarks => "removing the finalizers of the Python operator".to_owned(),
        Action::MarkCompleted { name, .. } => format!("marking ControllerRevision {name} as completed"),
    }
}
