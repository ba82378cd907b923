//! A release on the real API server whose operator runs outside the cluster: with the very arguments of its Deployment and
//! the rights of its `ServiceAccount`. kwok only plays the Pods, so the Service is led to this process instead.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::children::Running;
use testkit::control_plane::ControlPlane;
use testkit::wait::{self, Seen};
use testkit::{http, ports, workdir};

use crate::helm;

/// A release and the ports of its one process.
pub(crate) struct Release<'a> {
    pub(crate) cluster: &'a ControlPlane,
    pub(crate) namespace: String,
    pub(crate) name: String,
    webhook_port: u16,
    http_port: u16,
    log: PathBuf,
}

/// A replica of it. Killed when dropped.
pub(crate) struct Replica {
    process: Running,
    http_port: u16,
}

impl<'a> Release<'a> {
    /// Installs nothing yet.
    pub(crate) fn new(cluster: &'a ControlPlane, namespace: &str, name: &str) -> Self {
        Self {
            cluster,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            webhook_port: ports::free_port().unwrap(),
            http_port: ports::free_port().unwrap(),
            log: workdir::workdir("replica").unwrap().join("operator.log"),
        }
    }

    /// Values that let the API server find this process: it goes to `localhost` with the port of the Service.
    fn here(&self) -> String {
        format!(
            "listenAddress=127.0.0.1,service.port={0},webhook.port={0},http.port={1},settings.shutdownDelay=1ms,\
             resources=null",
            self.webhook_port, self.http_port
        )
    }

    fn arguments_of(&self, command: &str, chart: &str, arguments: &[&str]) -> Vec<String> {
        let here = self.here();
        let first = [
            command,
            &self.name,
            chart,
            "--namespace",
            &self.namespace,
            "--set",
            &here,
        ];
        let all = first.iter().chain(arguments);
        all.map(|argument| (*argument).to_owned()).collect()
    }

    /// Runs helm with the release's name, a chart, and values that let the API server find this process.
    pub(crate) async fn helm(&self, command: &str, chart: &str, arguments: &[&str]) -> String {
        let all = self.arguments_of(command, chart, arguments);
        helm::run(self.cluster, &all.iter().map(String::as_str).collect::<Vec<_>>()).await
    }

    /// The same, and what helm says against it.
    pub(crate) async fn helm_refuses(&self, command: &str, chart: &str, arguments: &[&str]) -> String {
        let all = self.arguments_of(command, chart, arguments);
        helm::refused(self.cluster, &all.iter().map(String::as_str).collect::<Vec<_>>()).await
    }

    /// The objects that `helm template` prints for it, without hooks.
    pub(crate) fn render(&self, values: &str) -> Vec<Value> {
        let here = self.here();
        let before = ["template", &self.name, "--namespace", &self.namespace, "--no-hooks"];
        let output = helm::with_chart(&before, &["--set", &here, "--set", values]);
        testkit::install::documents(std::str::from_utf8(&output.stdout).unwrap()).unwrap()
    }

    /// Another helm command about the release.
    pub(crate) async fn helm_on(&self, command: &[&str], arguments: &[&str]) -> String {
        let all = [command, &[&self.name, "--namespace", &self.namespace], arguments].concat();
        helm::run(self.cluster, &all).await
    }

    /// Leads the Service to this machine. Its type is the API server's default and not the chart's, so that this is undone
    /// by no upgrade.
    pub(crate) async fn lead_here(&self) {
        let patch = r#"{"spec":{"type":"ExternalName","externalName":"localhost"}}"#;
        self.kubectl(&["patch", "service", &self.name, "--type=merge", "--patch", patch])
            .await;
    }

    /// kubectl in the release's namespace.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> String {
        let all = [&["--namespace", &self.namespace], arguments].concat();
        self.cluster.kubectl(&all).await.unwrap()
    }

    /// An object of the release's namespace, or of the cluster.
    pub(crate) async fn get(&self, kind: &str, name: &str) -> Value {
        serde_json::from_str(&self.kubectl(&["get", kind, name, "--output=json"]).await).unwrap()
    }

    /// The arguments that the Deployment has now.
    pub(crate) async fn arguments(&self) -> Vec<String> {
        helm::arguments_of(&self.get("deployment", &self.name).await)
    }

    /// Starts a replica. `tls` is the folder that stands for the one into which the kubelet mounts the Secret.
    pub(crate) async fn start(&self, tls: Option<&Path>) -> Replica {
        let mut command = Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
        for argument in self.arguments().await {
            command.arg(match argument.split('=').next() {
                Some("--tls-dir") => format!("--tls-dir={}", tls.expect("a folder").display()),
                _ => argument,
            });
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STREAMS_")) {
            command.env_remove(name);
        }
        command.env("KUBECONFIG", self.kubeconfig().await);
        Replica {
            process: Running::start("streaming-operator", &command, &self.log).unwrap(),
            http_port: self.http_port,
        }
    }

    /// With the token of the release's `ServiceAccount`, as a Pod has it.
    async fn kubeconfig(&self) -> PathBuf {
        let deployment = self.get("deployment", &self.name).await;
        let account = deployment["spec"]["template"]["spec"]["serviceAccountName"].as_str();
        let token = self.kubectl(&["create", "token", account.expect("an account")]).await;
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": {
                "server": self.cluster.url(), "certificate-authority": self.cluster.ca_file(),
            } }],
            "users": [{ "name": "u", "user": { "token": token.trim() } }],
        });
        let path = workdir::workdir("account").unwrap().join("kubeconfig");
        std::fs::write(&path, text.to_string()).unwrap();
        path
    }
}

impl Replica {
    /// Waits until `/readyz` answers 200.
    pub(crate) async fn ready(&self) {
        self.readyz("it to be ready", |code, _| code == 200).await;
    }

    /// Waits until `/readyz` answers so.
    pub(crate) async fn readyz(&self, what: &str, holds: impl Fn(u16, &str) -> bool) {
        let url = format!("http://127.0.0.1:{}/readyz", self.http_port);
        wait::until(what, wait::DEADLINE, async || {
            if let Some(status) = self.process.ended()? {
                panic!("it ended with {status}: {}", self.process.tail(20));
            }
            let answer = http::get(&url).await?;
            Ok(Seen::when(answer, |(code, body)| holds(*code, body)))
        })
        .await
        .unwrap_or_else(|error| panic!("{error:#}\n{}", self.process.tail(30)));
    }

    /// Waits until its log has a text.
    pub(crate) async fn says(&self, text: &str) {
        let look = async || Ok(Seen::when(self.process.tail(60), |log| log.contains(text)));
        wait::until(text, wait::DEADLINE, look).await.unwrap();
    }

    /// Ends it as a kubelet does, and waits for that.
    pub(crate) async fn stop(self) {
        self.process.terminate().unwrap();
        let status = self.process.wait(wait::DEADLINE).await.unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.process.tail(30));
    }
}

/// A pipeline that is admitted, under a name of its own.
pub(crate) fn pipeline(name: &str) -> Value {
    json!({
        "apiVersion": "streams.sentry.io/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": { "name": name },
        "spec": {
            "service_name": "metrics",
            "pipeline_name": name,
            "pipeline_module": "sentry_streams/examples/simple_map_filter.py",
            "image_name": "registry.example/sentry-streams:0.0.69",
            "cpu_per_process": 500,
            "memory_per_process": 512,
            "replicas": 2,
            "deployment_template": {},
            "container_template": {},
            "pipeline_config": {
                "env": {},
                "pipeline": {
                    "adapter_config": { "arroyo": { "write_healthcheck": true } },
                    "segments": [{ "steps_config": {
                        "myinput": { "starts_segment": true, "bootstrap_servers": ["kafka-0.kafka:9092"] },
                        "mysink": { "bootstrap_servers": ["kafka-0.kafka:9092"] },
                    } }],
                },
            },
        },
    })
}

/// kubectl with a pipeline on a file, and what it said on stderr when it was refused.
pub(crate) async fn apply(
    cluster: &ControlPlane,
    namespace: &str,
    pipeline: &Value,
    more: &[&str],
) -> Result<String, String> {
    let file = workdir::workdir("apply").unwrap().join("pipeline.json");
    std::fs::write(&file, pipeline.to_string()).unwrap();
    let first = ["apply", "--namespace", namespace, "--filename", file.to_str().unwrap()];
    let applied = cluster.kubectl(&[&first[..], more].concat()).await;
    applied.map_err(|error| format!("{error:#}"))
}
