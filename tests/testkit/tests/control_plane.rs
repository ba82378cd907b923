//! The control plane, its users and its witness.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions, WatchParams};
use kube::{Api, Client};
use serde_json::json;
use testkit::audit;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::install::Roles;
use testkit::operator::Launch;
use testkit::wait::{self, Seen};
use testkit::{assets, users, workdir, world};

static CLUSTER: Shared = Shared::new(Options::api_server());

/// Whether a user may do something; `resource` as in `apps/controllerrevisions` or `pods/status`, `name` may be empty.
async fn may(client: &Client, verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review: SelfSubjectAccessReview = serde_json::from_value(json!({ "spec": { "resourceAttributes": {
        "verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace, "name": name,
    } } }))
    .unwrap();
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    api.create(&PostParams::default(), &review)
        .await
        .unwrap()
        .status
        .unwrap()
        .allowed
}

/// Waits until the authorizer has seen new roles: it reads them through a watch.
async fn until_roles_work(client: &Client, namespace: &str) {
    wait::until("roles to work", wait::DEADLINE, async || {
        let all = may(client, "list", "", "pods", namespace, "").await
            && may(client, "create", "coordination.k8s.io", "leases", namespace, "").await;
        Ok(Seen::when(all, |all| *all))
    })
    .await
    .unwrap();
}

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
async fn the_operator_has_the_rights_of_the_chart_and_no_other() {
    let cluster = CLUSTER.get().await.unwrap();
    let own = cluster.namespace("release").await.unwrap();
    let ingest = cluster.namespace("ingest").await.unwrap();
    let operator = cluster.user(users::OPERATOR).await.unwrap();
    assert!(!may(&operator, "list", "", "pods", &own, "").await);

    cluster.install_roles(&Roles::everywhere(&own)).await.unwrap();
    until_roles_work(&operator, &own).await;

    let crds = "customresourcedefinitions";
    let hooks = "mutatingwebhookconfigurations";
    for (allowed, verb, group, resource, namespace, name) in [
        (true, "watch", "streams.sentry.io", "streamingpipelines", "", ""),
        (true, "patch", "streams.sentry.io", "streamingpipelines", &*ingest, "a"),
        (
            true,
            "update",
            "streams.sentry.io",
            "streamingpipelines/status",
            &ingest,
            "a",
        ),
        (
            true,
            "update",
            "streams.sentry.io",
            "streamingpipelines/finalizers",
            &ingest,
            "a",
        ),
        (false, "delete", "streams.sentry.io", "streamingpipelines", &ingest, "a"),
        (true, "create", "", "pods", &ingest, ""),
        (true, "delete", "", "pods", &ingest, "a"),
        (false, "patch", "", "pods", &ingest, "a"),
        (false, "deletecollection", "", "pods", &ingest, ""),
        (true, "create", "", "configmaps", &ingest, ""),
        (false, "update", "", "configmaps", &ingest, "a"),
        (true, "patch", "apps", "controllerrevisions", &ingest, "a"),
        (true, "create", "events.k8s.io", "events", &ingest, ""),
        (
            true,
            "get",
            "apiextensions.k8s.io",
            crds,
            "",
            "streamingpipelines.streams.sentry.io",
        ),
        (false, "get", "apiextensions.k8s.io", crds, "", "others.example.com"),
        (
            true,
            "patch",
            "admissionregistration.k8s.io",
            hooks,
            "",
            "streaming-operator",
        ),
        (false, "patch", "admissionregistration.k8s.io", hooks, "", "others"),
        (true, "create", "authorization.k8s.io", "subjectaccessreviews", "", ""),
        (true, "update", "", "secrets", &own, "streaming-operator-tls"),
        (false, "get", "", "secrets", &own, "others"),
        (false, "list", "", "secrets", &own, ""),
        (false, "get", "", "secrets", &ingest, "streaming-operator-tls"),
        (
            true,
            "update",
            "coordination.k8s.io",
            "leases",
            &own,
            "streaming-operator",
        ),
        (
            false,
            "update",
            "coordination.k8s.io",
            "leases",
            &ingest,
            "streaming-operator",
        ),
    ] {
        let answer = may(&operator, verb, group, resource, namespace, name).await;
        assert_eq!(answer, allowed, "{verb} {resource}.{group} {namespace}/{name}");
    }
}

#[tokio::test]
async fn with_watched_namespaces_the_rights_end_at_their_border() {
    let cluster = CLUSTER.get().await.unwrap();
    let own = cluster.namespace("release").await.unwrap();
    let watched = cluster.namespace("watched").await.unwrap();
    let workloads = cluster.namespace("workloads").await.unwrap();
    let operator = cluster.user(users::OTHER_OPERATOR).await.unwrap();
    let roles = Roles {
        workload_namespace: Some(workloads.clone()),
        full_name: "narrow".to_owned(),
        user: users::OTHER_OPERATOR.to_owned(),
        ..Roles::within(&own, &[&watched])
    };
    cluster.install_roles(&roles).await.unwrap();
    wait::until("roles to work", wait::DEADLINE, async || {
        let all = may(&operator, "list", "", "pods", &workloads, "").await
            && may(
                &operator,
                "list",
                "streams.sentry.io",
                "streamingpipelines",
                &watched,
                "",
            )
            .await
            && may(&operator, "create", "", "secrets", &own, "").await;
        Ok(Seen::when(all, |all| *all))
    })
    .await
    .unwrap();

    for (allowed, verb, group, resource, namespace) in [
        (false, "list", "streams.sentry.io", "streamingpipelines", ""),
        (false, "list", "streams.sentry.io", "streamingpipelines", &*workloads),
        (
            true,
            "update",
            "streams.sentry.io",
            "streamingpipelines/status",
            &watched,
        ),
        (true, "create", "apps", "controllerrevisions", &watched),
        (false, "list", "", "pods", ""),
        (false, "list", "", "pods", &watched),
        (false, "delete", "", "configmaps", &watched),
        (true, "delete", "", "configmaps", &workloads),
        (true, "get", "", "namespaces", &workloads),
        (true, "create", "authorization.k8s.io", "subjectaccessreviews", ""),
    ] {
        let answer = may(&operator, verb, group, resource, namespace, "").await;
        assert_eq!(answer, allowed, "{verb} {resource}.{group} in {namespace:?}");
    }
}

#[tokio::test]
async fn an_ordinary_user_has_no_rights_until_a_test_gives_some() {
    let cluster = CLUSTER.get().await.unwrap();
    let namespace = cluster.namespace("tenant").await.unwrap();
    let tenant = cluster.user(users::TENANT_A).await.unwrap();
    assert!(!may(&tenant, "create", "", "pods", &namespace, "").await);

    let role = [
        "create",
        "role",
        "tenant",
        "--verb=create",
        "--resource=pods",
        "--namespace",
        &namespace,
    ];
    cluster.kubectl(&role).await.unwrap();
    let binding = [
        "create",
        "rolebinding",
        "tenant",
        "--role=tenant",
        "--user=tenant-a",
        "--namespace",
        &namespace,
    ];
    cluster.kubectl(&binding).await.unwrap();

    wait::until("the right", wait::DEADLINE, async || {
        Ok(Seen::when(
            may(&tenant, "create", "", "pods", &namespace, "").await,
            |may| *may,
        ))
    })
    .await
    .unwrap();
    let other = cluster.user(users::TENANT_B).await.unwrap();
    assert!(!may(&other, "create", "", "pods", &namespace, "").await);
    assert!(cluster.user("nobody-knows-them").await.is_err());
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
