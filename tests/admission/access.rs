//! Who may write pipelines whose Pods run in another namespace: two users, and the operator as a process, a follower.

use serde_json::{Value, json};
use testkit::control_plane::ControlPlane;
use testkit::install::{Roles, Webhooks};
use testkit::operator::{Launch, Operator};
use testkit::wait::{self, Seen};
use testkit::{assets, users};
use tokio::sync::MutexGuard;

use super::bed::{CLUSTER, TURN, manifest};

pub(super) struct Release {
    pub(super) cluster: &'static ControlPlane,
    /// Namespace of the pipelines.
    pub(super) pipelines: String,
    /// Namespace of their Pods.
    work: String,
    /// Serves admission, and does not lead.
    follower: Operator,
    launch: Launch,
    _leader: Operator,
    _turn: MutexGuard<'static, ()>,
}

impl Release {
    pub(super) async fn start() -> Self {
        let turn = TURN.lock().await;
        let cluster = CLUSTER.get().await.expect("a control plane");
        let mut namespaces = Vec::new();
        for prefix in ["operator", "pipelines", "work"] {
            namespaces.push(cluster.namespace(prefix).await.expect("a namespace"));
        }
        let [own, pipelines, work] = &namespaces[..] else {
            unreachable!("three")
        };
        cluster
            .install_crds(&assets::repository().join("crds"))
            .await
            .expect("the CRD is taken");
        let roles = Roles {
            workload_namespace: Some(work.clone()),
            ..Roles::everywhere(own)
        };
        cluster.install_roles(&roles).await.expect("the roles are taken");
        let operator = cluster.kubeconfig(users::OPERATOR).expect("a kubeconfig");
        let operator = operator.to_str().expect("UTF-8");
        let question = [
            "auth",
            "can-i",
            "create",
            "subjectaccessreviews.authorization.k8s.io",
            "--kubeconfig",
            operator,
        ];
        let look = async || Ok(Seen::when(cluster.kubectl(&question).await, Result::is_ok));
        wait::until("the operator's roles to count", wait::DEADLINE, look)
            .await
            .expect("they count")
            .expect("yes");
        let launch = || {
            let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), cluster, own).expect("a port");
            launch.with(&[
                "--controller-enabled=false",
                "--shutdown-delay=0s",
                "--workload-namespace",
                work,
            ])
        };
        let follower = launch();
        let webhooks = Webhooks::new(own, follower.webhook_port);
        cluster
            .install_webhooks(&webhooks)
            .await
            .expect("the configurations are taken");
        let leader = launch().start().expect("it starts");
        leader.ready().await.expect("the leader is ready");
        let release = Self {
            cluster,
            pipelines: pipelines.clone(),
            work: work.clone(),
            follower: follower.start().expect("it starts"),
            launch: follower,
            _leader: leader,
            _turn: turn,
        };
        release.follower.ready().await.expect("the follower is ready");
        release
    }

    /// Lets a user write pipelines, and another one also create Pods where they run.
    async fn grant(&self) {
        let all = json!([{"apiGroups": ["streams.sentry.io"], "verbs": ["*"],
                          "resources": ["streamingpipelines", "streamingpipelines/scale"]}]);
        let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}]);
        let mut objects = role(&self.pipelines, "writers", &all, &[users::TENANT_A, users::TENANT_B]);
        objects.extend(role(&self.work, "runners", &pods, &[users::TENANT_A]));
        self.cluster.apply(&objects).await.expect("they are taken");
        for user in [users::TENANT_A, users::TENANT_B] {
            let look = async || {
                let answer = self.kubectl_as(user, &["auth", "can-i", "create", "spipe"]).await;
                Ok(Seen::when(answer, Result::is_ok))
            };
            wait::until("the roles to count", wait::DEADLINE, look)
                .await
                .expect("they count")
                .expect("yes");
        }
    }

    pub(super) async fn kubectl_as(&self, user: &str, arguments: &[&str]) -> Result<String, String> {
        let kubeconfig = self.cluster.kubeconfig(user).expect("a kubeconfig");
        let kubeconfig = kubeconfig.to_str().expect("UTF-8");
        let arguments = [arguments, &["--namespace", &self.pipelines, "--kubeconfig", kubeconfig]].concat();
        self.cluster
            .kubectl(&arguments)
            .await
            .map_err(|error| format!("{error:#}"))
    }

    pub(super) async fn apply_as(&self, user: &str, object: &Value, arguments: &[&str]) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, object.to_string()).expect("a file");
        let path = file.path().to_str().expect("UTF-8");
        self.kubectl_as(user, &[&["apply", "--filename", path], arguments].concat())
            .await
    }
}

pub(super) fn role(namespace: &str, name: &str, rules: &Value, users: &[&str]) -> Vec<Value> {
    let metadata = json!({"name": name, "namespace": namespace});
    let group = "rbac.authorization.k8s.io";
    let user = |user| json!({"apiGroup": group, "kind": "User", "name": user});
    let subjects: Vec<Value> = users.iter().map(user).collect();
    vec![
        json!({"apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": metadata, "rules": rules}),
        json!({"apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": metadata, "subjects": subjects,
               "roleRef": {"apiGroup": group, "kind": "Role", "name": name}}),
    ]
}

/// One story: rights are given and taken in it.
#[tokio::test]
async fn a_follower_admits_a_spec_only_from_users_who_may_create_pods_where_they_run() {
    let release = Release::start().await;
    release.grant().await;
    let metrics = release.follower.metrics().await.expect("metrics");
    assert!(metrics.contains("streaming_operator_leader 0"), "{metrics}");

    // Who may not is told what is missing, in a dry run too.
    let (a, b) = (users::TENANT_A, users::TENANT_B);
    let expected = format!(
        "denied the request: streamingpipelines.streams.sentry.io \"checkout\" is forbidden: User \"tenant-b\" cannot \
         create resource \"pods\" in API group \"\" in the namespace \"{}\"",
        release.work
    );
    for arguments in [&["--dry-run=server"] as &[&str], &[], &["--server-side"]] {
        let refusal = release
            .apply_as(b, &manifest("checkout"), arguments)
            .await
            .expect_err("it is refused");
        assert!(refusal.contains("Error from server (Forbidden)"), "{refusal}");
        assert!(refusal.contains(&expected), "{refusal}");
    }

    // Who may, may; and what changes no spec is nobody's business.
    release
        .apply_as(a, &manifest("checkout"), &[])
        .await
        .expect("it is admitted");
    let edit = r#"{"spec":{"image_name":"registry.example/consumer:2"}}"#;
    let patch = ["patch", "spipe", "checkout", "--type=merge", "--patch", edit];
    let refusal = release.kubectl_as(b, &patch).await.expect_err("a spec edit is refused");
    assert!(refusal.contains(&expected), "{refusal}");
    release
        .kubectl_as(b, &["label", "spipe", "checkout", "a=b"])
        .await
        .expect("metadata");
    release
        .kubectl_as(b, &["scale", "spipe", "checkout", "--replicas=2"])
        .await
        .expect("scale");

    // A right that is given counts within seconds.
    let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}]);
    release
        .cluster
        .apply(&role(&release.work, "more-runners", &pods, &[b]))
        .await
        .expect("they are taken");
    let look = async || Ok(Seen::when(release.kubectl_as(b, &patch).await, Result::is_ok));
    let edited = wait::until("the right to count", wait::DEADLINE, look).await;
    edited.expect("it counts").expect("the edit is admitted");
    release
        .kubectl_as(b, &["delete", "spipe", "checkout"])
        .await
        .expect("deletion");

    // And one that is taken: both users lose it with the roles.
    for name in ["runners", "more-runners"] {
        let arguments = ["delete", "rolebinding", name, "--namespace", &release.work];
        release.cluster.kubectl(&arguments).await.expect("it is gone");
    }
    let look = async || {
        let refusal = release.apply_as(a, &manifest("later"), &["--dry-run=server"]).await;
        Ok(Seen::when(refusal, Result::is_err))
    };
    let refused = wait::until("the right to be gone", wait::DEADLINE, look).await;
    let refusal = refused.expect("it is gone").expect_err("it is refused");
    assert!(
        refusal.contains("User \"tenant-a\" cannot create resource \"pods\""),
        "{refusal}"
    );
}

#[tokio::test]
async fn nobody_is_asked_about_when_the_check_is_off() {
    let release = Release::start().await;
    release.grant().await;
    release.follower.terminate().expect("a signal");
    release.follower.wait().await.expect("it ends");
    let unguarded = release
        .launch
        .clone()
        .with(&["--workload-access-check=false"])
        .start()
        .expect("it starts");
    unguarded.ready().await.expect("it is ready");
    let admin = release.cluster.admin().await.expect("a client");
    let mark = release.cluster.audit().mark(&admin).await.expect("a mark");
    release
        .apply_as(users::TENANT_B, &manifest("checkout"), &[])
        .await
        .expect("it is admitted");
    let since = release.cluster.audit().since(mark, &admin).await.expect("records");
    assert!(!since.iter().any(|record| record.is("create", "subjectaccessreviews")));
}
