use super::*;

#[test]
fn the_grace_of_a_wait_begins_when_the_wait_does() {
    let after_setup = |reason| {
        shape("Pending")
            .init("setup", ended(0, "Completed", 1000))
            .consumer(waits(reason))
    };
    let after_proxy = shape("Pending")
        .init("proxy", runs(1000))
        .consumer(waits("ErrImagePull"));
    let initialized = shape("Pending")
        .condition("Initialized", "True", "", 1000)
        .consumer(waits("ErrImagePull"));
    let check_waits = shape("Pending")
        .init("setup", ended(0, "", 1000))
        .init("check", waits("ErrImagePull"));
    check(vec![
        (1299, after_setup("ErrImagePull"), "waiting ErrImagePull, reported"),
        (
            1300,
            after_setup("ErrImagePull"),
            "waiting ErrImagePull, reported, replaced",
        ),
        (1299, after_proxy, "waiting ErrImagePull, reported"),
        (1299, initialized, "waiting ErrImagePull, reported"),
        (1299, check_waits, "waiting ErrImagePull, reported"),
    ]);
}

#[test]
fn a_verdict_that_time_alone_changes_says_when() {
    let wake = |shape: Shape, second| health(&shape, second).wake;
    assert_eq!(wake(shape("Pending").consumer(waits("ErrImagePull")), 5), Some(at(300)));
    assert_eq!(wake(shape("Pending").consumer(waits("ErrImagePull")), 300), None);
    assert_eq!(wake(shape("Running").deleted(30), 40), Some(at(630)));
    assert_eq!(
        wake(shape("Running").condition("Ready", "False", "", 10), 40),
        Some(at(910))
    );
    assert_eq!(wake(shape("Running").consumer(runs(1)).ready(2), 40), None);
    assert_eq!(wake(shape("Pending").consumer(waits("SomethingNew")), 40), None);
}

#[test]
fn the_back_off_counts_from_the_last_end_or_from_the_end_of_the_grace() {
    let failed_at = |shape: Shape, second| health(&shape, second).failed_at;
    let two = shape("Failed")
        .container("sidecar", ended(0, "Completed", 7))
        .consumer(ended(1, "Error", 4));
    assert_eq!(failed_at(two, 20), Some(at(7)));
    assert_eq!(
        failed_at(shape("Pending").consumer(waits("ErrImagePull")), 500),
        Some(at(300))
    );
    assert_eq!(failed_at(shape("Failed").reason("OutOfcpu"), 20), Some(at(0)));
    assert_eq!(failed_at(shape("Running").ready(1), 20), None);
}

#[test]
fn how_long_the_consumer_ran_is_told_from_its_own_container() {
    let ran = |shape: Shape, second| health(&shape, second).ran.as_secs();
    assert_eq!(ran(shape("Failed").consumer(ended(1, "Error", 601)), 700), 600);
    assert_eq!(
        ran(
            shape("Running")
                .container("sidecar", runs(1))
                .consumer(ended(1, "Error", 4)),
            900
        ),
        3
    );
    assert_eq!(ran(shape("Running").consumer(runs(100)), 700), 600);
    assert_eq!(ran(shape("Pending"), 700), 0);
}

#[test]
fn the_kubelets_words_come_with_the_verdict() {
    let message = |shape: Shape| health(&shape, 9).message;
    let waiting = shape("Pending").consumer(waits("CreateContainerConfigError"));
    assert_eq!(message(waiting).as_deref(), Some("the kubelet's words"));
    let failed = shape("Failed").consumer(ended(3, "Error", 4));
    assert_eq!(
        message(failed).as_deref(),
        Some("container consumer ended with exit code 3")
    );
}

#[test]
fn a_waiting_reason_is_read_back_as_it_is_said() {
    for reason in WaitingReason::ALL {
        assert_eq!(&WaitingReason::parse(reason.as_str()), reason);
    }
    assert_eq!(WaitingReason::parse("New"), WaitingReason::Other("New".to_owned()));
}
