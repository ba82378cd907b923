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
mod tests {
    use k8s_openapi::api::authentication::v1::UserInfo;
    use serde_json::{Value, json};

    use super::*;

    fn update(object: Value, old_object: Value) -> Request {
        Request {
            kind: Kind::StreamingPipeline,
            operation: Operation::Update,
            sub_resource: String::new(),
            namespace: "ingest".to_owned(),
            name: "checkout".to_owned(),
            dry_run: false,
            user: UserInfo {
                username: Some("jane".to_owned()),
                uid: Some("u-1".to_owned()),
                groups: Some(vec!["team-a".to_owned(), "system:authenticated".to_owned()]),
                extra: Some([("example.com/scopes".to_owned(), vec!["all".to_owned()])].into()),
            },
            object,
            old_object: Some(old_object),
        }
    }

    fn create() -> Request {
        Request {
            operation: Operation::Create,
            old_object: None,
            ..update(spec(1), Value::Null)
        }
    }

    fn about_pods(request: &Request, workload_namespace: &str) -> Option<Question> {
        let guarded = Guarded {
            workload_namespace: Some(workload_namespace.to_owned()),
            deployments: true,
        };
        question(request, &guarded)
    }

    fn pods_in(namespace: &str) -> Right {
        Right::CreatePods {
            namespace: namespace.to_owned(),
        }
    }

    /// Of an analysis that had the first target, if any, and is to have the second.
    fn targeting(old: Option<(&str, &str)>, new: (&str, &str)) -> Request {
        let analysis = |(kind, name)| json!({"spec": {"interval": "30s", "target": {"kind": kind, "name": name}}});
        let request = match old {
            None => create(),
            Some(old) => update(Value::Null, analysis(old)),
        };
        Request {
            kind: Kind::RolloutAnalysis,
            object: analysis(new),
            ..request
        }
    }

    fn about_deployments(request: &Request) -> Option<Right> {
        let guarded = Guarded {
            workload_namespace: Some("work".to_owned()),
            deployments: true,
        };
        question(request, &guarded).map(|question| question.right)
    }

    #[test]
    fn whoever_makes_a_deployment_the_target_of_an_analysis_is_asked_about_it() {
        let right = Right::PatchDeployment {
            namespace: "ingest".to_owned(),
            name: "web".to_owned(),
        };
        let (web, other, pipeline) = (
            ("Deployment", "web"),
            ("Deployment", "other"),
            ("StreamingPipeline", "web"),
        );
        for old in [None, Some(other), Some(pipeline)] {
            assert_eq!(about_deployments(&targeting(old, web)), Some(right.clone()), "{old:?}");
        }
        let asked = question(
            &targeting(None, web),
            &Guarded {
                workload_namespace: None,
                deployments: true,
            },
        );
        assert_eq!(
            serde_json::to_value(asked.expect("a question").review.resource_attributes).expect("JSON"),
            json!({"verb": "patch", "group": "apps", "version": "v1", "resource": "deployments", "namespace": "ingest",
                   "name": "web"})
        );
    }

    #[test]
    fn nothing_is_asked_of_a_target_that_stays_or_is_a_pipeline_or_where_no_deployment_is_held() {
        let (web, pipeline) = (("Deployment", "web"), ("StreamingPipeline", "web"));
        let mut edited = targeting(Some(web), web);
        edited.object["spec"]["interval"] = json!("1m");
        for request in [edited, targeting(None, pipeline), targeting(Some(web), pipeline)] {
            assert_eq!(about_deployments(&request), None, "{request:?}");
        }
        assert_eq!(question(&targeting(None, web), &Guarded::default()), None);
    }

    #[test]
    fn the_refusal_of_a_target_names_the_deployment_and_what_to_do() {
        let right = Right::PatchDeployment {
            namespace: "ingest".to_owned(),
            name: "web".to_owned(),
        };
        let request = targeting(None, ("Deployment", "web"));
        let refusal = denial(&request, &right, "").refusal.expect("a refusal");
        assert_eq!(refusal.code, Some(403));
        assert_eq!(
            refusal.message.as_deref(),
            Some(
                "rolloutanalyses.streams.sentry.io \"checkout\" is forbidden: User \"jane\" cannot patch resource \
                 \"deployments\" named \"web\" in API group \"apps\" in the namespace \"ingest\". This analysis can pause \
                 that Deployment, so whoever makes it its target needs that right: have a Role with verb \"patch\" on \
                 \"deployments\" bound to \"jane\" in \"ingest\""
            )
        );
        let refusal = unanswered(&request, &right, "no answer").refusal.expect("a refusal");
        assert_eq!(refusal.code, Some(503));
    }

    fn spec(replicas: i32) -> Value {
        json!({"metadata": {"name": "checkout"}, "spec": {"replicas": replicas}})
    }

    #[test]
    fn a_create_asks_whether_this_very_user_may_create_pods_in_the_workload_namespace() {
        let asked = about_pods(&create(), "work").expect("a question");
        assert_eq!(
            serde_json::to_value(asked.review).expect("JSON"),
            json!({
                "user": "jane", "uid": "u-1", "groups": ["team-a", "system:authenticated"],
                "extra": {"example.com/scopes": ["all"]},
                "resourceAttributes": {"verb": "create", "group": "", "version": "v1", "resource": "pods", "namespace": "work"}
            })
        );
    }

    #[test]
    fn a_dry_run_and_a_changed_spec_are_asked_about_too() {
        let mut dry_run = create();
        dry_run.dry_run = true;
        let without_spec = json!({"metadata": {"name": "checkout"}});
        for request in [
            dry_run,
            update(spec(2), spec(1)),
            update(spec(1), without_spec.clone()),
            update(without_spec, spec(1)),
        ] {
            assert!(about_pods(&request, "work").is_some(), "{request:?}");
        }
    }

    #[test]
    fn nothing_is_asked_where_the_pods_run_beside_the_pipeline_or_its_spec_stays_or_it_is_being_deleted() {
        let mut labelled = spec(1);
        labelled["metadata"]["labels"] = json!({"a": "b"});
        let mut deleted = spec(2);
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut scale = update(spec(2), spec(1));
        scale.sub_resource = "scale".to_owned();
        for request in [update(labelled, spec(1)), update(deleted, spec(1)), scale] {
            assert_eq!(about_pods(&request, "work"), None, "{request:?}");
        }
        assert_eq!(about_pods(&create(), "ingest"), None);
    }

    #[test]
    fn what_is_not_plainly_allowed_is_denied() {
        let status = |allowed, denied, reason: &str| SubjectAccessReviewStatus {
            allowed,
            denied,
            reason: Some(reason.to_owned()),
            evaluation_error: None,
        };
        assert_eq!(Access::from(status(true, None, "by a role")), Access::Granted);
        assert_eq!(Access::from(status(false, None, "")), Access::Denied(String::new()));
        assert_eq!(
            Access::from(status(true, Some(true), "vetoed")),
            Access::Denied("vetoed".to_owned())
        );
        let broken = SubjectAccessReviewStatus {
            evaluation_error: Some("role not found".to_owned()),
            ..status(false, None, "no opinion")
        };
        assert_eq!(
            Access::from(broken),
            Access::Denied("no opinion; role not found".to_owned())
        );
    }

    #[test]
    fn a_refusal_names_the_user_the_verb_the_resource_and_the_namespace_and_what_to_do() {
        let refusal = denial(&create(), &pods_in("work"), "").refusal.expect("a refusal");
        assert_eq!(
            (refusal.code, refusal.reason.as_deref()),
            (Some(403), Some("Forbidden"))
        );
        assert_eq!(
            refusal.message.as_deref(),
            Some(
                "streamingpipelines.streams.sentry.io \"checkout\" is forbidden: User \"jane\" cannot create resource \
                 \"pods\" in API group \"\" in the namespace \"work\". The Pods of this pipeline run there, so whoever \
                 creates it or changes its spec needs that right: have a Role with verb \"create\" on \"pods\" bound to \
                 \"jane\" in \"work\""
            )
        );
        let refusal = denial(&create(), &pods_in("work"), "no").refusal.expect("a refusal");
        let message = refusal.message.unwrap_or_default();
        assert!(
            message.contains("\"work\" (the API server says: no). The Pods"),
            "{message}"
        );
    }
}
