//! Each right that the chart gives is needed: the operator that lacks it does not start, and names it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use testkit::children::Running;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::users;
use testkit::wait::{self, Seen};
use testkit::{assets, ports, workdir};
use tokio::sync::OnceCell;

use crate::helm::objects;
use crate::program::run_with;

static CLUSTER: Shared = Shared::new(Options::api_server());

/// An API server that has the CRDs, for the tests of this binary that need no Pods to run.
pub(crate) async fn cluster() -> &'static ControlPlane {
    static CRDS: OnceCell<()> = OnceCell::const_new();
    let cluster = CLUSTER.get().await.unwrap();
    CRDS.get_or_init(async || cluster.install_crds(&assets::repository().join("crds")).await.unwrap())
        .await;
    cluster
}

/// One verb on one resource, as a role of the chart gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    verb: String,
    resource: String,
    group: String,
    /// Of a Role.
    namespace: Option<String>,
    name: Option<String>,
}

impl Right {
    /// As the operator begins when it names it: `update leases.coordination.k8s.io streaming-operator`.
    fn told(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let name = self.name.iter().map(|name| format!(" {name}"));
        format!(
            "{} {}{dot}{}{}",
            self.verb,
            self.resource,
            self.group,
            name.collect::<String>()
        )
    }

    /// A role that gives this right alone, and its binding to a group; both are called as the group is.
    fn role(&self, group: &str) -> [Value; 2] {
        let kind = if self.namespace.is_some() {
            "Role"
        } else {
            "ClusterRole"
        };
        let mut metadata = json!({ "name": group });
        if let Some(namespace) = &self.namespace {
            metadata["namespace"] = json!(namespace);
        }
        let mut rule = json!({ "apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb] });
        if let Some(name) = &self.name {
            rule["resourceNames"] = json!([name]);
        }
        let api = "rbac.authorization.k8s.io";
        [
            json!({ "apiVersion": format!("{api}/v1"), "kind": kind, "metadata": metadata, "rules": [rule] }),
            json!({
                "apiVersion": format!("{api}/v1"), "kind": format!("{kind}Binding"), "metadata": metadata,
                "roleRef": { "apiGroup": api, "kind": kind, "name": group },
                "subjects": [{ "apiGroup": api, "kind": "Group", "name": group }],
            }),
        ]
    }
}

/// Two tests must not add up their rights: the release's namespace tells their groups apart.
fn group(namespace: &str, number: usize) -> String {
    format!("{namespace}-{number}")
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.map(|text| text.as_str().expect("text").to_owned()).collect()
}

/// Every right of the operator's roles, one by one.
fn rights(values: &str, namespace: &str) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for role in objects(&[
        "--set",
        values,
        "--show-only",
        "templates/rbac.yaml",
        "--namespace",
        namespace,
    ]) {
        let namespace = role["metadata"]["namespace"].as_str().map(str::to_owned);
        for rule in role["rules"].as_array().into_iter().flatten() {
            let mut names: Vec<_> = texts(&rule["resourceNames"]).into_iter().map(Some).collect();
            if names.is_empty() {
                names.push(None);
            }
            for (group, resource) in product(&texts(&rule["apiGroups"]), &texts(&rule["resources"])) {
                for (verb, name) in product(&texts(&rule["verbs"]), &names) {
                    let (group, resource) = (group.clone(), resource.clone());
                    let namespace = namespace.clone();
                    rights.insert(Right {
                        verb,
                        resource,
                        group,
                        namespace,
                        name,
                    });
                }
            }
        }
    }
    rights
}

fn product<A: Clone, B: Clone>(a: &[A], b: &[B]) -> Vec<(A, B)> {
    a.iter()
        .flat_map(|a| b.iter().map(move |b| (a.clone(), b.clone())))
        .collect()
}

/// A user in these groups: `admin` speaks for it.
fn kubeconfig(cluster: &ControlPlane, user: &str, groups: &[String], folder: &Path) -> PathBuf {
    let admin = std::fs::read_to_string(cluster.kubeconfig(users::ADMIN).unwrap()).unwrap();
    let mut config = testkit::install::documents(&admin).unwrap().remove(0);
    config["users"][0]["user"]["as"] = json!(user);
    config["users"][0]["user"]["as-groups"] = json!(groups);
    let path = folder.join(format!("{user}.kubeconfig"));
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

fn start(kubeconfig: &Path, arguments: &[String], log: &Path) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
    command.args(arguments);
    for flag in ["--http-addr", "--webhook-addr"] {
        command.arg(format!("{flag}=127.0.0.1:{}", ports::free_port().unwrap()));
    }
    // A variable of the developer's shell must not change a test.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STREAMS_")) {
        command.env_remove(name);
    }
    command.env("KUBECONFIG", kubeconfig);
    Running::start("streaming-operator", &command, log).unwrap()
}

/// How it ended, or `None` once it has found that nothing is missing and goes on.
async fn outcome(process: &Running) -> Option<ExitStatus> {
    wait::until("a start or an end", wait::DEADLINE, async || {
        let ended = process.ended()?;
        let log = process.tail(200);
        let known = ended.is_some() || log.contains("readiness: running is met");
        Ok(if known { Seen::Yes(ended) } else { Seen::NotYet(log) })
    })
    .await
    .unwrap()
}

/// How the operator starts when it may do all but what `left_out` says.
struct Trial<'a> {
    cluster: &'a ControlPlane,
    /// Of the release.
    namespace: &'a str,
    rights: &'a BTreeSet<Right>,
    arguments: &'a [String],
    folder: PathBuf,
}

impl Trial<'_> {
    fn start_without(&self, left_out: Option<usize>) -> Running {
        let numbers = (0..self.rights.len()).filter(|number| Some(*number) != left_out);
        let groups: Vec<String> = numbers.map(|number| group(self.namespace, number)).collect();
        let user = left_out.map_or("whole".to_owned(), |number| format!("without-{number}"));
        let kubeconfig = kubeconfig(self.cluster, &user, &groups, &self.folder);
        start(&kubeconfig, self.arguments, &self.folder.join(format!("{user}.log")))
    }

    async fn is_named(&self, number: usize, right: &Right) {
        let process = self.start_without(Some(number));
        let status = outcome(&process).await;
        let status = status.unwrap_or_else(|| panic!("it starts without {right:?}: then it needs no such right"));
        let log = process.tail(20);
        assert_eq!(status.code(), Some(4), "{right:?}: {log}");
        let missing = log.split_once("does not grant: ").expect("a refusal").1;
        let missing = missing.split(['\n', '(']).next().unwrap_or_default();
        let missing = missing.split(". ").next().unwrap_or_default().trim_end();
        assert!(missing.starts_with(&right.told()), "{right:?}: {log}");
        assert!(!missing.contains(','), "more than {right:?}: {log}");
        if let Some(namespace) = &right.namespace {
            assert!(
                missing.ends_with(&format!("in namespace {namespace}")),
                "{right:?}: {log}"
            );
        }
        self.is_named_by_check(number, missing).await;
    }

    /// `check` says the same of whoever asks, among everything else that such an account may not see.
    async fn is_named_by_check(&self, number: usize, missing: &str) {
        let kubeconfig = self.folder.join(format!("without-{number}.kubeconfig"));
        let before = ["check", "--as-self", "--namespace", self.namespace, "--"];
        let flags = self
            .arguments
            .iter()
            .map(String::as_str)
            .filter(|argument| *argument != "run");
        let arguments: Vec<&str> = before.into_iter().chain(flags).collect();
        let ran = run_with(&kubeconfig, &arguments).await;
        let lines = ran.lines("WRONG", "rights");
        let [line] = &lines[..] else {
            panic!("{missing}: {}{}", ran.stdout, ran.stderr)
        };
        let told = format!("whoever asks: the API server does not grant: {missing} do: ");
        assert!(line.starts_with(&told), "{missing}: {line}");
        assert_eq!(ran.code, Some(1), "{missing}");
    }
}

/// Takes each right of a release away in turn, none skipped.
async fn each_is_needed(cluster: &ControlPlane, namespace: &str, values: &str, at_least: usize) {
    let rights = rights(values, namespace);
    assert!(rights.len() >= at_least, "{}", rights.len());
    let roles = rights.iter().enumerate();
    let roles: Vec<Value> = roles
        .flat_map(|(number, right)| right.role(&group(namespace, number)))
        .collect();
    cluster.apply(&roles).await.unwrap();
    let rendered = objects(&["--set", values, "--namespace", namespace]);
    let deployment = crate::helm::named(&rendered, "Deployment", "streaming-operator");
    let mut arguments = crate::helm::arguments_of(deployment);
    arguments.retain(|argument| !argument.contains("-addr="));
    let trial = Trial {
        cluster,
        namespace,
        rights: &rights,
        arguments: &arguments,
        folder: workdir::workdir("rights").unwrap(),
    };

    // With all of them it starts. Until then the authorizer, which reads roles through a watch, may not have seen them all.
    wait::until("a start with all rights", wait::DEADLINE, async || {
        let whole = trial.start_without(None);
        Ok(match outcome(&whole).await {
            Some(_) => Seen::NotYet(whole.tail(20)),
            None => Seen::Yes(()),
        })
    })
    .await
    .unwrap();

    let trials = stream::iter(rights.iter().enumerate()).map(|(number, right)| trial.is_named(number, right));
    trials.buffer_unordered(4).collect::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_one_of_its_rights_the_operator_does_not_start_and_names_it() {
    let cluster = cluster().await;
    let own = cluster.namespace("own").await.unwrap();
    each_is_needed(cluster, &own, "crds.install=false", 40).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_where_it_watches_one_namespace_and_runs_pods_in_another() {
    let cluster = cluster().await;
    let own = cluster.namespace("own").await.unwrap();
    let watched = cluster.namespace("watched").await.unwrap();
    let pods = cluster.namespace("pods").await.unwrap();
    let values = format!("crds.install=false,watchNamespaces={{{watched}}},workloadNamespace={pods}");
    each_is_needed(cluster, &own, &values, 40).await;
}
