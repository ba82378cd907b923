//! Who may point a pipeline at the workload namespace: what is asked of the API server, and what comes of its answers.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use http::{Method, Request, Response};
use kube::Client as ApiClient;
use serde_json::{Value, json};
use streaming_operator::webhook::access::Guarded;
use streaming_operator::webhook::authorizer::{Authorizer, Times};
use tower::service_fn;

use super::bed::{Answer, Bed};
use super::reviews::{self, create, create_with, object, update};
use super::{JSON, causes};

/// What the API server does with a question.
#[derive(Clone, Copy)]
enum Mood {
    /// It lets `jane` create Pods and nobody else.
    Answers,
    /// It is not there.
    Silent,
    /// It fails.
    Fails,
    /// It does not let the operator ask.
    Refuses,
}

/// The bodies of all questions so far.
type Asked = Arc<Mutex<Vec<Value>>>;

/// An API server that knows of nothing but users and their rights.
fn api_server(mood: Mood) -> (ApiClient, Asked) {
    let asked = Asked::default();
    let sink = Arc::clone(&asked);
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let sink = Arc::clone(&sink);
        async move {
            let (parts, body) = request.into_parts();
            assert_eq!(
                (parts.method, parts.uri.path()),
                (Method::POST, "/apis/authorization.k8s.io/v1/subjectaccessreviews")
            );
            let body = to_bytes(Body::new(body), 1 << 20).await.expect("a body");
            let review: Value = serde_json::from_slice(&body).expect("JSON");
            sink.lock().expect("no panic").push(review.clone());
            Ok::<_, Infallible>(answer(mood, review).await)
        }
    });
    (ApiClient::new(service, "default"), asked)
}

async fn answer(mood: Mood, mut review: Value) -> Response<Body> {
    let failure = |code: u16, reason: &str, message: &str| {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                            "code": code, "reason": reason, "message": message});
        (code, status)
    };
    let (code, body) = match mood {
        Mood::Answers => {
            let allowed = review["spec"]["user"] == "jane";
            review["status"] = json!({"allowed": allowed, "reason": if allowed { "" } else { "no role" }});
            (201, review)
        }
        Mood::Silent => std::future::pending().await,
        Mood::Fails => failure(500, "InternalError", "etcd is away"),
        Mood::Refuses => failure(
            403,
            "Forbidden",
            "subjectaccessreviews.authorization.k8s.io is forbidden",
        ),
    };
    let response = Response::builder()
        .status(code)
        .header("content-type", "application/json");
    response.body(Body::from(body.to_string())).expect("a response")
}

async fn guarded(mood: Mood) -> (Bed, Asked) {
    let (client, asked) = api_server(mood);
    let guarded = Guarded {
        workload_namespace: Some("work".to_owned()),
        deployments: true,
    };
    let times = Times {
        answer: match mood {
            Mood::Silent => Duration::from_millis(100),
            _ => Duration::from_secs(60),
        },
        remembered: Duration::from_secs(600),
    };
    (Bed::start_guarded(Authorizer::new(client, guarded, times)).await, asked)
}

fn number(asked: &Asked) -> usize {
    asked.lock().expect("no panic").len()
}

fn refusal(answer: &Answer) -> (Value, Value, String) {
    let response = answer.review()["response"].clone();
    assert_eq!(response["allowed"], json!(false), "{response}");
    let status = &response["status"];
    let message = status["message"].as_str().expect("a message").to_owned();
    (status["code"].clone(), status["reason"].clone(), message)
}

#[tokio::test]
async fn who_may_create_pods_in_the_workload_namespace_is_admitted_and_others_are_told_what_they_miss() {
    let (bed, asked) = guarded(Mood::Answers).await;
    let mut client = bed.client().await;
    let review = create(&object("checkout"));
    let answer = client.post("/validate", JSON, &reviews::by("jane", &review)).await;
    assert_eq!(
        answer.review()["response"],
        json!({"uid": reviews::UID, "allowed": true})
    );
    let answer = client.post("/validate", JSON, &reviews::by("john", &review)).await;
    let (code, reason, message) = refusal(&answer);
    assert_eq!((code, reason), (json!(403), json!("Forbidden")));
    assert!(
        message.starts_with(
            "streamingpipelines.streams.sentry.io \"checkout\" is forbidden: User \"john\" cannot create resource \
             \"pods\" in API group \"\" in the namespace \"work\" (the API server says: no role)"
        ),
        "{message}"
    );
    let asked = asked.lock().expect("no panic");
    assert_eq!(
        asked[1]["spec"],
        json!({"user": "john", "groups": ["system:authenticated"], "resourceAttributes":
               {"verb": "create", "group": "", "version": "v1", "resource": "pods", "namespace": "work"}})
    );
}

#[tokio::test]
async fn an_answer_is_remembered_for_a_moment_and_only_for_the_same_user() {
    let (bed, asked) = guarded(Mood::Answers).await;
    let mut client = bed.client().await;
    for (user, questions) in [("jane", 1), ("jane", 1), ("john", 2), ("john", 2), ("jane", 2)] {
        let review = reviews::by(user, &create(&object("checkout")));
        client.post("/validate", JSON, &review).await;
        assert_eq!(number(&asked), questions, "{user}");
    }
}

#[tokio::test]
async fn only_a_change_of_spec_is_asked_about_and_a_dry_run_is_one() {
    let (bed, asked) = guarded(Mood::Answers).await;
    let mut client = bed.client().await;
    let old = object("checkout");
    let mut labelled = old.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let answer = client
        .post("/validate", JSON, &reviews::by("john", &update(&labelled, &old)))
        .await;
    assert_eq!(answer.review()["response"]["allowed"], json!(true));
    let answer = client.post("/mutate", JSON, &reviews::by("john", &create(&old))).await;
    assert_eq!(answer.review()["response"]["allowed"], json!(true), "it stores nothing");
    assert_eq!(number(&asked), 0);
    let mut changed = old.clone();
    changed["spec"]["image_name"] = json!("registry.example/consumer:2");
    for review in [update(&changed, &old), create_with(&old, true)] {
        let answer = client.post("/validate", JSON, &reviews::by("john", &review)).await;
        assert_eq!(refusal(&answer).0, json!(403));
    }
}

#[tokio::test]
async fn who_may_not_is_told_nothing_else_and_takes_no_names() {
    let (bed, _) = guarded(Mood::Answers).await;
    let mut client = bed.client().await;
    let (mut first, mut second) = (object("first"), object("second"));
    first["spec"]["pipeline_name"] = json!("a.b");
    second["spec"]["pipeline_name"] = json!("a_b");
    let answer = client
        .post("/validate", JSON, &reviews::by("john", &create(&first)))
        .await;
    assert_eq!(refusal(&answer).0, json!(403));
    let answer = client
        .post("/validate", JSON, &reviews::by("jane", &create(&second)))
        .await;
    assert_eq!(
        answer.review()["response"]["allowed"],
        json!(true),
        "john reserved nothing"
    );
    let answer = client
        .post("/validate", JSON, &reviews::by("jane", &create(&first)))
        .await;
    assert!(causes(&answer)[0].1.starts_with("NameCollision"));
    let answer = client
        .post("/validate", JSON, &reviews::by("john", &create(&first)))
        .await;
    assert!(
        !refusal(&answer).2.contains("second"),
        "names of others are none of john's business"
    );
}

#[tokio::test]
async fn when_the_api_server_cannot_be_asked_the_request_is_refused_as_one_to_try_again() {
    for (mood, why) in [
        (Mood::Silent, "no answer within 100ms"),
        (Mood::Fails, "etcd is away"),
        (Mood::Refuses, "subjectaccessreviews.authorization.k8s.io is forbidden"),
    ] {
        let (bed, asked) = guarded(mood).await;
        let mut client = bed.client().await;
        for questions in 1..=2 {
            let review = reviews::by("jane", &create(&object("checkout")));
            let answer = client.post("/validate", JSON, &review).await;
            let (code, reason, message) = refusal(&answer);
            assert_eq!((code, reason), (json!(503), json!("ServiceUnavailable")));
            assert!(
                message.starts_with("whether user \"jane\" may create pods in the namespace \"work\"")
                    && message.contains(why)
                    && message.ends_with("Nothing was stored; try again in a few seconds"),
                "{message}"
            );
            assert_eq!(number(&asked), questions, "no answer is no answer to remember");
        }
        let text = bed.metrics.exposition().expect("metrics");
        let line = r#"admission_requests_total{kind="StreamingPipeline",operation="create",outcome="unavailable"} 2"#;
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn whom_the_api_server_does_not_name_is_not_admitted() {
    let (bed, _) = guarded(Mood::Answers).await;
    let mut review: Value = serde_json::from_slice(&create(&object("checkout"))).expect("JSON");
    review["request"]["userInfo"] = Value::Null;
    let answer = bed
        .client()
        .await
        .post("/validate", JSON, review.to_string().as_bytes())
        .await;
    assert_eq!(refusal(&answer).0, json!(403));
}
