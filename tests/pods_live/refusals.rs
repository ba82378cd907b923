//! What refuses or changes our Pods: quota, `LimitRange`, `PodSecurity`, admission policies, a namespace on its way out.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, LimitRange, Namespace, Pod, ResourceQuota};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::audit::Mark;
use testkit::users;
use testkit::wait::{self, Seen};

use super::bed::{Bed, Mode, SOON, pipeline};
use super::twins::twins;

/// Makes, or puts in place of what is there.
async fn apply(bed: &Bed, object: Value) {
    bed.cluster.apply(&[object]).await.unwrap();
}

async fn quota(bed: &Bed, pods: u8) {
    let (namespace, hard) = (&bed.pods_in, json!({"pods": pods.to_string()}));
    let object = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": namespace},
        "spec": {"hard": hard},
    });
    apply(bed, object).await;
    // Admission goes by what the quota controller has counted.
    let quotas: Api<ResourceQuota> = Api::namespaced(bed.admin.clone(), namespace);
    let look = async || {
        let status = serde_json::to_value(quotas.get("few").await?.status)?;
        Ok(Seen::when(status, |status| status["hard"] == hard))
    };
    wait::until("the quota to be counted", SOON, look).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_that_is_used_up_is_told_and_room_is_used_when_there_is_some() {
    let tests = Mode::BOTH.map(|mode| async move {
        let bed = Bed::new("quota", mode).await;
        // Creates begin with one and go on with two at once, of which either may be the first: there is room for the one.
        quota(&bed, 1).await;
        let operator = bed.start(&[]);
        bed.create(pipeline("p", 3)).await;
        let message = bed.until_ready_is(&operator, "p", "False/QuotaExceeded").await;
        assert!(message.contains("exceeded quota: few"), "{message}");
        assert_eq!(bed.running().await, ["primary/0 image:1"]);
        quota(&bed, 3).await;
        bed.until_ready_is(&operator, "p", "True/Ready").await;
        assert_eq!(bed.running().await.len(), 3);
    });
    join_all(tests).await;
}

/// What refuses every Pod from now on.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    LimitRange,
    PodSecurity,
}

impl Refusal {
    async fn begin(self, bed: &Bed) {
        match self {
            Self::LimitRange => {
                let object = json!({
                    "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small", "namespace": bed.pods_in},
                    "spec": {"limits": [{"type": "Container", "max": {"memory": "1Mi"}}]},
                });
                apply(bed, object).await;
            }
            Self::PodSecurity => Self::enforce(bed, json!("restricted")).await,
        }
    }

    async fn end(self, bed: &Bed) {
        match self {
            Self::LimitRange => {
                let limits: Api<LimitRange> = Api::namespaced(bed.admin.clone(), &bed.pods_in);
                limits.delete("small", &DeleteParams::default()).await.unwrap();
            }
            Self::PodSecurity => Self::enforce(bed, Value::Null).await,
        }
    }

    async fn enforce(bed: &Bed, level: Value) {
        let namespaces: Api<Namespace> = Api::all(bed.admin.clone());
        let patch = Patch::Merge(json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}}));
        namespaces
            .patch(&bed.pods_in, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Of the API server's text.
    const fn words(self) -> &'static str {
        match self {
            Self::LimitRange => "maximum memory usage per Container is 1Mi",
            Self::PodSecurity => "violates PodSecurity",
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_whose_pods_are_refused_leaves_every_old_pod_running() {
    let cases = [Refusal::LimitRange, Refusal::PodSecurity];
    let cases = cases
        .into_iter()
        .flat_map(|refusal| Mode::BOTH.map(|mode| (refusal, mode)));
    let tests = cases.map(|(refusal, mode)| async move {
        let bed = Bed::new("refused", mode).await;
        let operator = bed.start(&[]);
        bed.create(pipeline("p", 3)).await;
        bed.until_ready_is(&operator, "p", "True/Ready").await;
        let before = uids(&bed).await;
        refusal.begin(&bed).await;
        bed.edit("p", json!({"spec": {"image_name": "image:2"}})).await;
        let message = bed.until_ready_is(&operator, "p", "False/ApiRejected").await;
        assert!(message.contains(refusal.words()), "{message}");
        assert_eq!(uids(&bed).await, before, "{refusal:?} {mode:?}");
        refusal.end(&bed).await;
        bed.until_ready_is(&operator, "p", "True/Ready").await;
        assert_eq!(
            bed.running().await,
            ["primary/0 image:2", "primary/1 image:2", "primary/2 image:2"]
        );
    });
    join_all(tests).await;
}

async fn uids(bed: &Bed) -> Vec<String> {
    bed.ours()
        .await
        .into_iter()
        .filter_map(|pod| pod.metadata.uid)
        .collect()
}

/// A policy that adds a label, an annotation and a container to each Pod of a namespace.
fn policy(namespace: &str) -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    let name = format!("adds-{namespace}");
    let added = r#"Object{
        metadata: Object.metadata{labels: {"mesh": "on"}, annotations: {"mesh/injected": "yes"}},
        spec: Object.spec{containers: [Object.spec.containers{name: "mesh-proxy", image: "mesh:1"}]}
    }"#;
    [
        json!({
            "apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name},
            "spec": {
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "resourceRules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
                    ],
                },
                "failurePolicy": "Fail", "reinvocationPolicy": "Never",
                "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": added}}],
            },
        }),
        json!({
            "apiVersion": api, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": {"policyName": name},
        }),
    ]
}

fn is_injected(pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    spec.is_some_and(|spec| spec.containers.iter().any(|container| container.name == "mesh-proxy"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_add_to_our_pods_is_no_change_of_the_spec() {
    let bed = Bed::new("injected", Mode::Together).await;
    let limits = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults", "namespace": bed.namespace},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1m", "memory": "8Mi"}}]},
    });
    apply(&bed, limits).await;
    bed.cluster.apply(&policy(&bed.namespace)).await.unwrap();
    let injects = async || {
        let probe = serde_json::from_value(json!({
            "metadata": {"name": "probe"}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        }))?;
        let try_only = kube::api::PostParams {
            dry_run: true,
            ..kube::api::PostParams::default()
        };
        Ok(Seen::when(bed.pods().create(&try_only, &probe).await?, is_injected))
    };
    wait::until("the policy to be in force", SOON, injects).await.unwrap();
    let first = bed.start(&[]);
    bed.create(pipeline("p", 3)).await;
    bed.until_ready_is(&first, "p", "True/Ready").await;
    let made = bed.ours().await;
    assert!(made.len() == 3 && made.iter().all(is_injected), "{made:#?}");
    let before = uids(&bed).await;

    // Neither in its next passes nor after a restart does it take them for anything else than its Pods.
    first.terminate().unwrap();
    first.wait().await.unwrap();
    let mark = bed.cluster.audit().mark(&bed.admin).await.unwrap();
    let second = bed.start(&[]);
    bed.edit("p", json!({"spec": {"replicas": 4}})).await;
    bed.until_ready_is(&second, "p", "True/Ready").await;
    let after = uids(&bed).await;
    assert!(before.iter().all(|uid| after.contains(uid)), "{before:?} {after:?}");
    let records = bed
        .cluster
        .audit()
        .since_by(users::OPERATOR, mark, &bed.admin)
        .await
        .unwrap();
    let pods = records
        .iter()
        .filter(|record| record.namespace == bed.namespace && record.resource == "pods");
    let writes: Vec<String> = pods
        .filter(|record| record.is_write())
        .map(ToString::to_string)
        .collect();
    assert_eq!(writes.len(), 1, "the one that was scaled up: {writes:#?}");
}

/// An object that keeps its namespace from going.
async fn hold(bed: &Bed, held: bool) {
    let config_maps: Api<ConfigMap> = Api::namespaced(bed.admin.clone(), &bed.pods_in);
    if held {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "hold", "namespace": bed.pods_in, "finalizers": ["test.example/hold"]},
        });
        apply(bed, object).await;
    } else {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        config_maps
            .patch("hold", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

async fn until_namespace_is_gone(bed: &Bed, name: &str) {
    let namespaces: Api<Namespace> = Api::all(bed.admin.clone());
    let look = async || {
        let found = namespaces.get_opt(name).await?;
        Ok(Seen::when(found.map(|one| one.status), Option::is_none))
    };
    wait::until(&format!("namespace {name} to be gone"), SOON, look)
        .await
        .unwrap();
}

async fn delete_namespace(bed: &Bed, name: &str) {
    let namespaces: Api<Namespace> = Api::all(bed.admin.clone());
    namespaces.delete(name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_on_its_way_out_is_told_and_one_that_is_made_again_is_filled_again() {
    let bed = Bed::new("terminating", Mode::Apart).await;
    let operator = bed.start(&[]);
    bed.create(pipeline("p", 3)).await;
    bed.until_ready_is(&operator, "p", "True/Ready").await;
    hold(&bed, true).await;
    delete_namespace(&bed, &bed.pods_in).await;
    bed.until_ready_is(&operator, "p", "False/NamespaceTerminating").await;
    let gone = async || Ok(Seen::when(bed.running().await, Vec::is_empty));
    wait::until("its Pods to be gone", SOON, gone).await.unwrap();
    let records = bed
        .cluster
        .audit()
        .since_by(users::OPERATOR, Mark::default(), &bed.admin)
        .await
        .unwrap();
    let refused = records
        .iter()
        .filter(|record| record.namespace == bed.pods_in && record.is("create", "pods") && record.code == 403);
    assert!(
        refused.count() <= 3,
        "it stops when it is told why, and not after each Pod that goes"
    );
    hold(&bed, false).await;
    until_namespace_is_gone(&bed, &bed.pods_in).await;
    let again = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": bed.pods_in}});
    apply(&bed, again).await;
    bed.until_ready_is(&operator, "p", "True/Ready").await;
    assert_eq!(bed.running().await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_deleted_with_its_pipelines_never_waits_for_us() {
    let tests = Mode::BOTH.map(|mode| async move {
        let bed = Bed::new("deleted", mode).await;
        let operator = bed.start(&[]);
        bed.create(pipeline("p", 3)).await;
        bed.until_ready_is(&operator, "p", "True/Ready").await;
        delete_namespace(&bed, &bed.namespace).await;
        until_namespace_is_gone(&bed, &bed.namespace).await;
        assert_eq!(bed.running().await, Vec::<String>::new(), "{mode:?}");
        let records = bed.cluster.audit().since(Mark::default(), &bed.admin).await.unwrap();
        assert_eq!(twins(&records, &bed.pods_in), Vec::<String>::new());
    });
    join_all(tests).await;
}
