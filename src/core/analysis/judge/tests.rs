use std::collections::BTreeMap;

use super::super::valid::Limits;
use super::super::variables::QueryTemplate;
use super::*;

fn metric(name: &str, max: Option<f64>, min: Option<f64>) -> ValidMetric {
    ValidMetric {
        name: name.to_owned(),
        query: QueryTemplate::parse("q").expect("a query"),
        limits: Limits { max, min },
        source: "default".to_owned(),
    }
}

fn asked(answer: Result<Vec<Series>, QueryError>) -> Asked {
    Asked {
        query: "q".to_owned(),
        answer,
    }
}

fn values(values: &[f64]) -> Asked {
    let series = values.iter().zip(0..).map(|(value, index)| Series {
        labels: BTreeMap::from([("pod".to_owned(), format!("p-{index}"))]),
        value: *value,
    });
    asked(Ok(series.collect()))
}

/// One metric `latency` of at most 0.25.
fn latency(asked: Asked) -> Measured {
    judge(&[(&metric("latency", Some(0.25), None), asked)])
}

fn down() -> Asked {
    asked(Err(QueryError::Unavailable("default answers 503".to_owned())))
}

const INF: f64 = f64::INFINITY;

#[test]
fn a_value_holds_up_to_its_limit() {
    let outcome = |value| latency(values(&[value])).outcome;
    assert_eq!(outcome(0.2), Outcome::Pass);
    assert_eq!(outcome(0.25), Outcome::Pass);
    assert_eq!(outcome(0.250_001), Outcome::Fail);
    assert_eq!(outcome(-3.0), Outcome::Pass);
}

#[test]
fn a_lower_limit_and_both_limits_hold_likewise() {
    let outcome = |max, min, value| judge(&[(&metric("m", max, min), values(&[value]))]).outcome;
    assert_eq!(outcome(None, Some(0.99), 0.99), Outcome::Pass);
    assert_eq!(outcome(None, Some(0.99), 0.98), Outcome::Fail);
    assert_eq!(outcome(Some(10.0), Some(1.0), 0.5), Outcome::Fail);
    assert_eq!(outcome(Some(10.0), Some(1.0), 11.0), Outcome::Fail);
    assert_eq!(outcome(Some(10.0), Some(1.0), 5.0), Outcome::Pass);
}

#[test]
fn infinities_are_values() {
    let outcome = |max, min, value| judge(&[(&metric("m", max, min), values(&[value]))]).outcome;
    assert_eq!(outcome(Some(0.25), None, INF), Outcome::Fail);
    assert_eq!(outcome(Some(0.25), None, -INF), Outcome::Pass);
    assert_eq!(outcome(None, Some(1.0), INF), Outcome::Pass);
    assert_eq!(outcome(None, Some(1.0), -INF), Outcome::Fail);
    let measured = latency(values(&[INF]));
    assert_eq!(measured.worst.expect("a value").in_words(), "latency = +Inf > 0.25");
}

#[test]
fn an_empty_result_and_nan_are_no_data() {
    assert_eq!(latency(values(&[])).outcome, Outcome::NoData);
    assert_eq!(latency(values(&[f64::NAN])).outcome, Outcome::NoData);
    let measured = latency(values(&[f64::NAN]));
    assert_eq!(measured.without_data.as_deref(), Some("latency"));
    assert_eq!((measured.worst, measured.metrics[0].value.clone()), (None, None));
}

#[test]
fn of_several_series_all_must_hold_and_the_worst_is_reported_first() {
    assert_eq!(latency(values(&[0.1, 0.2])).outcome, Outcome::Pass);
    let measured = latency(values(&[0.1, 0.31, 0.2, 0.27]));
    assert_eq!(measured.outcome, Outcome::Fail);
    assert_eq!(measured.worst.expect("a value").in_words(), "latency = 0.31 > 0.25");
    let metric = &measured.metrics[0];
    assert_eq!(metric.value.as_deref(), Some("0.31"));
    assert_eq!(metric.limit.as_deref(), Some("<= 0.25"));
    assert_eq!(
        metric.series,
        ["{pod=\"p-1\"}", "{pod=\"p-0\"}", "{pod=\"p-2\"}", "{pod=\"p-3\"}"]
    );
}

#[test]
fn a_series_that_is_nan_lets_nothing_be_said_unless_another_breaks_the_limit() {
    assert_eq!(latency(values(&[0.1, f64::NAN])).outcome, Outcome::NoData);
    assert_eq!(latency(values(&[0.3, f64::NAN])).outcome, Outcome::Fail);
}

#[test]
fn a_source_that_does_not_answer_is_an_error_and_may_be_asked_again() {
    let measured = latency(down());
    assert_eq!(measured.outcome, Outcome::Error);
    assert!(measured.may_be_tried_again());
    assert_eq!(
        measured.error,
        Some(QueryError::Unavailable("latency: default answers 503".to_owned()))
    );
    assert_eq!(measured.metrics[0].error.as_deref(), Some("default answers 503"));
}

#[test]
fn a_query_that_is_refused_and_a_source_that_is_not_there_are_errors_of_which_no_attempt_helps() {
    for error in [
        QueryError::Rejected("400".to_owned()),
        QueryError::UnknownSource("x".to_owned()),
    ] {
        let measured = latency(asked(Err(error)));
        assert_eq!(measured.outcome, Outcome::Error);
        assert!(!measured.may_be_tried_again());
    }
}

#[test]
fn of_several_metrics_a_failing_one_outweighs_an_error_and_an_error_missing_data() {
    let of = |first: Asked, second: Asked| {
        judge(&[
            (&metric("a", Some(1.0), None), first),
            (&metric("b", Some(1.0), None), second),
        ])
        .outcome
    };
    assert_eq!(of(down(), values(&[2.0])), Outcome::Fail);
    assert_eq!(of(values(&[]), values(&[2.0])), Outcome::Fail);
    assert_eq!(of(values(&[]), down()), Outcome::Error);
    assert_eq!(of(values(&[0.0]), values(&[])), Outcome::NoData);
    assert_eq!(of(values(&[0.0]), values(&[0.0])), Outcome::Pass);
}

#[test]
fn the_worst_of_several_metrics_is_the_one_furthest_beyond_its_limit_in_parts_of_it() {
    let measured = judge(&[
        (&metric("bytes", Some(1000.0), None), values(&[1100.0])),
        (&metric("ratio", None, Some(0.99)), values(&[0.5])),
    ]);
    assert_eq!(measured.worst.expect("a value").in_words(), "ratio = 0.5 < 0.99");
}

#[test]
fn only_ten_series_are_named_and_none_at_length() {
    let many = vec![0.1; 30];
    assert_eq!(latency(values(&many)).metrics[0].series.len(), 10);
    let long = Series {
        labels: BTreeMap::from([("l".to_owned(), "x".repeat(9000))]),
        value: 0.1,
    };
    let measured = latency(asked(Ok(vec![long])));
    assert!(measured.metrics[0].series[0].len() < 300);
}

#[test]
fn numbers_are_written_as_prometheus_writes_them() {
    let written = [0.31, 5.0, -0.5, INF, -INF, f64::NAN].map(number);
    assert_eq!(written, ["0.31", "5", "-0.5", "+Inf", "-Inf", "NaN"]);
}
