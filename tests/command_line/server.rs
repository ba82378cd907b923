//! `validate --server` against an API server of the test's own: what is asked, and what becomes of the answers.

use std::net::SocketAddr;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{PIPELINE, code, stderr, stdout};

const COLLECTION: &str = "/apis/streams.sentry.io/v1alpha1/namespaces/ingest/streamingpipelines";

/// Method, path with query, body.
type Asked = Arc<Mutex<Vec<(String, String, Value)>>>;
/// Answers a method and a path: code, warnings, body.
type Answers = fn(&str, &str) -> (u16, &'static [&'static str], Value);

fn status(code: u16, reason: &str, message: &str, details: &Value) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
           "code": code, "reason": reason, "message": message, "details": details})
}

fn not_stored() -> (u16, &'static [&'static str], Value) {
    let details = json!({"name": "checkout", "group": "streams.sentry.io", "kind": "streamingpipelines"});
    (404, &[], status(404, "NotFound", "not found", &details))
}

/// An API server that gives these answers, and has a version.
async fn serve(answers: Answers) -> (SocketAddr, Asked) {
    let asked = Asked::default();
    let sink = Arc::clone(&asked);
    let handler = move |request: Request<Body>| {
        let sink = Arc::clone(&sink);
        async move {
            let (parts, body) = request.into_parts();
            let body = to_bytes(body, 1 << 20).await.expect("a body");
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let (method, path) = (parts.method.to_string(), parts.uri.to_string());
            if path == "/version" {
                return reply(
                    200,
                    &[],
                    &json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "",
                    "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}),
                );
            }
            let (code, warnings, answer) = answers(&method, &path);
            sink.lock().expect("no panic").push((method, path, body));
            reply(code, warnings, &answer)
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await });
    (address, asked)
}

fn reply(code: u16, warnings: &[&str], body: &Value) -> Response<Body> {
    let mut response = Response::builder()
        .status(code)
        .header("content-type", "application/json");
    for warning in warnings {
        response = response.header("warning", format!("299 - \"{warning}\""));
    }
    response.body(Body::from(body.to_string())).expect("a response")
}

/// Runs the program with a kubeconfig that leads to `address`, in the namespace `ingest`.
async fn validate(address: SocketAddr, arguments: &[&str], document: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "ingest"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "u", "user": {}}]});
    let (kubeconfig, file) = (folder.path().join("kubeconfig"), folder.path().join("p.yaml"));
    std::fs::write(&kubeconfig, config.to_string()).expect("a file");
    std::fs::write(&file, document).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
    command.args(["validate", "--server", "-f", "p.yaml"]).args(arguments);
    command.current_dir(folder.path()).env("KUBECONFIG", kubeconfig);
    let output = tokio::task::spawn_blocking(move || command.output().expect("the program"));
    let output = output.await.expect("it ran");
    drop(folder);
    output
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_document_is_a_dry_run_of_its_create_with_every_field_checked() {
    let (address, asked) = serve(|method, _| match method {
        "GET" => not_stored(),
        _ => (201, &[], json!({})),
    })
    .await;
    let output = validate(address, &[], &PIPELINE.replace(", namespace: ingest", "")).await;
    assert_eq!((code(&output), stderr(&output)), (Some(0), String::new()));
    assert_eq!(stdout(&output), "p.yaml:1: ingest/checkout: valid\n");
    let asked = asked.lock().expect("no panic");
    let [(get, path, _), (post, create, object)] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(
        (get.as_str(), path.as_str()),
        ("GET", &*format!("{COLLECTION}/checkout"))
    );
    let query = "?dryRun=All&fieldManager=streaming-operator-validate&fieldValidation=Strict";
    assert_eq!(
        (post.as_str(), create.as_str()),
        ("POST", &*format!("{COLLECTION}{query}"))
    );
    assert_eq!(
        object["metadata"],
        json!({"name": "checkout", "namespace": "ingest"}),
        "that of the kubeconfig"
    );
    assert_eq!(object["spec"]["image_name"], json!("registry.example/app:1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_document_is_a_dry_run_of_an_update_that_leaves_other_metadata_alone() {
    let (address, asked) = serve(|_, _| {
        let metadata = json!({"name": "checkout", "namespace": "ingest", "uid": "u1", "finalizers": ["f"]});
        (
            200,
            &[],
            json!({"metadata": metadata, "spec": {"service_name": "svc", "pipeline_name": "checkout"}}),
        )
    })
    .await;
    let output = validate(address, &[], PIPELINE).await;
    assert_eq!((code(&output), stderr(&output)), (Some(0), String::new()));
    let asked = asked.lock().expect("no panic");
    let (method, path, operations) = &asked[1];
    assert_eq!(method, "PATCH");
    assert!(
        path.starts_with(&format!("{COLLECTION}/checkout?dryRun=All&")),
        "{path}"
    );
    assert_eq!(
        operations[0],
        json!({"op": "add", "path": "/metadata/uid", "value": "u1"})
    );
    assert_eq!(operations[1]["path"], json!("/spec"));
    assert_eq!(operations.as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_server_stand_at_their_lines_beside_those_found_here() {
    let (address, _) = serve(|method, _| {
        if method == "GET" {
            return not_stored();
        }
        let causes = json!({"causes": [
            {"field": "spec.cpu_per_process", "message": "Invalid value: 0: should be at least 1", "reason": "FieldValueInvalid"},
            {"field": "spec.pipeline_config.pipeline.segments", "message": "of a policy", "reason": "FieldValueForbidden"}]});
        let warning: &[&str] = &["spec.image_name: is old", "a policy is deprecated"];
        (422, warning, status(422, "Invalid", "invalid", &causes))
    })
    .await;
    let bad = PIPELINE.replace("cpu_per_process: 100", "cpu_per_process: 0");
    let output = validate(address, &[], &bad).await;
    assert_eq!(code(&output), Some(1));
    assert_eq!(
        stdout(&output),
        "p.yaml:8: ingest/checkout: spec.cpu_per_process: is 0, must be at least 1\n\
         p.yaml:15: ingest/checkout: spec.pipeline_config.pipeline.segments: of a policy\n\
         p.yaml:7: ingest/checkout: warning: spec.image_name: is old\n\
         p.yaml:1: ingest/checkout: warning: a policy is deprecated\n"
    );
    let output = validate(address, &["-o", "github"], &bad).await;
    assert!(
        stdout(&output).contains("::error file=p.yaml,line=15::spec.pipeline_config.pipeline.segments: of a policy\n"),
        "{}",
        stdout(&output)
    );
    let output = validate(address, &["-o", "json"], &bad).await;
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(
        report["documents"][0]["faults"][1],
        json!({"field": "spec.pipeline_config.pipeline.segments", "rule": "api-server", "reason": "FieldValueForbidden",
               "message": "of a policy", "line": 15})
    );
    assert_eq!(report["documents"][0].get("unasked"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stored_pipeline_has_its_names_though_it_comes_later_in_the_files() {
    let (address, _) = serve(|method, path| match method {
        "GET" if path.ends_with("/another") => not_stored(),
        "GET" => {
            let spec = json!({"service_name": "svc", "pipeline_name": "orders", "pipeline_module": "pkg.mod",
                "image_name": "registry.example/app:1", "cpu_per_process": 100, "memory_per_process": 256,
                "deployment_template": {}, "container_template": {}, "pipeline_config": {}});
            (
                200,
                &[],
                json!({"metadata": {"name": "checkout", "uid": "u1"}, "spec": spec}),
            )
        }
        _ => (201, &[], json!({})),
    })
    .await;
    let stored = PIPELINE.replace("spec:", "spec:\n  pipeline_name: orders");
    let new = stored.replace("name: checkout", "name: another");
    let output = validate(address, &[], &format!("{new}---\n{stored}")).await;
    assert_eq!((code(&output), stderr(&output)), (Some(1), String::new()));
    assert_eq!(
        stdout(&output),
        "p.yaml:5: ingest/another: spec.pipeline_name: NameCollision: StreamingPipeline ingest/checkout can have Pods or \
         ConfigMaps named svc-pipeline-orders-0-canary in namespace ingest as well; choose another pipeline_name, \
         service_name or segment_id\np.yaml:18: ingest/checkout: valid\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_stored_meanwhile_is_looked_at_again() {
    static STORED: Mutex<bool> = Mutex::new(false);
    let (address, asked) = serve(|method, _| {
        let mut stored = STORED.lock().expect("no panic");
        match method {
            "GET" if !*stored => not_stored(),
            "POST" => {
                *stored = true;
                (409, &[], status(409, "AlreadyExists", "already exists", &json!({})))
            }
            _ => (
                200,
                &[],
                json!({"metadata": {"uid": "u1"}, "spec": {"service_name": "svc"}}),
            ),
        }
    })
    .await;
    let output = validate(address, &[], PIPELINE).await;
    assert_eq!((code(&output), stderr(&output)), (Some(0), String::new()));
    let asked = asked.lock().expect("no panic");
    let methods: Vec<_> = asked.iter().map(|(method, ..)| method.as_str()).collect();
    assert_eq!(methods, ["GET", "POST", "GET", "PATCH"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_or_may_not_be_asked_is_exit_code_4_and_hides_no_fault() {
    let forbidden: Answers = |method, path| match method {
        "GET" => not_stored(),
        _ if path.contains("selfsubjectaccessreviews") => (201, &[], json!({"spec": {}, "status": {"allowed": false}})),
        _ => (
            403,
            &[],
            status(403, "Forbidden", "User \"u\" cannot create it", &json!({})),
        ),
    };
    let away: Answers = |method, _| match method {
        "GET" => not_stored(),
        _ => (
            500,
            &[],
            status(500, "InternalError", "failed calling webhook \"v\"", &json!({})),
        ),
    };
    let no_kind: Answers = |_, _| {
        (
            404,
            &[],
            status(404, "NotFound", "could not find the resource", &json!({})),
        )
    };
    let bad = PIPELINE.replace("cpu_per_process: 100", "cpu_per_process: 0");
    for (answers, why) in [
        (forbidden, "User \"u\" cannot create it"),
        (away, "failed calling webhook \"v\""),
        (no_kind, "it knows no StreamingPipelines"),
    ] {
        let (address, _) = serve(answers).await;
        let output = validate(address, &[], &bad).await;
        assert_eq!(code(&output), Some(4), "{why}");
        let line = format!("p.yaml:1: ingest/checkout: the API server could not be asked: {why}");
        assert!(stderr(&output).starts_with(&line), "{}", stderr(&output));
        assert_eq!(
            stdout(&output),
            "p.yaml:8: ingest/checkout: spec.cpu_per_process: is 0, must be at least 1\n"
        );
        let good = validate(address, &[], PIPELINE).await;
        assert_eq!(
            (code(&good), stdout(&good)),
            (Some(4), String::new()),
            "unasked is not valid"
        );
    }
    // Nobody listens.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let output = validate(address, &["-o", "github"], PIPELINE).await;
    assert_eq!(code(&output), Some(4));
    assert!(stderr(&output).contains("refused"), "{}", stderr(&output));
    assert!(
        stdout(&output).starts_with("::error file=p.yaml,line=1::the API server could not be asked: "),
        "{}",
        stdout(&output)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_who_may_is_a_fault_of_the_whole_document() {
    let (address, _) = serve(|method, path| match method {
        "GET" => not_stored(),
        _ if path.contains("selfsubjectaccessreviews") => (201, &[], json!({"spec": {}, "status": {"allowed": true}})),
        _ => (403, &[], status(403, "Forbidden", "exceeded quota: q", &json!({}))),
    })
    .await;
    let output = validate(address, &[], PIPELINE).await;
    assert_eq!(
        (code(&output), stdout(&output)),
        (Some(1), "p.yaml:1: ingest/checkout: exceeded quota: q\n".to_owned())
    );
}
