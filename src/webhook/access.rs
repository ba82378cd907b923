//! May the one who asks run Pods where the pipeline's Pods would run?
//!
//! With one namespace for the Pods of all pipelines, whoever may write a pipeline elsewhere would run code of their own
//! there, with its service accounts, Secrets and quota. So they must be allowed to create Pods there themselves. Pure: it
//! makes the question and reads the answer; [`super::authorizer`] asks. Must never admit what could not be asked.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReviewSpec, SubjectAccessReviewStatus};

use super::judge::passes_unseen;
use super::review::{Answer, Operation, Request};

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

/// The question that must be answered before `request` may be admitted; `None`: none. Asked are creates and updates that
/// change `spec`, dry runs too, of pipelines whose Pods run in `workload_namespace` and not beside them.
#[must_use]
pub fn question(request: &Request, workload_namespace: &str) -> Option<SubjectAccessReviewSpec> {
    if passes_unseen(request) || request.namespace == workload_namespace || !changes_spec(request) {
        return None;
    }
    let user = request.user.clone();
    Some(SubjectAccessReviewSpec {
        user: user.username,
        uid: user.uid,
        groups: user.groups,
        extra: user.extra,
        resource_attributes: Some(ResourceAttributes {
            verb: Some("create".to_owned()),
            group: Some(String::new()),
            version: Some("v1".to_owned()),
            resource: Some("pods".to_owned()),
            namespace: Some(workload_namespace.to_owned()),
            ..ResourceAttributes::default()
        }),
        non_resource_attributes: None,
    })
}

fn changes_spec(request: &Request) -> bool {
    let old = request.old_object.as_ref().and_then(|old| old.get("spec"));
    request.operation == Operation::Create || request.object.get("spec") != old
}

/// The refusal of `request`, whose user may not create Pods in `workload_namespace`; `said` as in [`Access::Denied`].
#[must_use]
pub fn denial(request: &Request, workload_namespace: &str, said: &str) -> Answer {
    let said = if said.is_empty() {
        String::new()
    } else {
        format!(" (the API server says: {said})")
    };
    Answer::forbidden(
        request.display_name(),
        &format!(
            "User {user:?} cannot create resource \"pods\" in API group \"\" in the namespace \
             {workload_namespace:?}{said}. The Pods of this pipeline run there, so whoever creates it or changes its spec \
             needs that right: have a Role with verb \"create\" on \"pods\" bound to {user:?} in {workload_namespace:?}",
            user = user_name(request)
        ),
    )
}

/// The refusal of `request` when the API server could not be asked, because of `why`.
#[must_use]
pub fn unanswered(request: &Request, workload_namespace: &str, why: &str) -> Answer {
    Answer::unavailable(&format!(
        "whether user {:?} may create pods in the namespace {workload_namespace:?}, where the Pods of this pipeline run, \
         could not be asked of the API server: {why}. Nothing was stored; try again in a few seconds",
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

    fn spec(replicas: i32) -> Value {
        json!({"metadata": {"name": "checkout"}, "spec": {"replicas": replicas}})
    }

    #[test]
    fn a_create_asks_whether_this_very_user_may_create_pods_in_the_workload_namespace() {
        let asked = question(&create(), "work").expect("a question");
        assert_eq!(
            serde_json::to_value(asked).expect("JSON"),
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
            assert!(question(&request, "work").is_some(), "{request:?}");
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
            assert_eq!(question(&request, "work"), None, "{request:?}");
        }
        assert_eq!(question(&create(), "ingest"), None);
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
        let refusal = denial(&create(), "work", "").refusal.expect("a refusal");
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
        let refusal = denial(&create(), "work", "no").refusal.expect("a refusal");
        let message = refusal.message.unwrap_or_default();
        assert!(
            message.contains("\"work\" (the API server says: no). The Pods"),
            "{message}"
        );
    }
}
