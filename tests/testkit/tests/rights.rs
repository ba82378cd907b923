//! Users and their rights: the operator has those of the chart.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use testkit::control_plane::{Options, Shared};
use testkit::install::Roles;
use testkit::users;
use testkit::wait::{self, Seen};

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
