//! Two hundred Pods of twenty pipelines, each failing in one of ten ways at about the same time: all healed, or rightly
//! held, and never two of an ordinal.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::audit::Mark;
use testkit::pods;
use testkit::stages::{LIFE, PULL_ERROR, STUCK_TERMINATING};
use testkit::wait::{self, Seen};

use super::bed::{Bed, Mode, SOON, label, pipeline};
use super::twins::{created, twins};

const PIPELINES: usize = 20;

/// A Pod is told by the pipeline and its ordinal.
type Place = (String, String);

/// How the Pods of an ordinal fail, in every pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Evicted,
    OutOfMemory,
    ExitCode1,
    ImagePull,
    ConfigError,
    DeletedByAPerson,
    NodeLost,
    CrashLoopBackOff,
    InitFailure,
    StuckTerminating,
}

impl Way {
    const ALL: [Self; 10] = [
        Self::Evicted,
        Self::OutOfMemory,
        Self::ExitCode1,
        Self::ImagePull,
        Self::ConfigError,
        Self::DeletedByAPerson,
        Self::NodeLost,
        Self::CrashLoopBackOff,
        Self::InitFailure,
        Self::StuckTerminating,
    ];

    fn of(pod: &Pod) -> Self {
        let ordinal: usize = label(pod, "ordinal").parse().unwrap();
        Self::ALL[ordinal]
    }

    /// What the replacement carries as `failures`: disruptions and what a person does count for nothing. `None`: the Pod
    /// stays, for the kubelet goes on trying and a replacement would meet the same.
    fn failures(self) -> Option<&'static str> {
        match self {
            Self::Evicted | Self::DeletedByAPerson | Self::NodeLost | Self::StuckTerminating => Some("0"),
            Self::OutOfMemory | Self::ExitCode1 | Self::ImagePull | Self::ConfigError | Self::InitFailure => Some("1"),
            Self::CrashLoopBackOff => None,
        }
    }
}

async fn fail(bed: &Bed, pod: &Pod) {
    let (namespace, name) = (&bed.pods_in, pod.metadata.name.as_deref().unwrap());
    let admin = &bed.admin;
    let live = |life: &'static str| async move {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {LIFE: life}}}));
        bed.pods().patch(name, &PatchParams::default(), &patch).await.unwrap();
    };
    match Way::of(pod) {
        Way::Evicted => pods::evict_pod(admin, namespace, name, "Evicted").await.unwrap(),
        Way::OutOfMemory => pods::fail_pod(admin, namespace, name, 137, "OOMKilled").await.unwrap(),
        Way::ExitCode1 => pods::fail_pod(admin, namespace, name, 1, "Error").await.unwrap(),
        Way::ImagePull => {
            live(PULL_ERROR).await;
            pods::wait_pod(admin, namespace, name, "ErrImagePull", "not found")
                .await
                .unwrap();
        }
        Way::ConfigError => {
            live(PULL_ERROR).await;
            let reason = "CreateContainerConfigError";
            pods::wait_pod(admin, namespace, name, reason, "secret \"x\" not found")
                .await
                .unwrap();
        }
        Way::CrashLoopBackOff => {
            live(PULL_ERROR).await;
            pods::wait_pod(admin, namespace, name, "CrashLoopBackOff", "back-off 10s")
                .await
                .unwrap();
        }
        Way::DeletedByAPerson => delete(bed, name).await,
        Way::NodeLost => {
            pods::evict_pod(admin, namespace, name, "NodeLost").await.unwrap();
        }
        Way::InitFailure => pods::fail_init_pod(admin, namespace, name, 1).await.unwrap(),
        Way::StuckTerminating => {
            live(STUCK_TERMINATING).await;
            delete(bed, name).await;
        }
    }
}

async fn delete(bed: &Bed, name: &str) {
    bed.pods().delete(name, &DeleteParams::default()).await.unwrap();
}

fn by_place(pods: &[Pod]) -> BTreeMap<Place, Vec<&Pod>> {
    let mut places: BTreeMap<Place, Vec<&Pod>> = BTreeMap::new();
    for pod in pods {
        let place = (label(pod, "owner-uid").to_owned(), label(pod, "ordinal").to_owned());
        places.entry(place).or_default().push(pod);
    }
    places
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}

fn failures(pod: &Pod) -> Option<&str> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get("streams.sentry.io/failures").map(String::as_str)
}

/// Whether what is at the place of `before` is as its way of failing wants it.
fn is_as_wanted(before: &Pod, now: &[&Pod]) -> bool {
    let [pod] = now else { return false };
    match Way::of(before).failures() {
        Some(wanted) => pod.metadata.uid != before.metadata.uid && is_ready(pod) && failures(pod) == Some(wanted),
        None => pod.metadata.uid == before.metadata.uid,
    }
}

/// With an init container, for one that fails there.
fn with_init(name: &str) -> Value {
    let mut pipeline = pipeline(name, 10);
    pipeline["spec"]["deployment_template"]["spec"]["template"]["spec"]["initContainers"] =
        json!([{"name": "init", "image": "init:1"}]);
    pipeline
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_pods_that_fail_in_ten_ways_are_healed_or_rightly_held() {
    let bed = Bed::new("ways", Mode::Together).await;
    let operator = bed.start(&["--waiting-grace=3s", "--terminating-grace=3s"]);
    let names: Vec<String> = (0..PIPELINES).map(|n| format!("p{n}")).collect();
    for name in &names {
        bed.create(with_init(name)).await;
    }
    for name in &names {
        bed.until_ready_is(&operator, name, "True/Ready").await;
    }
    let before = bed.ours().await;
    assert_eq!(before.len(), 200);
    stream::iter(&before)
        .for_each_concurrent(8, |pod| fail(&bed, pod))
        .await;
    let look = async || {
        let now = bed.ours().await;
        let places = by_place(&now);
        let wrong = by_place(&before).into_iter().filter_map(|(place, was)| {
            let now = places.get(&place).map(Vec::as_slice).unwrap_or_default();
            let told = |pod: &&Pod| {
                (
                    pod.metadata.name.clone(),
                    failures(pod).map(str::to_owned),
                    is_ready(pod),
                )
            };
            (!is_as_wanted(was[0], now)).then(|| (Way::of(was[0]), now.iter().map(told).collect::<Vec<_>>()))
        });
        Ok(Seen::when(wrong.collect::<Vec<_>>(), Vec::is_empty))
    };
    let healed = wait::until("all to be healed or held", SOON, look).await;
    healed.unwrap_or_else(|error| panic!("{error:#}\n{}", operator.log_tail(60)));
    for name in &names {
        let message = bed.until_ready_is(&operator, name, "False/Healing").await;
        assert!(
            message.starts_with("1/10 pods not ready: ordinal 7 CrashLoopBackOff"),
            "{message}"
        );
    }
    let records = bed.cluster.audit().since(Mark::default(), &bed.admin).await.unwrap();
    assert_eq!(twins(&records, &bed.pods_in), Vec::<String>::new());
    // Each Pod once, and a replacement for nine of ten.
    assert_eq!(created(&records, &bed.pods_in).len(), 380);
}
