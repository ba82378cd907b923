//! Everything between the operator and an answer goes wrong, and none of it becomes a value.

use std::time::{Duration, Instant};

use streaming_operator::core::analysis::answer::QueryError;
use streaming_operator::metrics_sources::{SourceSettings, Sources};
use streaming_operator::telemetry::Metrics;
use testkit::metrics_proxy::{Fault, MetricsProxy};
use testkit::ports;

use super::bed::{Bed, ENOUGH};

const SHORT: Duration = Duration::from_millis(300);

fn answer(code: u16, body: &str) -> Fault {
    Fault::Answer(code, body.to_owned())
}

#[tokio::test]
async fn each_kind_of_outage_is_told_in_one_line_and_counted_and_passes() {
    let bed = Bed::start().await;
    let in_need = r#"{"status":"error","errorType":"unavailable","error":"too many\nqueries"}"#;
    for (fault, words, outcome) in [
        (answer(500, "oops"), "answers 500", "server"),
        (answer(503, in_need), "answers 503: too many queries", "server"),
        (answer(502, "<html>Bad Gateway</html>"), "answers 502", "server"),
        (answer(429, ""), "answers 429 (too many requests)", "throttled"),
        (
            answer(401, "Unauthorized"),
            "answers 401 (the operator's credentials for it are missing or wrong)",
            "unauthorized",
        ),
        (
            answer(403, "Forbidden"),
            "answers 403 (the operator's credentials for it are missing or wrong)",
            "unauthorized",
        ),
        (
            answer(404, "404 page not found"),
            "answers 404 (there is no Prometheus at its URL)",
            "malformed",
        ),
        (answer(400, "Bad Request"), "answers 400", "malformed"),
        (
            answer(200, "<html>sign in</html>"),
            "answers 200 with something that is no answer of Prometheus",
            "malformed",
        ),
        (
            answer(
                200,
                r#"{"status":"success","data":{"resultType":"vector","result":[{"met"#,
            ),
            "answers 200 with something that is no answer of Prometheus",
            "malformed",
        ),
        (
            Fault::HangUp,
            "broke off before it answered: connection closed before message completed",
            "network",
        ),
    ] {
        bed.proxy.fail(fault.clone());
        assert_eq!(
            bed.outage().await,
            format!("metrics source default {words}"),
            "{fault:?}"
        );
        assert!(
            bed.counted(outcome).is_some(),
            "{fault:?}: {}",
            bed.metrics.exposition().unwrap()
        );
        bed.proxy.heal();
        assert_eq!(bed.value("vector(1)").await, "1", "after {fault:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_outage() {
    let bed = Bed::start().await;
    bed.proxy.fail(Fault::HangUpInBody);
    let words = bed.outage().await;
    let begin = "metrics source default broke off in the middle of its answer: ";
    assert!(words.starts_with(begin), "{words}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let bed = Bed::start().await;
    let elsewhere = MetricsProxy::start("http://127.0.0.1:9").unwrap();
    bed.proxy.fail(Fault::Redirect(format!("{}/steal", elsewhere.url())));
    assert_eq!(
        bed.outage().await,
        "metrics source default answers 302, a redirect, which is not followed; its URL must be the one that answers"
    );
    assert_eq!(elsewhere.asked(), []);
    assert_eq!(bed.proxy.asked().len(), 1);
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_is_an_outage() {
    let bed = Bed::with(|_, settings| settings.timeout = SHORT).await;
    for fault in [Fault::Hang, Fault::HangInBody, Fault::Delay(ENOUGH)] {
        bed.proxy.fail(fault.clone());
        let words = bed.outage().await;
        assert_eq!(words, "metrics source default did not answer within 300ms", "{fault:?}");
    }
    assert_eq!(bed.counted("timeout").as_deref(), Some("3"));
}

#[tokio::test]
async fn the_deadline_of_the_measurement_ends_a_request_before_the_time_out_of_the_source() {
    let bed = Bed::start().await;
    bed.proxy.fail(Fault::Hang);
    let begun = Instant::now();
    let answer = bed.sources.query("default", "vector(1)", SHORT).await;
    let words = "metrics source default did not answer within 300ms".to_owned();
    assert_eq!(answer, Err(QueryError::Unavailable(words)));
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "the source's own time-out is 10 s"
    );
}

#[tokio::test]
async fn more_than_the_limit_of_an_answer_is_not_read() {
    let bed = Bed::with(|_, settings| settings.body_limit = 100_000).await;
    bed.proxy.fail(answer(200, &" ".repeat(100_001)));
    let words = "metrics source default answers with more than 100000 bytes; let the query aggregate";
    assert_eq!(bed.outage().await, words);
    assert_eq!(bed.counted("malformed").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_refused_connection_and_an_unknown_name_are_told() {
    let port = ports::free_port().unwrap();
    let sources = |url: String| {
        let settings = SourceSettings::at("default", &url).unwrap();
        Sources::new(vec![settings], Metrics::new("0.1.0", "abc1234", false)).unwrap()
    };
    let refused = sources(format!("http://127.0.0.1:{port}"))
        .query("default", "up", ENOUGH)
        .await;
    let words = "metrics source default cannot be reached: Connection refused (os error 111)";
    assert_eq!(refused, Err(QueryError::Unavailable(words.to_owned())));
    let unknown = sources("http://prometheus.invalid".to_owned())
        .query("default", "up", ENOUGH)
        .await;
    let Err(QueryError::Unavailable(words)) = unknown else {
        panic!("{unknown:?}");
    };
    let begin = "metrics source default cannot be reached: failed to lookup address information: ";
    assert!(words.starts_with(begin), "{words}");
}

#[tokio::test]
async fn no_more_requests_than_the_limit_are_under_way_and_the_others_wait() {
    let bed = Bed::with(|_, settings| settings.max_concurrent = 2).await;
    bed.proxy.fail(Fault::Delay(Duration::from_millis(50)));
    let answers = futures::future::join_all((0..10).map(|_| bed.ask("vector(1)"))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(bed.proxy.most_at_once(), 2);
}

#[tokio::test]
async fn whoever_waits_too_long_for_a_free_request_is_told_so() {
    let bed = Bed::with(|_, settings| settings.max_concurrent = 1).await;
    bed.proxy.fail(Fault::Hang);
    let (hangs, waits) = tokio::join!(
        bed.sources.query("default", "vector(1)", Duration::from_secs(2)),
        bed.sources.query("default", "vector(2)", SHORT)
    );
    let unavailable = |words: &str| Err(QueryError::Unavailable(format!("metrics source default {words}")));
    assert_eq!(hangs, unavailable("did not answer within 2s"));
    assert_eq!(
        waits,
        unavailable("is busy: its 1 requests at once were taken for 300ms")
    );
    assert_eq!(bed.proxy.asked().len(), 1);
    assert_eq!(bed.counted("busy").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_query_that_nobody_waits_for_any_more_gives_its_place_back() {
    let bed = Bed::with(|_, settings| settings.max_concurrent = 1).await;
    bed.proxy.fail(Fault::Hang);
    let given_up = tokio::time::timeout(SHORT, bed.ask("vector(1)")).await;
    assert!(given_up.is_err());
    bed.proxy.heal();
    assert_eq!(bed.value("vector(2)").await, "2");
}
