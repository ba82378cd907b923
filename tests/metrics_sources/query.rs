//! `streaming-operator query` as people call it: what it shows, and its exit codes.

use std::net::SocketAddr;
use std::process::{Command, Output};

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use serde_json::{Value, json};
use testkit::metrics_proxy::Fault;
use testkit::{ports, workdir};
use tokio::net::TcpListener;

use super::bed::Bed;

const HOLDS: &str = r"
apiVersion: streams.sentry.io/v1alpha1
kind: RolloutAnalysis
metadata: {name: checkout, namespace: ingest}
spec:
  target: {kind: StreamingPipeline, name: checkout}
  metrics:
  - {name: errors, query: vector(0.25), maxValue: 0.25}
";

/// Metrics in the place of those of [`HOLDS`].
fn with(metrics: &str) -> String {
    HOLDS.replace("{name: errors, query: vector(0.25), maxValue: 0.25}", metrics)
}

/// Runs the program in a folder of its own, in which the analysis is `ra.yaml`.
async fn query(manifest: &str, arguments: &[&str], kubeconfig: &Value) -> Output {
    let folder = workdir::workdir("query").unwrap();
    std::fs::write(folder.join("ra.yaml"), manifest).unwrap();
    std::fs::write(folder.join("kubeconfig"), kubeconfig.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
    command.args(["query", "-f", "ra.yaml"]).args(arguments);
    command
        .current_dir(&folder)
        .env("KUBECONFIG", folder.join("kubeconfig"));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    output.await.unwrap()
}

/// [`query`] of a Prometheus behind a proxy, where no API server is.
async fn ask(bed: &Bed, manifest: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let url = bed.proxy.url();
    let all = [&["--url", &url], arguments].concat();
    told(&query(manifest, &all, &nobody()).await)
}

fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn nobody() -> Value {
    kubeconfig(SocketAddr::from(([127, 0, 0, 1], ports::free_port().unwrap())))
}

fn kubeconfig(address: SocketAddr) -> Value {
    json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "ingest"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "u", "user": {}}]})
}

#[tokio::test]
async fn a_metric_that_holds_is_shown_with_its_value_its_limit_and_what_was_asked() {
    let bed = Bed::start().await;
    let expected = "\
ra.yaml:2: ingest/checkout
  errors = 0.25 <= 0.25: holds
    default was asked: vector(0.25)
    {} 0.25
";
    assert_eq!(
        ask(&bed, HOLDS, &[]).await,
        (Some(0), expected.to_owned(), String::new())
    );
}

#[tokio::test]
async fn a_metric_that_does_not_hold_is_answered_with_1_and_the_worst_series_decides() {
    let bed = Bed::start().await;
    let query = r#"label_replace(vector(1), "pod", "a", "", "") or label_replace(vector(3), "pod", "b", "", "")"#;
    let manifest = with(&format!("{{name: lag, query: '{query}', maxValue: 2}}"));
    let expected = format!(
        "\
ra.yaml:2: ingest/checkout
  lag = 3 > 2: does not hold
    default was asked: {query}
    {{pod=\"a\"}} 1
    {{pod=\"b\"}} 3
"
    );
    assert_eq!(ask(&bed, &manifest, &[]).await, (Some(1), expected, String::new()));
}

#[tokio::test]
async fn what_has_no_value_does_not_hold() {
    let bed = Bed::start().await;
    let manifest = with(
        "{name: gone, query: absent(vector(1)), minValue: 1}\n  - {name: nan, query: vector(NaN), minValue: 1}\n  - {name: typo, query: 'vector(1, 2)', minValue: 1}",
    );
    let (code, stdout, stderr) = ask(&bed, &manifest, &[]).await;
    assert_eq!((code, stderr.as_str()), (Some(1), ""));
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!(lines[1], "  gone: no data");
    assert_eq!(lines[3], "  nan: no data");
    assert_eq!(lines[5], "    {} NaN");
    let begin = "  typo: no answer: metrics source default refuses the query: ";
    assert!(lines[6].starts_with(begin), "{stdout}");
}

#[tokio::test]
async fn programs_get_every_series_and_what_was_asked_as_json() {
    let bed = Bed::start().await;
    let (code, stdout, _) = ask(
        &bed,
        &with("{name: up, query: scalar(vector(2)), minValue: 1, maxValue: 4}"),
        &["-o", "json"],
    )
    .await;
    assert_eq!(code, Some(0));
    assert_eq!(
        serde_json::from_str::<Value>(&stdout).unwrap(),
        json!({"holds": true, "analyses": [{
            "file": "ra.yaml", "line": 2, "namespace": "ingest", "name": "checkout",
            "target": {"kind": "StreamingPipeline", "name": "checkout"},
            "metrics": [{"name": "up", "source": "default", "query": "scalar(vector(2))", "holds": true,
                "value": "2", "limit": ">= 1", "series": [{"labels": {}, "value": "2"}]}],
        }]})
    );
}

#[tokio::test]
async fn a_source_that_does_not_answer_is_answered_with_4_even_where_another_metric_does_not_hold() {
    let bed = Bed::start().await;
    bed.proxy.fail(Fault::Answer(503, String::new()));
    let (code, stdout, _) = ask(&bed, HOLDS, &[]).await;
    assert_eq!(code, Some(4));
    assert!(
        stdout.contains("\n  errors: no answer: metrics source default answers 503\n"),
        "{stdout}"
    );
}

#[tokio::test]
async fn sources_are_asked_as_their_files_say_and_one_that_is_not_given_is_answered_with_2() {
    let bed = Bed::start().await;
    let folder = workdir::workdir("source").unwrap();
    let (file, token) = (folder.join("s.yaml"), folder.join("token"));
    std::fs::write(&token, "secret").unwrap();
    std::fs::write(
        &file,
        format!("url: {}\nbearerTokenFile: {}\n", bed.proxy.url(), token.display()),
    )
    .unwrap();
    let source = format!("--metrics-source=default={}", file.display());
    assert_eq!(told(&query(HOLDS, &[&source], &nobody()).await).0, Some(0));
    assert_eq!(bed.proxy.asked()[0].headers["authorization"], "Bearer secret");
    let other = with("{name: errors, query: vector(1), maxValue: 2, source: mimir}");
    let (code, stdout, _) = told(&query(&other, &[&source], &nobody()).await);
    assert_eq!(code, Some(2));
    let words = "errors: no answer: the operator has no metrics source \"mimir\"; configured: default";
    assert!(stdout.contains(words), "{stdout}");
    let (code, _, stderr) = told(&query(HOLDS, &["--metrics-source=default=none.yaml"], &nobody()).await);
    assert_eq!(
        (code, stderr.as_str()),
        (
            Some(2),
            "streaming-operator: --metrics-source default=none.yaml: the file cannot be read: No such file or directory (os error 2)\n"
        )
    );
}

#[tokio::test]
async fn variables_are_what_the_command_line_says() {
    let bed = Bed::start().await;
    let manifest = with(
        r#"{name: a, query: 'vector(1) or up{n="$(namespace)",a="$(name)",r="$(revision)",c=~"$(canaryPods)",p=~"$(primaryPods)"}', maxValue: 2}"#,
    );
    let variables = ["--var=revision=5f2c", "--var=canaryPods=c-1,c-2", "--var=primaryPods="];
    let (code, stdout, stderr) = ask(&bed, &manifest, &variables).await;
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let asked = r#"vector(1) or up{n="ingest",a="checkout",r="5f2c",c=~"c-1|c-2",p=~"$.^"}"#;
    assert!(stdout.contains(asked), "{stdout}");
    let (code, _, stderr) = ask(&bed, &manifest, &["--var=pods=a"]).await;
    assert_eq!(code, Some(2));
    let words = "\"pods\" is no variable; there are namespace, name, revision, canaryPods, primaryPods";
    assert!(stderr.contains(words), "{stderr}");
}

#[tokio::test]
async fn without_an_api_server_a_variable_that_only_it_knows_is_answered_with_4_and_nothing_is_asked() {
    let bed = Bed::start().await;
    let manifest = with(r#"{name: a, query: 'up{pod=~"$(canaryPods)"}', maxValue: 2}"#);
    let (code, stdout, stderr) = ask(&bed, &manifest, &[]).await;
    assert_eq!((code, stdout.as_str()), (Some(4), ""));
    assert!(
        stderr.starts_with("ra.yaml:2: checkout: the API server cannot be asked: ")
            && stderr.contains("nobody knows what $(canaryPods) stands for; say it with --var canaryPods=…"),
        "{stderr}"
    );
    assert_eq!(bed.proxy.asked(), []);
}

fn pod(name: &str, revision: &str) -> Value {
    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
        "metadata": {"name": name, "labels": {"streams.sentry.io/revision": revision}}})
}

/// An API server with the pipeline `checkout` that is between two revisions.
async fn api_server() -> SocketAddr {
    let handler = |request: Request<Body>| async move {
        let body = match request.uri().path() {
            "/version" => json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "",
                "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}),
            "/apis/streams.sentry.io/v1alpha1/namespaces/ingest/streamingpipelines/checkout" => json!({
                "apiVersion": "streams.sentry.io/v1alpha1", "kind": "StreamingPipeline",
                "metadata": {"name": "checkout", "namespace": "ingest", "uid": "u-1"}, "spec": {},
                "status": {"updateRevision": "bbbbbbbbbb", "currentRevision": "aaaaaaaaaa"}}),
            "/api/v1/namespaces/ingest/pods" => {
                let query = request.uri().query().unwrap_or_default();
                assert!(
                    query.contains("labelSelector=streams.sentry.io%2Fowner-uid%3Du-1"),
                    "{query}"
                );
                let mut ending = pod("canary-1", "bbbbbbbbbb");
                ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {},
                    "items": [pod("primary-2", "aaaaaaaaaa"), pod("primary-1", "aaaaaaaaaa"), pod("canary-0", "bbbbbbbbbb"), ending]})
            }
            path => {
                let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "code": 404, "reason": "NotFound", "message": format!("no {path}")});
                return Response::builder()
                    .status(404)
                    .body(Body::from(status.to_string()))
                    .unwrap();
            }
        };
        Response::new(Body::from(body.to_string()))
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await });
    address
}

#[tokio::test]
async fn what_the_command_line_does_not_say_is_looked_up_at_the_live_target() {
    let bed = Bed::start().await;
    let config = kubeconfig(api_server().await);
    let manifest = with(
        r#"{name: a, query: 'vector(1) or up{r="$(revision)",c=~"$(canaryPods)",p=~"$(primaryPods)"}', maxValue: 2}"#,
    );
    let url = bed.proxy.url();
    let (code, stdout, stderr) = told(&query(&manifest, &["--url", &url], &config).await);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let asked = r#"vector(1) or up{r="bbbbbbbbbb",c=~"canary-0",p=~"primary-1|primary-2"}"#;
    assert!(stdout.contains(asked), "{stdout}");
    let missing = manifest.replace("StreamingPipeline, name: checkout", "StreamingPipeline, name: other");
    let (code, stdout, stderr) = told(&query(&missing, &["--url", &url], &config).await);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert_eq!(
        stderr,
        "ra.yaml:2: checkout: there is no StreamingPipeline ingest/other, or no revision of it yet, so nobody knows what \
         $(revision) stands for; say it with --var revision=…\n"
    );
}

#[tokio::test]
async fn an_analysis_with_faults_is_answered_with_1_and_each_fault_with_its_line() {
    let bed = Bed::start().await;
    let manifest = HOLDS.replace("maxValue: 0.25}", "}\n  interval: 1s");
    let (code, stdout, stderr) = ask(&bed, &manifest, &[]).await;
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("ra.yaml:9: checkout: spec.interval: "), "{stderr}");
    assert!(stderr.contains("ra.yaml:8: checkout: spec.metrics[0]"), "{stderr}");
    let (code, _, stderr) = ask(&bed, "kind: Pod\napiVersion: v1\n", &[]).await;
    assert_eq!(code, Some(2));
    assert_eq!(
        stderr,
        "streaming-operator: no RolloutAnalysis of streams.sentry.io/v1alpha1 was found in ra.yaml\n\
         ra.yaml:1: skipped: v1 Pod is no RolloutAnalysis of streams.sentry.io/v1alpha1\n"
    );
}
