use super::*;
use crate::api::NoticeReason;
use crate::core::plan::Notice;

fn told(before: &StreamingPipelineStatus, after: &StreamingPipelineStatus) -> Vec<(NoticeReason, String)> {
    let all = notices(before, after).into_iter();
    all.map(|Notice { reason, message }| (reason, message)).collect()
}

#[test]
fn a_collision_is_told_once() {
    let mut scene = steady(wanted(2), good());
    scene.case.observed.collision = Some("ns/older".to_owned());
    let reasons = |told: Vec<(NoticeReason, String)>| told.into_iter().map(|(reason, _)| reason).collect::<Vec<_>>();
    let first = scene.status(5);
    let at_first = reasons(told(&StreamingPipelineStatus::default(), &first));
    assert_eq!(at_first, [NoticeReason::NameCollision]);
    assert_eq!(told(&first, &scene.status(6)), []);
}

#[test]
fn what_the_api_server_refuses_is_told_when_it_begins_and_again_after_it_went_well() {
    for (code, text, reason) in [
        (403, "exceeded quota: compute", NoticeReason::QuotaExceeded),
        (
            403,
            "User \"operator\" cannot create resource \"pods\"",
            NoticeReason::Forbidden,
        ),
        (
            422,
            "spec.containers[0].image: Required value",
            NoticeReason::ApiRejected,
        ),
    ] {
        let mut scene = steady(wanted(2), vec![pod("svc-0-0", 'a')]);
        let well = scene.status(1);
        scene.result = ActionResult::Refused {
            code,
            reason: "Forbidden".to_owned(),
            message: text.to_owned(),
        };
        let refused = scene.status(5);
        let expected = format!("creating Pod svc-1-0 was refused ({code}), is tried again within 5 minutes: {text}");
        assert_eq!(told(&well, &refused), [(reason, expected.clone())]);
        assert_eq!(told(&refused, &scene.status(9)), [], "told once");
        assert_eq!(told(&refused, &well), []);
        assert_eq!(told(&well, &scene.status(30)), [(reason, expected)]);
    }
}

#[test]
fn an_order_that_cannot_be_read_is_told_once_and_stands_in_the_status_until_it_is_mended() {
    let mut scene = steady(wanted(2), good());
    let before = scene.status(1);
    scene.case = scene.case.annotated("streams.sentry.io/promote", "yes please");
    let sentence = "annotation streams.sentry.io/promote is ignored: its value \"yes please\" is not REVISION, ten hex digits as in status.updateRevision";
    let ignored = scene.status(5);
    assert_eq!(
        condition(&ignored, "RolloutPaused").message,
        format!("{sentence}; nothing holds the rollout")
    );
    assert_eq!(
        scene.row(5),
        "True/Ready True/NewRevisionAvailable False False True",
        "and does nothing"
    );
    assert_eq!(
        told(&before, &ignored),
        [(NoticeReason::OrderIgnored, sentence.to_owned())]
    );
    assert_eq!(told(&ignored, &scene.status(6)), []);
    // Another one beside it is told alone.
    scene.case = scene.case.annotated("streams.sentry.io/resume", "aaaaaaaaaa");
    let both = told(&ignored, &scene.status(7));
    assert_eq!(both.len(), 1);
    assert!(both[0].1.contains("is not REVISION@TIME"), "{both:?}");
    scene.case = scene.case.annotated("streams.sentry.io/promote", "bbbbbbbbbb");
    scene.case = scene
        .case
        .annotated("streams.sentry.io/resume", "aaaaaaaaaa@2020-01-01T00:00:00Z");
    assert_eq!(
        condition(&scene.status(8), "RolloutPaused").message,
        "nothing holds the rollout",
        "one for another revision is no fault"
    );
}
