//! One consumer, and an image that cannot be pulled.

use k8s_openapi::api::core::v1::Pod;
use kube::api::EvictParams;
use kube::{Api, ResourceExt as _};
use testkit::wait::{self, Seen};

use super::bed::{Bed, SOON, image, pipeline};
use super::pods::{Pods, is_ready};

fn tag(pod: &Pod) -> &str {
    let image = pod.spec.as_ref().and_then(|spec| spec.containers[0].image.as_deref());
    image.and_then(|image| image.rsplit(':').next()).unwrap_or_default()
}

/// Waits until there are two Pods, a Ready one of the old image and one of the image that is not there.
async fn until_served_beside_the_broken_one(pods: &Pods, not: &str) -> Pod {
    let look = async || {
        let there = pods.now();
        let served = there
            .iter()
            .find(|pod| is_ready(pod) && tag(pod) == "1" && pod.name_any() != not);
        let broken = there.iter().any(|pod| tag(pod) == "bad" && !is_ready(pod));
        let names: Vec<String> = there
            .iter()
            .map(|pod| format!("{} {}", pod.name_any(), tag(pod)))
            .collect();
        Ok(match served {
            Some(pod) if broken && there.len() == 2 => Seen::Yes(pod.clone()),
            _ => Seen::NotYet(format!("{names:?}")),
        })
    };
    wait::until("a Ready Pod of the old image beside the broken one", SOON, look)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_not_there_leaves_the_old_pod_and_brings_it_back_when_it_is_evicted() {
    let bed = Bed::start("one-replica", &[]).await;
    bed.apply(&[pipeline(&bed.namespace, "p", 1)]).await;
    bed.until_ready("p").await;
    let pods = Pods::watch(&bed.admin, &bed.namespace);
    let ready = async || Ok(Seen::when(pods.now().len(), |count| *count == 1));
    wait::until("the witness to see the Pod", SOON, ready).await.unwrap();
    pods.fewest_ready("p");
    bed.edit("p", image("bad")).await;
    let old = until_served_beside_the_broken_one(&pods, "").await;
    assert_eq!(pods.fewest_ready("p"), 1, "the edit took no consumer");

    let api: Api<Pod> = Api::namespaced(bed.admin.clone(), &bed.namespace);
    api.evict(&old.name_any(), &EvictParams::default()).await.unwrap();
    let back = until_served_beside_the_broken_one(&pods, &old.name_any()).await;
    assert_ne!(back.uid(), old.uid());

    // Mended: the successor takes over, and never was there none.
    pods.fewest_ready("p");
    bed.edit("p", image("2")).await;
    bed.until_ready("p").await;
    assert_eq!(pods.fewest_ready("p"), 1);
    assert_eq!(pods.now().iter().map(tag).collect::<Vec<_>>(), ["2"]);
}
