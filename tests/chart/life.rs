//! The life of a release: installed, tested, upgraded, rolled back, removed, installed again. Pipelines run on through all
//! of it.

use testkit::control_plane::{ControlPlane, Options};
use testkit::wait::{self, Seen};

use crate::helm;
use crate::program::run;
use crate::replica::{Release, Replica, apply, pipeline};

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

/// The uids of all Pods of the pipelines.
async fn pods(release: &Release<'_>, pipelines: &str) -> String {
    let uids = "--output=jsonpath={.items[*].metadata.uid}";
    let get = ["get", "pods", "--namespace", pipelines, uids];
    release.cluster.kubectl(&get).await.unwrap()
}

/// What must be the same before and after an upgrade: Pods, the Secret, both bundles.
async fn witness(release: &Release<'_>, pipelines: &str) -> Vec<String> {
    let version = "--output=jsonpath={.metadata.resourceVersion}";
    let secret = ["get", "secret", "streaming-operator-tls", version];
    let bundle = "--output=jsonpath={.webhooks[*].clientConfig.caBundle}";
    let mut seen = vec![pods(release, pipelines).await, release.kubectl(&secret).await];
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

const OBJECTS_OF_A_RELEASE: [&str; 10] = [
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
];

async fn is_gone(release: &Release<'_>, kind: &str) -> bool {
    let found = [
        "get",
        kind,
        "--selector=app.kubernetes.io/instance=streaming-operator",
        "--output=name",
    ];
    release.kubectl(&found).await.trim().is_empty()
}

/// A release with a pipeline that runs, and what must stay the same. Each chapter needs the one before.
struct Story<'a> {
    release: Release<'a>,
    chart: String,
    /// The namespace of the pipelines.
    pipelines: String,
}

impl<'a> Story<'a> {
    async fn begin(cluster: &'a ControlPlane) -> Self {
        // The strictest standard: the API server would refuse other Pods, and the Deployment would never be available.
        for command in [
            &["create", "namespace", "ops"][..],
            &["label", "namespace", "ops", RESTRICTED],
        ] {
            cluster.kubectl(command).await.unwrap();
        }
        Self {
            release: Release::new(cluster, "ops", "streaming-operator"),
            chart: helm::chart().to_str().unwrap().to_owned(),
            pipelines: cluster.namespace("ingest").await.unwrap(),
        }
    }

    async fn witness(&self) -> Vec<String> {
        witness(&self.release, &self.pipelines).await
    }

    async fn operator(&self) -> Replica {
        let operator = self.release.start(None).await;
        operator.ready().await;
        operator
    }

    async fn installed(&self) -> Replica {
        let release = &self.release;
        release.helm("install", &older_chart(), &["--wait"]).await;
        release.lead_here().await;
        assert!(columns(release).await.contains("Old-Column"));
        let operator = self.operator().await;
        helm_test(release).await;
        apply(release.cluster, &self.pipelines, &pipeline("kept"), &[])
            .await
            .unwrap();
        until_ready(release, &self.pipelines).await;
        people_may_do_what_their_roles_say(release.cluster, &self.pipelines).await;
        self.check_finds_nothing().await;
        operator
    }

    /// `check` without a word of where the operator is: there is one.
    async fn check_finds_nothing(&self) {
        let ran = run(self.release.cluster, &["check"]).await;
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(" 0 wrong, 0 warnings, 0 unknown"), "{}", ran.stdout);
    }

    /// The CRD is upgraded, and nothing that the operator wrote is touched: by server-side apply, and as Helm 3 does it.
    async fn upgraded(&self, operator: Replica, before: &[String]) -> Replica {
        let release = &self.release;
        for apply_on_the_server in ["--server-side=true", "--server-side=false"] {
            let changed = ["--set", "settings.logFormat=json", "--wait", apply_on_the_server];
            release.helm("upgrade", &self.chart, &changed).await;
            assert!(columns(release).await.contains("Config-Version"));
            assert!(release.arguments().await.contains(&"--log-format=json".to_owned()));
            assert_eq!(self.witness().await, before, "{apply_on_the_server}");
            admission_answers(release, &self.pipelines).await;
        }
        operator.stop().await;
        let operator = self.operator().await;
        until_ready(release, &self.pipelines).await;
        assert_eq!(self.witness().await, before);
        operator
    }

    async fn rolled_back(&self, before: &[String]) {
        let release = &self.release;
        release.helm_on(&["rollback"], &["1", "--wait"]).await;
        assert!(columns(release).await.contains("Old-Column"));
        assert!(release.arguments().await.contains(&"--log-format=text".to_owned()));
        assert_eq!(self.witness().await, before);
        admission_answers(release, &self.pipelines).await;
    }

    /// The CRD, the pipeline, its Pods, and the certificate for the next release are still there; nobody refuses edits.
    async fn removed(&self, operator: Replica, before: &[String]) {
        let release = &self.release;
        release.helm_on(&["uninstall"], &["--wait"]).await;
        operator.stop().await;
        for kind in OBJECTS_OF_A_RELEASE {
            assert!(is_gone(release, kind).await, "{kind}");
        }
        assert_eq!(pods(release, &self.pipelines).await, before[0]);
        release.get("secret", "streaming-operator-tls").await;
        let meanwhile = pipeline("meanwhile");
        let edited = apply(release.cluster, &self.pipelines, &meanwhile, &["--dry-run=server"]).await;
        edited.unwrap();
    }

    async fn installed_again(&self, before: &[String]) -> Replica {
        let release = &self.release;
        release.helm("install", &self.chart, &["--wait"]).await;
        release.lead_here().await;
        let operator = self.operator().await;
        until_ready(release, &self.pipelines).await;
        assert_eq!(pods(release, &self.pipelines).await, before[0], "the same Pods");
        self.check_finds_nothing().await;
        admission_answers(release, &self.pipelines).await;
        operator
    }

    /// Told not to keep the CRDs, an uninstall takes them and with them every pipeline.
    async fn removed_for_good(&self) {
        let release = &self.release;
        let dropped = ["--set", "crds.keep=false", "--wait"];
        release.helm("upgrade", &self.chart, &dropped).await;
        release.helm_on(&["uninstall"], &["--wait"]).await;
        wait::until("the CRD to be gone", wait::DEADLINE, async || {
            let left = ["get", "crd", CRD, "--ignore-not-found", "--output=name"];
            Ok(Seen::when(release.cluster.kubectl(&left).await?, String::is_empty))
        })
        .await
        .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_installed_upgraded_rolled_back_removed_and_installed_again_while_pipelines_run_on() {
    let cluster = ControlPlane::start(Options::full(2)).await.unwrap();
    let story = Story::begin(&cluster).await;
    let operator = story.installed().await;
    let before = story.witness().await;
    let operator = story.upgraded(operator, &before).await;
    story.rolled_back(&before).await;
    story.removed(operator, &before).await;
    let operator = story.installed_again(&before).await;
    story.removed_for_good().await;
    operator.stop().await;
}
