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

/// What an operator for all namespaces may do, and next to it what it may not: answer, verb, resource, group, place (`-`
/// for the whole cluster) and name (`-` for any).
const EVERYWHERE: &str = "
    yes list             streamingpipelines            streams.sentry.io            -      -
    yes watch            streamingpipelines            streams.sentry.io            -      -
    yes patch            streamingpipelines            streams.sentry.io            ingest a
    no  update           streamingpipelines            streams.sentry.io            ingest a
    no  create           streamingpipelines            streams.sentry.io            ingest -
    no  delete           streamingpipelines            streams.sentry.io            ingest a
    yes update           streamingpipelines/status     streams.sentry.io            ingest a
    yes update           streamingpipelines/finalizers streams.sentry.io            ingest a
    yes watch            pods                          core                         -      -
    yes create           pods                          core                         ingest -
    yes delete           pods                          core                         ingest a
    no  patch            pods                          core                         ingest a
    no  update           pods/status                   core                         ingest a
    no  create           pods/exec                     core                         ingest a
    no  deletecollection pods                          core                         ingest -
    yes create           configmaps                    core                         ingest -
    yes delete           configmaps                    core                         ingest a
    no  update           configmaps                    core                         ingest a
    yes create           controllerrevisions           apps                         ingest -
    yes patch            controllerrevisions           apps                         ingest a
    yes delete           controllerrevisions           apps                         ingest a
    yes get              deployments                   apps                         ingest a
    yes patch            deployments                   apps                         ingest a
    no  update           deployments                   apps                         ingest a
    yes watch            rolloutanalyses               streams.sentry.io            -      -
    no  patch            rolloutanalyses               streams.sentry.io            ingest a
    yes update           rolloutanalyses/status        streams.sentry.io            ingest a
    yes create           events                        events.k8s.io                ingest -
    yes get              namespaces                    core                         ingest ingest
    no  list             namespaces                    core                         -      -
    yes get              customresourcedefinitions     apiextensions.k8s.io         -      streamingpipelines.streams.sentry.io
    no  get              customresourcedefinitions     apiextensions.k8s.io         -      others.example.com
    no  patch            customresourcedefinitions     apiextensions.k8s.io         -      streamingpipelines.streams.sentry.io
    yes patch            mutatingwebhookconfigurations admissionregistration.k8s.io -      streaming-operator
    yes watch            mutatingwebhookconfigurations admissionregistration.k8s.io -      streaming-operator
    no  patch            mutatingwebhookconfigurations admissionregistration.k8s.io -      others
    no  delete           mutatingwebhookconfigurations admissionregistration.k8s.io -      streaming-operator
    yes create           subjectaccessreviews          authorization.k8s.io         -      -
    no  list             subjectaccessreviews          authorization.k8s.io         -      -
    yes create           secrets                       core                         own    -
    yes watch            secrets                       core                         own    streaming-operator-tls
    yes update           secrets                       core                         own    streaming-operator-tls
    no  get              secrets                       core                         own    others
    no  list             secrets                       core                         own    -
    no  get              secrets                       core                         ingest streaming-operator-tls
    yes create           leases                        coordination.k8s.io          own    -
    yes update           leases                        coordination.k8s.io          own    streaming-operator
    no  update           leases                        coordination.k8s.io          own    others
    no  update           leases                        coordination.k8s.io          ingest streaming-operator
";

/// The same for one that watches the namespace `watched` and runs its Pods in `workloads`.
const WITHIN: &str = "
    no  list   streamingpipelines            streams.sentry.io            -         -
    yes watch  streamingpipelines            streams.sentry.io            watched   -
    no  list   streamingpipelines            streams.sentry.io            workloads -
    yes update streamingpipelines/status     streams.sentry.io            watched   a
    yes create controllerrevisions           apps                         watched   -
    no  create controllerrevisions           apps                         workloads -
    no  list   pods                          core                         -         -
    yes list   pods                          core                         watched   -
    no  watch  pods                          core                         watched   -
    yes patch  deployments                   apps                         watched   a
    no  delete deployments                   apps                         watched   a
    yes watch  rolloutanalyses               streams.sentry.io            watched   -
    yes list   pods                          core                         workloads -
    no  delete configmaps                    core                         watched   a
    yes delete configmaps                    core                         workloads a
    yes get    namespaces                    core                         workloads workloads
    no  get    namespaces                    core                         own       own
    yes patch  mutatingwebhookconfigurations admissionregistration.k8s.io -         narrow
    no  patch  mutatingwebhookconfigurations admissionregistration.k8s.io -         streaming-operator
    yes create subjectaccessreviews          authorization.k8s.io         -         -
    yes update leases                        coordination.k8s.io          own       streaming-operator
    no  update leases                        coordination.k8s.io          watched   streaming-operator
    yes create events                        events.k8s.io                own       -
";

async fn assert_rights(client: &Client, table: &str, places: &[(&str, &str)]) {
    let real = |word: &str| match places.iter().find(|(place, _)| *place == word) {
        Some((_, namespace)) => (*namespace).to_owned(),
        None if word == "-" => String::new(),
        None => word.to_owned(),
    };
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [answer, verb, resource, group, place, name] = words[..] else {
            panic!("{line}")
        };
        let group = if group == "core" { "" } else { group };
        let answered = may(client, verb, group, resource, &real(place), &real(name)).await;
        assert_eq!(if answered { "yes" } else { "no" }, answer, "{line}");
    }
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

    let places = [("own", &*own), ("ingest", &*ingest)];
    assert_rights(&operator, EVERYWHERE, &places).await;
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

    let places = [("own", &*own), ("watched", &*watched), ("workloads", &*workloads)];
    assert_rights(&operator, WITHIN, &places).await;
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
