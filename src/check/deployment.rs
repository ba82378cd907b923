//! The Deployment of an installed operator: how it runs, and why a replica of it does not. Must never take a Deployment
//! without the chart's label for one.

use std::collections::BTreeMap;

use http::Request;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};

use super::{Finding, State, Subject};
use crate::client::in_words;
use crate::operator::NAME;

const CHECK: &str = "deployment";
/// Label of the chart, with [`NAME`] as value.
const LABEL_NAME: &str = "app.kubernetes.io/name";
/// Label of the chart with the version.
const LABEL_VERSION: &str = "app.kubernetes.io/version";
/// Prefix of the environment variables that stand for flags.
const VARIABLES: &str = "STREAMS_";

/// An operator as its Deployment says it runs.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Its namespace.
    pub namespace: String,
    /// The name of the Deployment.
    pub name: String,
    /// Flags of `run`: its arguments, before them what its environment says.
    pub flags: Vec<String>,
    /// The name of its ServiceAccount.
    pub account: String,
    /// Its image.
    pub image: String,
    /// As the chart labels it.
    pub version: Option<String>,
    /// The Secret that is mounted with its certificate, where it does not make that itself.
    pub tls_secret: Option<String>,
    /// The port of its probes and metrics.
    http_port: i32,
    selector: BTreeMap<String, String>,
    wanted: i32,
    available: i32,
}

/// The Deployments of the chart, in one namespace or in all. Fails when they may not be listed.
pub async fn find(client: &Client, namespace: Option<&str>) -> Result<Vec<Installed>, kube::Error> {
    let api: Api<Deployment> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let params = ListParams::default().labels(&format!("{LABEL_NAME}={NAME}"));
    Ok(api.list(&params).await?.items.iter().filter_map(read).collect())
}

fn read(deployment: &Deployment) -> Option<Installed> {
    let spec = deployment.spec.as_ref()?;
    let pod = spec.template.spec.as_ref()?;
    let container = pod.containers.iter().find(|container| container.name == "operator");
    let container = container.or_else(|| pod.containers.first())?;
    let port = container
        .ports
        .iter()
        .flatten()
        .find(|port| port.name.as_deref() == Some("http"));
    let tls = pod.volumes.iter().flatten().find(|volume| volume.name == "tls");
    let status = deployment.status.as_ref();
    Some(Installed {
        namespace: deployment.namespace()?,
        name: deployment.name_any(),
        flags: flags(container),
        account: pod.service_account_name.clone().unwrap_or_else(|| "default".to_owned()),
        image: container.image.clone().unwrap_or_default(),
        version: deployment.labels().get(LABEL_VERSION).cloned(),
        tls_secret: tls.and_then(|volume| volume.secret.as_ref()?.secret_name.clone()),
        http_port: port.map_or(8080, |port| port.container_port),
        selector: spec.selector.match_labels.clone().unwrap_or_default(),
        wanted: spec.replicas.unwrap_or(1),
        available: status.and_then(|status| status.available_replicas).unwrap_or_default(),
    })
}

fn flags(container: &Container) -> Vec<String> {
    let arguments = container.args.iter().flatten().filter(|argument| *argument != "run");
    let arguments: Vec<String> = arguments.cloned().collect();
    let is_given = |flag: &str| {
        arguments
            .iter()
            .any(|argument| argument.split('=').next() == Some(flag))
    };
    let variables = container.env.iter().flatten().filter_map(|variable| {
        let flag = variable.name.strip_prefix(VARIABLES)?.to_lowercase().replace('_', "-");
        let flag = format!("--{flag}");
        let value = variable.value.as_ref().filter(|value| !value.is_empty())?;
        (!is_given(&flag)).then(|| format!("{flag}={value}"))
    });
    let variables: Vec<String> = variables.collect();
    [variables, arguments].concat()
}

/// How many replicas there are, and why those that are not ready are not.
pub(super) async fn look(subject: &Subject<'_>, installed: &Installed) -> Vec<Finding> {
    let Installed {
        namespace,
        name,
        wanted,
        available,
        ..
    } = installed;
    let message = format!("Deployment {namespace}/{name}: {available} of {wanted} replicas are available");
    if *wanted == 0 {
        let todo = format!("kubectl --namespace {namespace} scale deployment {name} --replicas=2");
        return vec![Finding::wrong(CHECK, message, todo)];
    }
    if available >= wanted {
        return vec![Finding::ok(CHECK, message)];
    }
    let api = Api::<Pod>::namespaced(subject.client.clone(), namespace);
    let selector: Vec<String> = installed
        .selector
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let pods = match api.list(&ListParams::default().labels(&selector.join(","))).await {
        Ok(pods) => pods.items,
        Err(error) => {
            let todo = format!("kubectl --namespace {namespace} describe pods");
            let message = format!("{message}; cannot list pods: {}", in_words(&error));
            return vec![Finding::wrong(CHECK, message, todo)];
        }
    };
    let mut reasons = Vec::new();
    for pod in pods.iter().filter(|pod| !is_ready(pod)) {
        let why = match why_not(pod) {
            Some(why) => why,
            None => readyz(subject.client, installed, pod).await,
        };
        reasons.push(format!("{}: {why}", pod.name_any()));
    }
    let state = if *available == 0 { State::Wrong } else { State::Warning };
    let todo = format!(
        "kubectl --namespace {namespace} logs deployment/{name} --all-containers; docs/troubleshooting.md has its words"
    );
    reasons.insert(0, message);
    vec![Finding::told(CHECK, state, reasons.join("; "), todo)]
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Why its container does not run, if it does not.
fn why_not(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let container = status.container_statuses.iter().flatten().next();
    let Some(container) = container else {
        let message = status
            .conditions
            .iter()
            .flatten()
            .find_map(|condition| condition.message.clone());
        return Some(message.unwrap_or_else(|| "not started yet".to_owned()));
    };
    let state = container.state.as_ref()?;
    let ended = state
        .terminated
        .as_ref()
        .or_else(|| container.last_state.as_ref()?.terminated.as_ref());
    let ended = ended.map(|ended| format!("ended with exit code {}", ended.exit_code));
    let waits = state.waiting.as_ref().map(|waiting| {
        let parts = [waiting.reason.clone(), waiting.message.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
    });
    match (waits, ended) {
        (Some(waits), Some(ended)) => Some(format!("{waits} ({ended})")),
        (one, other) => one.or(other.filter(|_| state.running.is_none())),
    }
}

/// What a replica says that runs and is not ready.
async fn readyz(client: &Client, installed: &Installed, pod: &Pod) -> String {
    let answer = get(client, installed, pod, "readyz").await;
    match answer {
        Ok(_) => "becomes ready".to_owned(),
        Err(error) => format!("not ready: {}", in_words(&error).trim().replace('\n', "; ")),
    }
}

/// A path of the plain port of a replica, through the API server. Fails as the replica or the API server refuses.
pub(super) async fn get(client: &Client, installed: &Installed, pod: &Pod, path: &str) -> Result<String, kube::Error> {
    let (namespace, name, port) = (&installed.namespace, pod.name_any(), installed.http_port);
    let uri = format!("/api/v1/namespaces/{namespace}/pods/{name}:{port}/proxy/{path}");
    let request = Request::get(uri).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request_text(request).await
}

/// A Pod of the operator that is ready.
pub(super) async fn a_replica(client: &Client, installed: &Installed) -> Result<Option<Pod>, kube::Error> {
    let api = Api::<Pod>::namespaced(client.clone(), &installed.namespace);
    let selector: Vec<String> = installed
        .selector
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let pods = api.list(&ListParams::default().labels(&selector.join(","))).await?;
    Ok(pods.items.into_iter().find(is_ready))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::EnvVar;

    use super::*;

    #[test]
    fn flags_are_the_arguments_and_what_the_environment_says_beside_them() {
        let variable = |name: &str, value: &str| EnvVar {
            name: name.to_owned(),
            value: Some(value.to_owned()),
            value_from: None,
        };
        let container = Container {
            args: Some(vec!["run".to_owned(), "--namespace=ops".to_owned()]),
            env: Some(vec![
                variable("STREAMS_NAMESPACE", "other"),
                variable("STREAMS_WATCH_NAMESPACE", "a,b"),
                variable("STREAMS_TLS_DIR", ""),
                variable("RUST_LOG", "debug"),
            ]),
            ..Container::default()
        };
        assert_eq!(flags(&container), ["--watch-namespace=a,b", "--namespace=ops"]);
    }
}
