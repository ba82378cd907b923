//! Who is asked about, what, and what is said to a no.

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
