//! Pods in another namespace, whose pipeline went without them.

use std::process::Output;

use serde_json::json;
use testkit::users;
use testkit::wait::{self, Seen};

use super::bed::{Bed, Mode, SOON, pipeline};

/// The command line of a person who may do everything.
async fn orphans(bed: &Bed, arguments: &[&str]) -> Output {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
    command.args(["orphans", "--watch-namespace", &bed.namespace]);
    command.args(["--workload-namespace", &bed.pods_in]).args(arguments);
    command.env("KUBECONFIG", bed.cluster.kubeconfig(users::ADMIN).unwrap());
    command.output().await.unwrap()
}

fn said(output: &Output) -> (Option<i32>, String) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    (
        output.status.code(),
        format!("{stderr}{}", String::from_utf8_lossy(&output.stdout)),
    )
}

/// Two pipelines, one of which is gone without its Pods: somebody took the finalizer off while the operator was away.
async fn with_orphans(living: u16, gone: u16) -> Bed {
    let bed = Bed::new("orphans", Mode::Apart).await;
    let operator = bed.start(&[]);
    bed.create(pipeline("living", living)).await;
    bed.create(pipeline("gone", gone)).await;
    bed.until_ready_is(&operator, "living", "True/Ready").await;
    bed.until_ready_is(&operator, "gone", "True/Ready").await;
    operator.terminate().unwrap();
    operator.wait().await.unwrap();
    bed.edit("gone", json!({"metadata": {"finalizers": null}})).await;
    bed.delete("gone").await;
    bed
}

async fn until_pods_are(bed: &Bed, number: usize) {
    let look = async || Ok(Seen::when(bed.running().await, |pods| pods.len() == number));
    wait::until("the orphans to be gone", SOON, look).await.unwrap();
}

async fn reasons(bed: &Bed) -> String {
    let namespace = ["--namespace", bed.pods_in.as_str()];
    let arguments = [
        ["get", "events.events.k8s.io", "--output=jsonpath={.items[*].reason}"].as_slice(),
        &namespace,
    ];
    bed.cluster.kubectl(&arguments.concat()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_pipeline_left_in_another_namespace_is_removed_by_the_leader() {
    let bed = with_orphans(10, 1).await;
    let _operator = bed.start(&["--orphan-grace=1s"]);
    until_pods_are(&bed, 10).await;
    let look = async || {
        Ok(Seen::when(reasons(&bed).await, |reasons| {
            reasons.contains("OrphanRemoved")
        }))
    };
    wait::until("an Event", SOON, look).await.unwrap();
    let [pods, config_maps, _] = bed.count().await;
    assert_eq!((pods, config_maps), (10, 1), "its ConfigMap too");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_are_left_to_a_person_who_has_a_command_for_it() {
    let bed = with_orphans(3, 2).await;
    let _operator = bed.start(&["--orphan-grace=1s"]);
    let look = async || {
        Ok(Seen::when(reasons(&bed).await, |reasons| {
            reasons.contains("OrphanSweepRefused")
        }))
    };
    wait::until("an Event", SOON, look).await.unwrap();
    assert_eq!(bed.running().await.len(), 5);

    let (code, text) = said(&orphans(&bed, &[]).await);
    assert_eq!(code, Some(1), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(
        lines[0].starts_with("orphan: Pod ") && lines[2].starts_with("orphan: ConfigMap "),
        "{text}"
    );
    assert!(
        lines[3].starts_with("3 orphans: more Pods than the operator removes by itself"),
        "{text}"
    );
    assert_eq!(bed.running().await.len(), 5, "looking removes nothing");

    let (code, text) = said(&orphans(&bed, &["--delete"]).await);
    assert_eq!(code, Some(0), "{text}");
    until_pods_are(&bed, 3).await;
    let (code, text) = said(&orphans(&bed, &[]).await);
    assert_eq!((code, text.as_str()), (Some(0), "no orphans among 3 Pods of ours\n"));
}
