//! May the one who asks do what the operator would do for them?
//!
//! With one namespace for the Pods of all pipelines, whoever may write a pipeline elsewhere would run code of their own
//! there, with its service accounts, Secrets and quota. So they must be allowed to create Pods there themselves. And an
//! analysis pauses the Deployment that is its target, so whoever makes it one must be allowed to patch it. Pure: it makes
//! the question and reads the answer; [`super::authorizer`] asks. Must never admit what could not be asked.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReviewSpec, SubjectAccessReviewStatus};

use super::judge::passes_unseen;
use super::review::{Answer, Kind, Operation, Request};
use crate::api::rollout_analysis::{AnalysisTarget, TargetKind};

/// What the API server has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// They may.
    Granted,
    /// They may not, and what the API server says to that; often nothing.
    Denied(String),
}

impl From<SubjectAccessReviewStatus> for Access {
    fn from(status: SubjectAccessReviewStatus) -> Self {
        // `denied` alone is a veto; no opinion of anybody (neither of the two) is a no as well.
        if status.allowed && !status.denied.unwrap_or_default() {
            return Self::Granted;
        }
        let said = [status.reason, status.evaluation_error];
        let said: Vec<_> = said.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        Self::Denied(said.join("; "))
    }
}

/// A question that must be answered before a request may be admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// As it is asked.
    pub review: SubjectAccessReviewSpec,
    /// The right that it is about.
    pub right: Right,
}

/// A right that whoever asks must have, as the operator does for them what it allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Right {
    /// To create Pods in a namespace.
    CreatePods {
        /// The namespace in which the Pods of a pipeline run.
        namespace: String,
    },
    /// To patch a Deployment.
    PatchDeployment {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl Right {
    fn attributes(&self) -> ResourceAttributes {
        let (verb, group, resource, namespace, name) = match self {
            Self::CreatePods { namespace } => ("create", "", "pods", namespace, None),
            Self::PatchDeployment { namespace, name } => ("patch", "apps", "deployments", namespace, Some(name)),
        };
        ResourceAttributes {
            verb: Some(verb.to_owned()),
            group: Some(group.to_owned()),
            version: Some("v1".to_owned()),
            resource: Some(resource.to_owned()),
            namespace: Some(namespace.clone()),
            name: name.cloned(),
            ..ResourceAttributes::default()
        }
    }
}

/// Of which rights is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// The namespace in which the Pods of all pipelines run; `None`: nobody is asked about Pods.
    pub workload_namespace: Option<String>,
    /// Whether analyses may hold Deployments.
    pub deployments: bool,
}

/// The question that must be answered before `request` may be admitted; `None`: none. Asked are, dry runs too, creates and
/// updates that change `spec` of pipelines whose Pods run in the workload namespace and not beside them, and creates and
/// updates that change `spec.target` of analyses that watch a Deployment.
#[must_use]
pub fn question(request: &Request, guarded: &Guarded) -> Option<Question> {
    if passes_unseen(request) {
        return None;
    }
    let right = match request.kind {
        Kind::StreamingPipeline => {
            let namespace = guarded.workload_namespace.as_ref()?;
            if request.namespace == *namespace || !changes(request, "/spec") {
                return None;
            }
            Right::CreatePods {
                namespace: namespace.clone(),
            }
        }
        Kind::RolloutAnalysis => {
            let target: AnalysisTarget = request.target().filter(|_| guarded.deployments)?;
            if target.kind != TargetKind::Deployment || !changes(request, "/spec/target") {
                return None;
            }
            Right::PatchDeployment {
                namespace: request.namespace.clone(),
                name: target.name,
            }
        }
    };
    let user = request.user.clone();
    let review = SubjectAccessReviewSpec {
        user: user.username,
        uid: user.uid,
        groups: user.groups,
        extra: user.extra,
        resource_attributes: Some(right.attributes()),
        non_resource_attributes: None,
    };
    Some(Question { review, right })
}

fn changes(request: &Request, pointer: &str) -> bool {
    let old = request.old_object.as_ref().and_then(|old| old.pointer(pointer));
    request.operation == Operation::Create || request.object.pointer(pointer) != old
}

/// The refusal of `request`, whose user has not `right`; `said` as in [`Access::Denied`].
#[must_use]
pub fn denial(request: &Request, right: &Right, said: &str) -> Answer {
    let said = if said.is_empty() {
        String::new()
    } else {
        format!(" (the API server says: {said})")
    };
    let user = user_name(request);
    let why = match right {
        Right::CreatePods { namespace } => format!(
            "User {user:?} cannot create resource \"pods\" in API group \"\" in the namespace {namespace:?}{said}. The Pods \
             of this pipeline run there, so whoever creates it or changes its spec needs that right: have a Role with verb \
             \"create\" on \"pods\" bound to {user:?} in {namespace:?}"
        ),
        Right::PatchDeployment { namespace, name } => format!(
            "User {user:?} cannot patch resource \"deployments\" named {name:?} in API group \"apps\" in the namespace \
             {namespace:?}{said}. This analysis can pause that Deployment, so whoever makes it its target needs that right: \
             have a Role with verb \"patch\" on \"deployments\" bound to {user:?} in {namespace:?}"
        ),
    };
    Answer::forbidden(request.kind, request.display_name(), &why)
}

/// The refusal of `request` when the API server could not be asked, because of `why`.
#[must_use]
pub fn unanswered(request: &Request, right: &Right, why: &str) -> Answer {
    let asked = match right {
        Right::CreatePods { namespace } => {
            format!("may create pods in the namespace {namespace:?}, where the Pods of this pipeline run,")
        }
        Right::PatchDeployment { namespace, name } => {
            format!("may patch the Deployment {name:?} in the namespace {namespace:?}, which this analysis can pause,")
        }
    };
    Answer::unavailable(&format!(
        "whether user {:?} {asked} could not be asked of the API server: {why}. Nothing was stored; try again in a few \
         seconds",
        user_name(request)
    ))
}

fn user_name(request: &Request) -> &str {
    request.user.username.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests;
