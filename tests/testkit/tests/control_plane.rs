//! The control plane, its witness, and the operator as a child of a test.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions, WatchParams};
use serde_json::json;
use testkit::audit;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::operator::Launch;
use testkit::wait::{self, Seen};
use testkit::{assets, users, workdir, world};

static CLUSTER: Shared = Shared::new(Options::api_server());

async fn config_map(cluster: &ControlPlane, namespace: &str, name: &str) -> (Api<ConfigMap>, ConfigMap) {
    let api: Api<ConfigMap> = Api::namespaced(cluster.admin().await.unwrap(), namespace);
    let object = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    (api, created)
}

#[tokio::test]
async fn each_test_gets_a_namespace_of_its_own() {
    let cluster = CLUSTER.get().await.unwrap();
    let one = cluster.namespace("same").await.unwrap();
    let other = cluster.namespace("same").await.unwrap();
    assert!(one.starts_with("same-") && other.starts_with("same-"), "{one} {other}");
    assert_ne!(one, other);
}

#[tokio::test]
async fn the_audit_log_tells_a_delete_with_its_preconditions() {
    let cluster = CLUSTER.get().await.unwrap();
    let admin = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("audit").await.unwrap();
    let (api, object) = config_map(cluster, &namespace, "doomed").await;
    let uid = object.metadata.uid.unwrap();
    let mark = cluster.audit().mark(&admin).await.unwrap();

    let preconditions = Preconditions {
        uid: Some(uid.clone()),
        resource_version: None,
    };
    let params = DeleteParams {
        preconditions: Some(preconditions),
        ..DeleteParams::default()
    };
    api.delete(
        "doomed",
        &DeleteParams {
            dry_run: true,
            ..params.clone()
        },
    )
    .await
    .unwrap();
    api.delete("doomed", &params).await.unwrap();
    api.delete("doomed", &DeleteParams::default()).await.unwrap_err();

    let mut records = cluster.audit().since_by(users::ADMIN, mark, &admin).await.unwrap();
    records.retain(|record| record.namespace == namespace);
    let told: Vec<_> = records
        .iter()
        .map(|record| {
            (
                record.is("delete", "configmaps"),
                record.name.as_str(),
                record.code,
                record.dry_run,
                record.is_write(),
            )
        })
        .collect();
    let expected = [
        (true, "doomed", 200, true, false),
        (true, "doomed", 200, false, true),
        (true, "doomed", 404, false, true),
    ];
    assert_eq!(told, expected);
    let uids: Vec<_> = records
        .iter()
        .map(|record| record.preconditions.uid.as_deref())
        .collect();
    assert_eq!(uids, [Some(&*uid), Some(&*uid), None]);
    assert!(records.iter().all(|record| record.received <= record.answered));
}

#[tokio::test]
async fn the_audit_log_tells_a_watch_once_and_at_its_beginning() {
    let cluster = CLUSTER.get().await.unwrap();
    let admin = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("audit").await.unwrap();
    let (api, _) = config_map(cluster, &namespace, "seen").await;
    let mark = cluster.audit().mark(&admin).await.unwrap();

    api.list(&ListParams::default()).await.unwrap();
    let watch = api.watch(&WatchParams::default().timeout(1), "0").await.unwrap();
    let told = async || {
        let mut records = cluster.audit().since(mark, &admin).await.unwrap();
        records.retain(|record| record.namespace == namespace);
        records
            .into_iter()
            .map(|record| (record.verb, record.resource, record.code))
            .collect::<Vec<_>>()
    };
    let expected = [("list", 200), ("watch", 200)].map(|(verb, code)| (verb.to_owned(), "configmaps".to_owned(), code));
    assert_eq!(told().await, expected);
    // To its end, which the log tells in a second line.
    drop(watch);
    assert_eq!(told().await, expected);
}

#[tokio::test]
async fn bodies_of_secrets_stay_out_of_the_audit_log() {
    let cluster = CLUSTER.get().await.unwrap();
    let namespace = cluster.namespace("audit").await.unwrap();
    let mark = cluster.audit().mark(&cluster.admin().await.unwrap()).await.unwrap();
    let create = [
        "create",
        "secret",
        "generic",
        "key",
        "--from-literal=key=hidden",
        "--namespace",
        &namespace,
    ];
    cluster.kubectl(&create).await.unwrap();
    let records = cluster
        .audit()
        .since(mark, &cluster.admin().await.unwrap())
        .await
        .unwrap();
    let created: Vec<&audit::Record> = records.iter().filter(|record| record.is("create", "secrets")).collect();
    assert_eq!(created.len(), 1);
    assert_eq!(created[0].body, None);
}

#[tokio::test]
async fn the_world_tells_objects_logs_and_writes() {
    let cluster = CLUSTER.get().await.unwrap();
    let namespace = cluster.namespace("world").await.unwrap();
    config_map(cluster, &namespace, "a-config-map").await;
    let log = workdir::workdir("world").unwrap().join("operator.log");
    std::fs::write(&log, "reconciled\n").unwrap();
    cluster.audit().mark(&cluster.admin().await.unwrap()).await.unwrap();

    let world = world::Guard::new(cluster, &namespace).and_log(&log).world();

    for part in [
        "configmap/a-config-map",
        "reconciled",
        &format!("admin create configmaps {namespace}/a-config-map 201"),
    ] {
        assert!(world.contains(part), "{part} is not in:\n{world}");
    }
}

/// A program that stands for the operator and says how it was started.
fn stand_in(folder: &Path, rest: &str) -> std::path::PathBuf {
    let path = folder.join("stand-in");
    std::fs::write(&path, format!("#!/bin/sh\necho \"$@\"\necho $KUBECONFIG\n{rest}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn the_operator_is_started_with_its_ports_its_namespace_and_its_user() {
    let cluster = CLUSTER.get().await.unwrap();
    let binary = stand_in(&workdir::workdir("operator").unwrap(), "exec sleep 600");
    let mut launch = Launch::new(binary, cluster, "release")
        .unwrap()
        .with(&["--shutdown-delay", "0s"]);
    (launch.webhook_port, launch.http_port) = (1001, 1002);
    let operator = launch.start().unwrap();

    let said = wait::until("its words", wait::DEADLINE, async || {
        Ok(Seen::when(operator.log_tail(5), |tail| tail.lines().count() == 2))
    })
    .await
    .unwrap();

    let arguments = "run --namespace release --webhook-addr 127.0.0.1:1001 --http-addr 127.0.0.1:1002 \
        --tls-host streaming-operator.release.svc --tls-host localhost --shutdown-delay 0s";
    assert_eq!(said.lines().next(), Some(arguments));
    assert!(said.ends_with("/operator.kubeconfig"), "{said}");
    operator.kill9().unwrap();
    assert_eq!(operator.wait().await.unwrap().code(), None);
}

#[tokio::test]
async fn an_operator_that_ends_is_told_with_its_exit_code_and_its_log() {
    let cluster = CLUSTER.get().await.unwrap();
    let binary = stand_in(
        &workdir::workdir("operator").unwrap(),
        "echo no right to list pods; exit 4",
    );
    let operator = Launch::new(binary, cluster, "release").unwrap().start().unwrap();
    let error = operator.ready().await.unwrap_err().to_string();
    assert!(
        error.contains("exit status: 4") && error.contains("no right to list pods"),
        "{error}"
    );
}

#[tokio::test]
async fn crds_are_served_once_they_are_installed() {
    let cluster = CLUSTER.get().await.unwrap();
    cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
    let namespace = cluster.namespace("crds").await.unwrap();
    let list = cluster
        .kubectl(&["get", "streamingpipelines", "--output=name", "--namespace", &namespace])
        .await
        .unwrap();
    assert_eq!(list, "");
}
