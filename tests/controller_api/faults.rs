//! An API server that refuses, fails, or loses its answers: nothing is made twice, nothing is given up, all is told.

use std::time::Duration;

use testkit::fake_api::{FakeApi, Fault};
use tokio::time::sleep;

use super::operator::{Mode, Operator, PIPELINES, condition, kubelet, pipeline, pods, settle};
use super::{ALL_OF_THREE, is_pod_create};

#[tokio::test(start_paused = true)]
async fn a_pod_of_ours_that_the_watch_does_not_show_counts_as_made() {
    let api = FakeApi::new();
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let mut lost = 0;
    api.on_request(move |request| {
        let first = is_pod_create(request) && lost < 1;
        lost += usize::from(first);
        if first { Fault::AnswerLost } else { Fault::None }
    });
    let _kubelet = kubelet(&api);
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE);
    let creates = api.writes().into_iter().filter(is_pod_create).count();
    assert_eq!(creates, 3, "the one whose answer was lost is not made again");
}

#[tokio::test(start_paused = true)]
async fn a_status_that_someone_else_wrote_in_between_is_read_again_and_written() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let mut refused = 0;
    api.on_request(move |request| {
        let refuse = request.resource == "streamingpipelines/status" && refused < 3;
        refused += usize::from(refuse);
        if refuse {
            Fault::Refused(409, "Conflict", "the object has been modified".to_owned())
        } else {
            Fault::None
        }
    });
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    let reads = api
        .requests()
        .into_iter()
        .filter(|request| request.verb == "get" && request.resource == "streamingpipelines");
    assert_eq!(reads.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_refuses_stands_in_the_status_and_is_tried_again_ever_more_rarely() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let message = "pods \"x\" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=0, limited: pods=0";
    api.on_request(move |request| {
        if is_pod_create(request) {
            Fault::Refused(403, "Forbidden", message.to_owned())
        } else {
            Fault::None
        }
    });
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    sleep(Duration::from_secs(5)).await;
    assert!(
        condition(&api, "p", "Applied").starts_with("False"),
        "{}",
        condition(&api, "p", "Applied")
    );
    sleep(Duration::from_secs(600)).await;
    // At 0, 10, 30, 70, 150, 310 and then every 300 seconds.
    let tries = api.writes().into_iter().filter(is_pod_create).count();
    assert!((6..=7).contains(&tries), "{tries} tries in ten minutes");
    api.heal();
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE);
    assert!(condition(&api, "p", "Applied").starts_with("True"));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_fails_is_asked_again_and_nothing_is_made_twice() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let mut asked = 0_usize;
    api.on_request(move |request| {
        asked += usize::from(request.is_write());
        match asked % 4 {
            0 => Fault::Refused(503, "ServiceUnavailable", "etcd leader changed".to_owned()),
            1 => Fault::AnswerLost,
            2 => Fault::Dropped,
            _ => Fault::None,
        }
    });
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    sleep(Duration::from_secs(900)).await;
    api.heal();
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE);
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
}
