//! The life of a release: installed, tested, upgraded, rolled back, removed, installed again. Pipelines run on through all
//! of it.

use serde_json::Value;
use testkit::control_plane::{ControlPlane, Options};
use testkit::wait::{self, Seen};

use crate::helm;
use crate::replica::{Release, apply, pipeline};

const RESTRICTED: &str = "pod-security.kubernetes.io/enforce=restricted";
const CRD: &str = "streamingpipelines.streams.sentry.io";

/// The chart of the release before: one column of the CRD was called otherwise.
fn older_chart() -> String {
    let crd = "files/crds/streams.sentry.io_streamingpipelines.yaml";
    let older = helm::changed_chart(crd, |text| text.replacen("name: Config-Version", "name: Old-Column", 1));
    older.to_str().unwrap().to_owned()
}

async fn columns(release: &Release<'_>) -> String {
    let path = "--output=jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}";
    release.kubectl(&["get", "crd", CRD, path]).await
}

/// What must be the same before and after an upgrade: Pods, the Secret, both bundles.
async fn witness(release: &Release<'_>, pipelines: &str) -> Vec<String> {
    let pods = [
        "get",
        "pods",
        "--namespace",
        pipelines,
        "--output=jsonpath={.items[*].metadata.uid}",
    ];
    let secret = [
        "get",
        "secret",
        "streaming-operator-tls",
        "--output=jsonpath={.metadata.resourceVersion}",
    ];
    let bundle = "--output=jsonpath={.webhooks[*].clientConfig.caBundle}";
    let mut seen = vec![
        release.cluster.kubectl(&pods).await.unwrap(),
        release.kubectl(&secret).await,
    ];
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        seen.push(release.kubectl(&["get", kind, &release.name, bundle]).await);
    }
    assert!(seen.iter().all(|text| !text.trim().is_empty()), "{seen:?}");
    seen
}

async fn until_ready(release: &Release<'_>, namespace: &str) {
    let wait = [
        "wait",
        "--namespace",
        namespace,
        "--for=condition=Ready",
        "--timeout=90s",
        "spipe/kept",
    ];
    release.cluster.kubectl(&wait).await.unwrap();
}

/// Admission answers: a good pipeline passes, and a bad one is refused for what is wrong with it.
async fn admission_answers(release: &Release<'_>, namespace: &str) {
    let mut tried = pipeline("tried");
    apply(release.cluster, namespace, &tried, &["--dry-run=server"])
        .await
        .unwrap();
    tried["spec"]["segment_id"] = 7.into();
    let refusal = apply(release.cluster, namespace, &tried, &["--dry-run=server"]).await;
    let refusal = refusal.expect_err("a refusal");
    assert!(refusal.contains("spec.segment_id"), "{refusal}");
}

/// `helm test`, with this test in the part of the kubelet: kwok plays no Pod to its end.
async fn helm_test(release: &Release<'_>) {
    let hook = format!("{}-test", release.name);
    let done = r#"{"status":{"phase":"Succeeded"}}"#;
    let kubelet = wait::until("the Pod of the test", wait::DEADLINE, async || {
        let patch = [
            "patch",
            "pod",
            &hook,
            "--subresource=status",
            "--type=merge",
            "--patch",
            done,
        ];
        let all = [&["--namespace", &release.namespace], &patch[..]].concat();
        Ok(Seen::Yes(release.cluster.kubectl(&all).await?))
    });
    let (tested, kubelet) = tokio::join!(release.helm_on(&["test"], &["--timeout=60s"]), kubelet);
    kubelet.unwrap();
    assert_eq!(tested.matches("Phase:          Succeeded").count(), 2, "{tested}");
}

/// What people may do with pipelines who have a role of the cluster in the namespace; the roles are put together by a
/// controller, a while after the release.
const PEOPLE: [(&str, &str, bool); 7] = [
    ("view", "get", true),
    ("view", "create", false),
    ("edit", "get", true),
    ("edit", "create", true),
    ("edit", "deletecollection", false),
    ("admin", "create", true),
    ("admin", "deletecollection", true),
];

async fn people_may_do_what_their_roles_say(cluster: &ControlPlane, namespace: &str) {
    for role in ["view", "edit", "admin"] {
        let (flag, user) = (format!("--clusterrole={role}"), format!("--user=one-with-{role}"));
        let bind = ["create", "rolebinding", role, &flag, &user, "--namespace", namespace];
        cluster.kubectl(&bind).await.unwrap();
    }
    wait::until("the cluster's roles", wait::DEADLINE, async || {
        for (role, verb, wanted) in PEOPLE {
            let user = format!("--as=one-with-{role}");
            let ask = [
                "auth",
                "can-i",
                verb,
                "streamingpipelines",
                &user,
                "--namespace",
                namespace,
            ];
            // kubectl exits with 1 for "no".
            if cluster.kubectl(&ask).await.is_ok() != wanted {
                return Ok(Seen::NotYet(format!("{role} {verb}: not {wanted}")));
            }
        }
        Ok(Seen::Yes(()))
    })
    .await
    .unwrap();
}

async fn is_gone(release: &Release<'_>, kind: &str) -> bool {
    let found = [
        "get",
        kind,
        "--selector=app.kubernetes.io/instance=streaming-operator",
        "--output=name",
    ];
    release.kubectl(&found).await.trim().is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_installed_upgraded_rolled_back_removed_and_installed_again_while_pipelines_run_on() {
    let cluster = ControlPlane::start(Options::full(2)).await.unwrap();
    let pipelines = cluster.namespace("ingest").await.unwrap();
    let release = Release::new(&cluster, "ops", "streaming-operator");
    let chart = helm::chart();
    let chart = chart.to_str().unwrap();

    // The strictest standard: the API server would refuse other Pods, and the Deployment would never be available.
    for command in [
        &["create", "namespace", "ops"][..],
        &["label", "namespace", "ops", RESTRICTED],
    ] {
        cluster.kubectl(command).await.unwrap();
    }
    release.helm("install", &older_chart(), &["--wait"]).await;
    release.lead_here().await;
    assert!(columns(&release).await.contains("Old-Column"));
    let operator = release.start(None).await;
    operator.ready().await;
    helm_test(&release).await;
    apply(&cluster, &pipelines, &pipeline("kept"), &[]).await.unwrap();
    until_ready(&release, &pipelines).await;
    let before = witness(&release, &pipelines).await;

    people_may_do_what_their_roles_say(&cluster, &pipelines).await;

    // The CRD is upgraded, and nothing that the operator wrote is touched: by server-side apply, and as Helm 3 does it.
    for apply_on_the_server in ["--server-side=true", "--server-side=false"] {
        let changed = ["--set", "settings.logFormat=json", "--wait", apply_on_the_server];
        release.helm("upgrade", chart, &changed).await;
        assert!(columns(&release).await.contains("Config-Version"));
        assert!(release.arguments().await.contains(&"--log-format=json".to_owned()));
        assert_eq!(witness(&release, &pipelines).await, before, "{apply_on_the_server}");
        admission_answers(&release, &pipelines).await;
    }
    operator.stop().await;
    let operator = release.start(None).await;
    operator.ready().await;
    until_ready(&release, &pipelines).await;
    assert_eq!(witness(&release, &pipelines).await, before);

    release.helm_on(&["rollback"], &["1", "--wait"]).await;
    assert!(columns(&release).await.contains("Old-Column"));
    assert!(release.arguments().await.contains(&"--log-format=text".to_owned()));
    assert_eq!(witness(&release, &pipelines).await, before);
    admission_answers(&release, &pipelines).await;

    release.helm_on(&["uninstall"], &["--wait"]).await;
    operator.stop().await;
    for kind in [
        "deployments",
        "services",
        "serviceaccounts",
        "poddisruptionbudgets",
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    ] {
        assert!(is_gone(&release, kind).await, "{kind}");
    }
    // The CRD, the pipeline, its Pods, and the certificate for the next release are still there; edits are refused by nobody.
    let pods = [
        "get",
        "pods",
        "--namespace",
        &pipelines,
        "--output=jsonpath={.items[*].metadata.uid}",
    ];
    assert_eq!(cluster.kubectl(&pods).await.unwrap(), before[0]);
    release.get("secret", "streaming-operator-tls").await;
    apply(&cluster, &pipelines, &pipeline("meanwhile"), &["--dry-run=server"])
        .await
        .unwrap();

    release.helm("install", chart, &["--wait"]).await;
    release.lead_here().await;
    let operator = release.start(None).await;
    operator.ready().await;
    until_ready(&release, &pipelines).await;
    assert_eq!(witness(&release, &pipelines).await[0], before[0], "the same Pods");
    admission_answers(&release, &pipelines).await;

    // Told not to keep the CRDs, an uninstall takes them and with them every pipeline.
    release
        .helm("upgrade", chart, &["--set", "crds.keep=false", "--wait"])
        .await;
    release.helm_on(&["uninstall"], &["--wait"]).await;
    wait::until("the CRD to be gone", wait::DEADLINE, async || {
        let found = cluster
            .kubectl(&["get", "crd", CRD, "--ignore-not-found", "--output=json"])
            .await?;
        let left: Value = serde_json::from_str(&found).unwrap_or_default();
        Ok(Seen::when(left, Value::is_null))
    })
    .await
    .unwrap();
    operator.stop().await;
}
