//! Requests without a place, and bodies that come slowly or not at all.

use std::time::Duration;

use streaming_operator::server::{Limits, WorkLimits};

use super::JSON;
use super::bed::Bed;
use super::reviews::{create, object};

/// One request at a time, and none waits.
pub(crate) fn one_place() -> WorkLimits {
    WorkLimits {
        at_work: 1,
        waiting: 0,
        deadline: Duration::from_secs(60),
        slow_body: Duration::from_secs(60),
        ..WorkLimits::default()
    }
}

#[tokio::test]
async fn without_a_place_a_request_is_refused_before_its_body_is_read() {
    let bed = Bed::start_with(Limits::webhook(Duration::ZERO), one_place()).await;
    let mut slow = bed.client().await.post_in_parts("/validate", JSON).await;
    slow.is_being_read().await;
    let mut unread = bed.client().await.post_in_parts("/validate", JSON).await;
    let answer = unread.answer().await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
    slow.send("{}").await;
    slow.end();
    assert_eq!(slow.answer().await.status, 400, "the slow one was not disturbed");
    let answer = bed
        .client()
        .await
        .post("/validate", JSON, &create(&object("checkout")))
        .await;
    assert_eq!(answer.status, 200, "its place is free again");
}

#[tokio::test]
async fn clients_that_send_their_bodies_slowly_keep_nobody_out() {
    let limits = WorkLimits {
        at_work: 2,
        waiting: 2,
        slow_body: Duration::ZERO,
        ..one_place()
    };
    let bed = Bed::start_with(Limits::webhook(Duration::ZERO), limits).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut one = bed.client().await.post_in_parts("/validate", JSON).await;
        one.is_being_read().await;
        slow.push(one);
    }
    let review = create(&object("checkout"));
    let mut client = bed.client().await;
    for _ in 0..3 {
        assert_eq!(client.post("/validate", JSON, &review).await.status, 200);
    }
    let given_up = slow[0].answer().await;
    assert_eq!(given_up.status, 408, "the slowest gave its place: {}", given_up.text());
    slow[1].send("{}").await;
    slow[1].end();
    assert_eq!(slow[1].answer().await.status, 400, "the others were not disturbed");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_answered_within_the_deadline() {
    let limits = WorkLimits {
        deadline: Duration::from_millis(100),
        ..WorkLimits::default()
    };
    let bed = Bed::start_with(Limits::webhook(Duration::ZERO), limits).await;
    let mut slow = bed.client().await.post_in_parts("/validate", JSON).await;
    assert_eq!(slow.answer().await.status, 503);
}
