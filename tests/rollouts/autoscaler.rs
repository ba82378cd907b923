//! Autoscalers of Pods and `kubectl scale`, with the controller of kube-controller-manager. It needs no metrics to
//! keep a number between its bounds.

use serde_json::{Value, json};
use testkit::wait::{self, Seen};

use super::bed::{Bed, SOON, image, pipeline};
use super::pods::Pods;

fn autoscaler(namespace: &str, least: u16, most: u16) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"apiVersion": "streams.sentry.io/v1alpha1", "kind": "StreamingPipeline", "name": "p"},
            "minReplicas": least, "maxReplicas": most,
        },
    })
}

/// Pods that take two seconds to become Ready, so that a rollout lasts.
fn slow(mut pipeline: Value) -> Value {
    pipeline["spec"]["deployment_template"] = json!({"spec": {"template": {"metadata": {
        "annotations": {"testkit/life": "slow-start", "testkit/after": "2s"},
    }}}});
    pipeline
}

impl Bed {
    /// Waits until so many replicas are asked for, all of them available, and the rollout is over.
    async fn until_settled_at(&self, replicas: i64) {
        let look = async || {
            let pipeline = self.pipeline("p").await;
            let numbers = json!([
                pipeline["spec"]["replicas"],
                pipeline["status"]["totalReplicas"],
                pipeline["status"]["updatedReplicas"],
                pipeline["status"]["availableReplicas"],
            ]);
            let done = pipeline["status"]["rollout"]["phase"] == "Complete" && numbers == json!(vec![replicas; 4]);
            Ok(if done {
                Seen::Yes(())
            } else {
                Seen::NotYet(pipeline.to_string())
            })
        };
        let what = format!("{replicas} replicas, all of them updated");
        wait::until(&what, SOON, look).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_autoscaler_moves_the_replicas_at_rest_and_in_mid_rollout() {
    let bed = Bed::start("autoscaler", &[]).await;
    bed.apply(&[slow(pipeline(&bed.namespace, "p", 3))]).await;
    bed.until_settled_at(3).await;
    let pods = Pods::watch(&bed.admin, &bed.namespace);
    // At rest: up, because the least is more than there are; down, because the most is fewer.
    bed.apply(&[autoscaler(&bed.namespace, 5, 8)]).await;
    bed.until_settled_at(5).await;
    bed.apply(&[autoscaler(&bed.namespace, 2, 4)]).await;
    bed.until_settled_at(4).await;
    // In mid-rollout: up, then down, and the new revision reaches all that are left.
    pods.fewest_ready("p");
    bed.edit("p", image("2")).await;
    bed.until_number("p", "updatedReplicas", 1).await;
    bed.apply(&[autoscaler(&bed.namespace, 6, 8)]).await;
    bed.until_settled_at(6).await;
    assert!(pods.fewest_ready("p") >= 3, "never fewer than 4 - 1 because of us");
    bed.edit("p", image("3")).await;
    bed.until_number("p", "updatedReplicas", 1).await;
    bed.apply(&[autoscaler(&bed.namespace, 1, 3)]).await;
    bed.until_settled_at(3).await;
    assert!(pods.fewest_ready("p") >= 2, "never fewer than 3 - 1 because of us");
    let images: Vec<String> = pods
        .now()
        .iter()
        .filter_map(|pod| pod.spec.as_ref()?.containers[0].image.clone())
        .collect();
    assert_eq!(images, ["registry.example/consumer:3"; 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_scale_goes_up_down_to_one_to_zero_and_back() {
    let bed = Bed::start("scale", &[]).await;
    bed.apply(&[pipeline(&bed.namespace, "p", 2)]).await;
    bed.until_settled_at(2).await;
    for replicas in [4, 1, 3] {
        let to = format!("--replicas={replicas}");
        bed.kubectl(&["scale", "spipe/p", &to]).await.unwrap();
        bed.until_settled_at(replicas).await;
    }
    let refused = bed.kubectl(&["scale", "spipe/p", "--replicas=5", "--current-replicas=9"]);
    assert!(refused.await.is_err(), "the precondition of kubectl holds");
    bed.kubectl(&["scale", "spipe/p", "--replicas=0"]).await.unwrap();
    bed.until("p", "Ready", "True/ScaledToZero").await;
    assert_eq!(bed.list("pods").await, Vec::<Value>::new());
    bed.kubectl(&["scale", "spipe/p", "--replicas=2"]).await.unwrap();
    bed.until_settled_at(2).await;
    let scale = bed
        .kubectl(&["get", "spipe", "p", "--subresource=scale", "--output=json"])
        .await;
    let scale: Value = serde_json::from_str(&scale.unwrap()).unwrap();
    assert_eq!(
        (&scale["spec"]["replicas"], &scale["status"]["replicas"]),
        (&json!(2), &json!(2))
    );
    let selector = scale["status"]["selector"].as_str().unwrap();
    let selected = bed
        .kubectl(&["get", "pods", "--selector", selector, "--output=name"])
        .await
        .unwrap();
    assert_eq!(selected.lines().count(), 2, "the selector is that of its Pods");
}
