//! The operator as a program: bad flags, what it says when something is missing, and how it ends.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use std::path::PathBuf;
use std::process::{Command, Output};

use testkit::children::Running;
use testkit::control_plane::{ControlPlane, Options};
use testkit::install::{Roles, Webhooks};
use testkit::operator::{Launch, Operator};
use testkit::proxy::{Fault, Match, Proxy};
use testkit::wait::{self, Seen};
use testkit::{assets, http, ports, workdir};

const BINARY: &str = env!("CARGO_BIN_EXE_streaming-operator");

fn run(flags: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    // A variable of the developer's shell must not change a test.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STREAMS_")) {
        command.env_remove(name);
    }
    command.args(flags).output().expect("the program")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn bad_flags_are_all_told_at_once_with_exit_code_2() {
    let output = run(&["run", "--lease-duration=5s", "--tls-mode=files", "--http-addr=nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert_eq!(told.lines().count(), 3, "{told}");
    for flag in ["--renew-deadline", "--tls-dir", "--http-addr"] {
        assert!(told.contains(flag), "{told}");
    }
}

#[test]
fn a_flag_that_does_not_exist_is_exit_code_2() {
    assert_eq!(run(&["run", "--no-such-flag"]).status.code(), Some(2));
}

#[test]
fn the_version_has_the_commit_and_the_kubernetes_api() {
    let output = run(&["--version"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.starts_with("streaming-operator 0.1.0 (commit "), "{text}");
    assert!(text.contains("Kubernetes API v1.33 or later"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_named_with_exit_code_2() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let flag = format!("--http-addr={addr}");
    let output = tokio::task::spawn_blocking(move || run(&["run", &flag])).await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains(&format!("--http-addr {addr} cannot be listened to")),
        "{}",
        stderr(&output)
    );
}

/// The program with another limit of open files, soft and hard.
fn run_with_open_files(files: u32, flags: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, BINARY]).args(flags);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STREAMS_")) {
        command.env_remove(name);
    }
    command
}

#[test]
fn too_few_open_files_to_serve_admission_are_exit_code_2_with_what_to_raise() {
    let flags = ["run", "--http-addr=127.0.0.1:0", "--webhook-addr=127.0.0.1:0"];
    let output = run_with_open_files(700, &flags).output().expect("the program");
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains("may have 700 files open") && told.contains("ulimit -Hn"),
        "{told}"
    );
}

/// A kubeconfig of a server that does not answer.
fn away() -> (PathBuf, PathBuf) {
    let folder = workdir::workdir("away").unwrap();
    let port = ports::free_port().unwrap();
    let text = format!(
        r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}],
            "clusters": [{{"name": "c", "cluster": {{"server": "http://127.0.0.1:{port}"}}}}],
            "users": [{{"name": "u", "user": {{}}}}]}}"#
    );
    let kubeconfig = folder.join("kubeconfig");
    std::fs::write(&kubeconfig, text).unwrap();
    (kubeconfig, folder.join("operator.log"))
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_api_server_is_away_it_waits_alive_and_not_ready_and_says_so() {
    let (kubeconfig, log) = away();
    let launch = Launch {
        binary: BINARY.into(),
        kubeconfig,
        namespace: "ops".to_owned(),
        webhook_port: ports::free_port().unwrap(),
        http_port: ports::free_port().unwrap(),
        arguments: Vec::new(),
        environment: Vec::new(),
        log,
    };
    let operator = launch.start().unwrap();
    said(&operator, "the API server cannot be asked; waits for it").await;
    assert_eq!(http::get(&operator.url("/livez")).await.unwrap().0, 200);
    let (code, body) = http::get(&operator.url("/readyz")).await.unwrap();
    assert_eq!(code, 503, "{body}");
    operator.terminate().unwrap();
    assert_eq!(operator.wait().await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_fewer_open_files_than_connections_it_says_how_many_it_holds() {
    let (kubeconfig, log) = away();
    let flags = ["run", "--http-addr=127.0.0.1:0", "--webhook-addr=127.0.0.1:0"];
    let mut command = run_with_open_files(2000, &flags);
    command.env("KUBECONFIG", kubeconfig);
    let process = Running::start("streaming-operator", &command, &log).unwrap();
    let text = "connections=1488 wanted=12000";
    let look = async || Ok(Seen::when(process.tail(20), |log| log.contains(text)));
    wait::until(text, wait::DEADLINE, look).await.unwrap();
}

async fn said(operator: &Operator, text: &str) {
    let look = async || Ok(Seen::when(operator.log_tail(60), |log| log.contains(text)));
    wait::until(text, wait::DEADLINE, look).await.unwrap();
}

async fn ends_with(launch: &Launch, code: i32) -> String {
    let operator = launch.start().unwrap();
    let status = operator.wait().await.unwrap();
    let log = operator.log_tail(60);
    assert_eq!(status.code(), Some(code), "{log}");
    log
}

/// One story, for each step needs the one before.
#[tokio::test(flavor = "multi_thread")]
async fn it_names_what_is_missing_until_nothing_is_and_then_ends_when_it_is_told() {
    let cluster = ControlPlane::start(Options::api_server()).await.unwrap();
    let namespace = cluster.namespace("ops").await.unwrap();
    let launch = Launch::new(BINARY, &cluster, &namespace)
        .unwrap()
        .with(&["--shutdown-delay=0s"]);

    // No rights at all: not even the CRD may be looked for.
    let log = ends_with(&launch, 4).await;
    assert!(
        log.contains("does not grant: get customresourcedefinitions.apiextensions.k8s.io"),
        "{log}"
    );
    assert!(log.contains("create pods"), "{log}");
    let own = format!("The Role streaming-operator-own in namespace {namespace} of the chart does");
    assert!(
        log.contains("The ClusterRole streaming-operator of the chart does"),
        "{log}"
    );
    assert!(log.contains(&own), "{log}");

    // Neither may analyses hold Deployments, nor do Pods run elsewhere: nobody is asked about users.
    let launch = launch.with(&["--deployment-targets=false"]);
    let roles = Roles {
        deployment_targets: false,
        ..Roles::everywhere(&namespace)
    };
    cluster.install_roles(&roles).await.unwrap();
    let log = ends_with(&launch, 4).await;
    assert!(
        log.contains("CustomResourceDefinition streamingpipelines.streams.sentry.io is not there"),
        "{log}"
    );
    assert!(
        !log.lines().last().unwrap_or_default().contains("does not grant"),
        "{log}"
    );

    // Of the rights, those that hang on a flag.
    let shared = launch.clone().with(&["--workload-namespace=work"]);
    let missing = "the API server does not grant: create subjectaccessreviews.authorization.k8s.io. The ClusterRole";
    let log = ends_with(&shared, 4).await;
    assert!(log.contains(missing), "{log}");
    let log = ends_with(&shared.with(&["--workload-access-check=false"]), 4).await;
    let last = log.lines().last().unwrap_or_default();
    assert!(last.contains("CustomResourceDefinition"), "{log}");

    cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
    cluster
        .install_webhooks(&Webhooks::new(&namespace, launch.webhook_port))
        .await
        .unwrap();
    let operator = launch.start().unwrap();
    operator.ready().await.unwrap();
    operator.terminate().unwrap();
    assert_eq!(
        operator.wait().await.unwrap().code(),
        Some(0),
        "{}",
        operator.log_tail(30)
    );
    assert!(
        operator.log_tail(10).contains("gave the lease up"),
        "{}",
        operator.log_tail(10)
    );

    // A second signal does not wait for the delay.
    let operator = Launch {
        arguments: ["--shutdown-delay=600s", "--deployment-targets=false"]
            .map(str::to_owned)
            .to_vec(),
        ..launch
    };
    let operator = operator.start().unwrap();
    operator.ready().await.unwrap();
    operator.terminate().unwrap();
    // The kernel merges two signals of which the first has not been taken.
    let look = async || {
        Ok(Seen::when(http::get(&operator.url("/readyz")).await?.0, |code| {
            *code == 503
        }))
    };
    wait::until("the first signal to be heard", wait::DEADLINE, look)
        .await
        .unwrap();
    operator.terminate().unwrap();
    assert_eq!(operator.wait().await.unwrap().code(), Some(130));
}

/// A replica that knows only some of the pipelines would admit two with the same names.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_not_ready_before_every_cache_has_seen_a_whole_list() {
    let cluster = ControlPlane::start(Options::api_server()).await.unwrap();
    let namespace = cluster.namespace("ops").await.unwrap();
    cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
    cluster.install_roles(&Roles::everywhere(&namespace)).await.unwrap();
    let proxy = Proxy::start(&cluster).unwrap();
    let launch = Launch::new(BINARY, &cluster, &namespace).unwrap();
    let launch = launch.via(&cluster, &proxy.url()).unwrap();
    let webhooks = Webhooks::new(&namespace, launch.webhook_port);
    cluster.install_webhooks(&webhooks).await.unwrap();
    let resources = ["streamingpipelines", "controllerrevisions", "pods", "configmaps"];
    for resource in resources {
        proxy.clear();
        let refusal = Fault::answer(500, "InternalError", "not now");
        let refused = proxy.on(Match::of("list", resource).always(), refusal);
        let operator = launch.start().unwrap();
        refused.fired(wait::DEADLINE).await.unwrap();
        let look = async || {
            let unready = http::get(&operator.url("/readyz")).await?;
            Ok(Seen::when(unready, |unready| {
                *unready == (503, "caches-synced: not yet\n".to_owned())
            }))
        };
        let what = format!("all but the list of {resource}");
        wait::until(&what, wait::DEADLINE, look).await.unwrap();
        proxy.clear();
        operator.ready().await.unwrap();
        operator.kill9().unwrap();
        operator.wait().await.unwrap();
    }
}

/// The CRDs of this release, that of pipelines without some of its fields.
fn older_crds(without: &[&str]) -> PathBuf {
    let folder = workdir::workdir("older").unwrap();
    for entry in std::fs::read_dir(assets::repository().join("crds")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut crd = testkit::install::documents(&text).unwrap().remove(0);
        let kind = crd.pointer("/spec/names/kind").and_then(|kind| kind.as_str());
        let of_pipelines = kind == Some("StreamingPipeline");
        for pointer in without.iter().filter(|_| of_pipelines) {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            let schema = "/spec/versions/0/schema/openAPIV3Schema/properties";
            let fields = crd
                .pointer_mut(&format!("{schema}{parent}"))
                .and_then(|value| value.as_object_mut());
            fields.and_then(|fields| fields.remove(field)).expect(pointer);
        }
        let name = format!("{}.json", path.file_stem().unwrap().display());
        std::fs::write(folder.join(name), crd.to_string()).unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn started_against_an_older_crd_it_names_the_missing_fields_and_is_not_ready_until_it_is_upgraded() {
    let cluster = ControlPlane::start(Options::api_server()).await.unwrap();
    let namespace = cluster.namespace("ops").await.unwrap();
    let older = older_crds(&[
        "/spec/properties/suspend",
        "/spec/properties/rollout/properties/onFailure",
    ]);
    cluster.install_crds(&older).await.unwrap();
    cluster.install_roles(&Roles::everywhere(&namespace)).await.unwrap();
    let launch = Launch::new(BINARY, &cluster, &namespace).unwrap();
    let webhooks = Webhooks::new(&namespace, launch.webhook_port);
    cluster.install_webhooks(&webhooks).await.unwrap();
    let operator = launch.start().unwrap();
    let missing = "the CustomResourceDefinition streamingpipelines.streams.sentry.io is older than this release and lacks \
                   spec.rollout.onFailure, spec.suspend. `streaming-operator crd | kubectl apply --server-side -f -` \
                   upgrades it";
    said(&operator, missing).await;
    let (code, body) = http::get(&operator.url("/readyz")).await.unwrap();
    assert_eq!(code, 503, "{body}");
    assert!(body.contains(&format!("crds: {missing}")), "{body}");
    assert_eq!(http::get(&operator.url("/livez")).await.unwrap().0, 200);
    let lease = ["get", "lease", "--namespace", &namespace, "--output=name"];
    assert_eq!(cluster.kubectl(&lease).await.unwrap(), "", "it does not lead");

    cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
    operator.ready().await.unwrap();
}
