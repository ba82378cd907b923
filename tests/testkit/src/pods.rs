//! What a kubelet would write, written by hand: for tests without kwok, and for a Pod that must fail at a given moment.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// Makes a Pod Running and Ready.
///
/// # Errors
/// When it does not exist.
pub async fn run_pod(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let now = k8s_openapi::jiff::Timestamp::now();
    write(
        client,
        namespace,
        name,
        "Running",
        None,
        true,
        &json!({ "running": { "startedAt": now } }),
    )
    .await
}

/// Makes a Pod Running and not Ready, as when its readiness probe fails.
///
/// # Errors
/// When it does not exist.
pub async fn unready_pod(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let now = k8s_openapi::jiff::Timestamp::now();
    write(
        client,
        namespace,
        name,
        "Running",
        None,
        false,
        &json!({ "running": { "startedAt": now } }),
    )
    .await
}

/// Ends all containers of a Pod with an exit code and a reason (`Error`, `OOMKilled`, …): phase Failed, or Succeeded when
/// the code is 0.
///
/// # Errors
/// When it does not exist.
pub async fn fail_pod(client: &Client, namespace: &str, name: &str, exit_code: i32, reason: &str) -> Result<()> {
    let now = k8s_openapi::jiff::Timestamp::now();
    let state =
        json!({ "terminated": { "exitCode": exit_code, "reason": reason, "startedAt": now, "finishedAt": now } });
    let phase = if exit_code == 0 { "Succeeded" } else { "Failed" };
    write(client, namespace, name, phase, None, false, &state).await
}

/// Ends a Pod the way a kubelet evicts: phase Failed with a reason of the whole Pod (`Evicted`, `Preempting`, …).
///
/// # Errors
/// When it does not exist.
pub async fn evict_pod(client: &Client, namespace: &str, name: &str, reason: &str) -> Result<()> {
    let now = k8s_openapi::jiff::Timestamp::now();
    let state = json!({ "terminated": { "exitCode": 137, "reason": "Error", "startedAt": now, "finishedAt": now } });
    write(client, namespace, name, "Failed", Some(reason), false, &state).await
}

/// Lets all containers of a Pod wait, as when an image cannot be pulled. With kwok the Pod needs a life in which it is
/// not made ready, as [`crate::stages::PULL_ERROR`].
///
/// # Errors
/// When it does not exist.
pub async fn wait_pod(client: &Client, namespace: &str, name: &str, reason: &str, message: &str) -> Result<()> {
    let state = json!({ "waiting": { "reason": reason, "message": message } });
    write(client, namespace, name, "Pending", None, false, &state).await
}

/// Ends a Pod whose init containers fail: its own containers never began.
///
/// # Errors
/// When it does not exist, or has no init container.
pub async fn fail_init_pod(client: &Client, namespace: &str, name: &str, exit_code: i32) -> Result<()> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pod = api.get(name).await?;
    let spec = pod.spec.as_ref().context("a Pod without a spec")?;
    let inits = spec.init_containers.as_ref().context("a Pod without init containers")?;
    let now = k8s_openapi::jiff::Timestamp::now();
    let ended = json!({ "terminated": {
        "exitCode": exit_code, "reason": "Error", "startedAt": now, "finishedAt": now,
    } });
    let waits = json!({ "waiting": { "reason": "PodInitializing" } });
    let status = |container: &k8s_openapi::api::core::v1::Container, state: &Value| {
        container_status(&container.name, container.image.as_deref(), false, state)
    };
    let condition = |kind: &str| json!({ "type": kind, "status": "False", "lastTransitionTime": now });
    let status = json!({ "status": {
        "phase": "Failed",
        "conditions": [condition("Initialized"), condition("ContainersReady"), condition("Ready")],
        "initContainerStatuses": inits.iter().map(|one| status(one, &ended)).collect::<Vec<_>>(),
        "containerStatuses": spec.containers.iter().map(|one| status(one, &waits)).collect::<Vec<_>>(),
    } });
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await
        .with_context(|| format!("cannot write the status of Pod {namespace}/{name}"))?;
    Ok(())
}

/// Writes a status that is the same for all containers.
async fn write(
    client: &Client,
    namespace: &str,
    name: &str,
    phase: &str,
    reason: Option<&str>,
    ready: bool,
    state: &Value,
) -> Result<()> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pod = api.get(name).await?;
    let spec = pod.spec.as_ref().context("a Pod without a spec")?;
    let earlier = pod.status.as_ref();
    // Init containers are done; a native sidecar runs as long as the Pod does.
    let now = k8s_openapi::jiff::Timestamp::now();
    let done = json!({ "terminated": { "exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now } });
    let inits: Vec<Value> = spec
        .init_containers
        .iter()
        .flatten()
        .map(|container| {
            let sidecar = container.restart_policy.as_deref() == Some("Always");
            container_status(
                &container.name,
                container.image.as_deref(),
                ready || !sidecar,
                if sidecar { state } else { &done },
            )
        })
        .collect();
    let containers: Vec<Value> = spec
        .containers
        .iter()
        .map(|container| container_status(&container.name, container.image.as_deref(), ready, state))
        .collect();
    let since = earlier
        .and_then(|status| status.start_time.clone())
        .map_or(now, |time| time.0);
    let condition = |kind: &str, status: bool| {
        json!({
            "type": kind, "status": if status { "True" } else { "False" }, "lastTransitionTime": now,
        })
    };
    let status = json!({ "status": {
        "phase": phase,
        "reason": reason,
        "startTime": since,
        "conditions": [
            condition("PodScheduled", true), condition("Initialized", true),
            condition("ContainersReady", ready), condition("Ready", ready),
        ],
        "initContainerStatuses": inits,
        "containerStatuses": containers,
    } });
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await
        .with_context(|| format!("cannot write the status of Pod {namespace}/{name}"))?;
    Ok(())
}

fn container_status(name: &str, image: Option<&str>, ready: bool, state: &Value) -> Value {
    json!({
        "name": name, "image": image.unwrap_or_default(), "imageID": "", "restartCount": 0,
        "ready": ready, "started": ready, "state": state,
    })
}
