//! A pipeline that is deleted takes its Pods along, in both namespace modes, with the operator there or away.

use futures::future::join_all;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::audit::{Mark, Record};
use testkit::operator::Operator;
use testkit::wait::{self, Seen};

use super::bed::{Bed, Mode, SOON, pipeline};

async fn with_pipeline(mode: Mode) -> (Bed, Operator) {
    let bed = Bed::new("deletion", mode).await;
    let operator = bed.start(&[]);
    bed.create(pipeline("p", 3)).await;
    bed.until_ready_is(&operator, "p", "True/Ready").await;
    (bed, operator)
}

/// A Pod of the pipeline stays until it is let go.
async fn hold_a_pod(bed: &Bed, finalizers: Value) {
    let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    bed.pods()
        .patch("svc-pipeline-p-0-1-0", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

fn has_no_grace(record: &Record) -> bool {
    let grace = record
        .body
        .as_ref()
        .and_then(|body| body.get("gracePeriodSeconds")?.as_i64());
    record.is("delete", "pods") && grace == Some(0)
}

/// No Pod was ended without its grace, but by the node that has ended it.
async fn assert_graceful(bed: &Bed) {
    let records = bed.cluster.audit().since(Mark::default(), &bed.admin).await.unwrap();
    let in_bed = records
        .iter()
        .filter(|record| record.namespace == bed.pods_in && record.user != "kwok");
    let forced: Vec<String> = in_bed
        .filter(|record| has_no_grace(record))
        .map(ToString::to_string)
        .collect();
    assert_eq!(forced, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_background_all_goes_with_the_pipeline() {
    let tests = Mode::BOTH.map(|mode| async move {
        let (bed, _operator) = with_pipeline(mode).await;
        bed.delete("p").await;
        bed.until_all_is_gone("p").await;
        assert_graceful(&bed).await;
    });
    join_all(tests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_foreground_the_pipeline_goes_after_its_last_pod() {
    let tests = Mode::BOTH.map(|mode| async move {
        let (bed, _operator) = with_pipeline(mode).await;
        hold_a_pod(&bed, json!(["test.example/hold"])).await;
        bed.pipelines().delete("p", &DeleteParams::foreground()).await.unwrap();
        let one_left = async || Ok(Seen::when(bed.running().await, |pods| pods.len() == 1));
        wait::until("all Pods but one to be gone", SOON, one_left)
            .await
            .unwrap();
        let waits = bed.pipelines().get_opt("p").await.unwrap();
        assert!(waits.is_some(), "{mode:?}: gone before its Pods");
        hold_a_pod(&bed, Value::Null).await;
        bed.until_all_is_gone("p").await;
    });
    join_all(tests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_waits_for_the_pods_when_it_is_told_to() {
    let tests = Mode::BOTH.map(|mode| async move {
        let (bed, _operator) = with_pipeline(mode).await;
        let namespace = ["--namespace", bed.namespace.as_str()];
        let delete = ["delete", "spipe", "p", "--cascade=foreground", "--wait"];
        bed.cluster
            .kubectl(&[delete.as_slice(), &namespace].concat())
            .await
            .unwrap();
        assert_eq!(bed.running().await, Vec::<String>::new(), "{mode:?}");
        assert_graceful(&bed).await;
    });
    join_all(tests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_operator_away_the_pods_beside_their_pipeline_go_and_those_elsewhere_wait_for_it() {
    let tests = Mode::BOTH.map(|mode| async move {
        let (bed, operator) = with_pipeline(mode).await;
        operator.kill9().unwrap();
        operator.wait().await.unwrap();
        bed.delete("p").await;
        if mode == Mode::Apart {
            let stays = bed.pipelines().get("p").await.unwrap();
            assert!(stays.metadata.deletion_timestamp.is_some());
            assert_eq!(bed.running().await.len(), 3, "they run on until the operator is back");
            let _back = bed.start(&[]);
            bed.until_all_is_gone("p").await;
        } else {
            bed.until_all_is_gone("p").await;
        }
        assert_graceful(&bed).await;
    });
    join_all(tests).await;
}
