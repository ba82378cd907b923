//! Answers as Prometheus writes them, and what stands where they should.

use super::*;

fn series(labels: &[(&str, &str)], value: f64) -> Series {
    let labels = labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    Series {
        labels: labels.collect(),
        value,
    }
}

fn success(data: &str) -> Result<Answer, QueryError> {
    read(200, format!(r#"{{"status":"success","data":{data}}}"#).as_bytes())
}

fn failure(status: u16, body: &str) -> QueryError {
    read(status, body.as_bytes()).expect_err("no answer")
}

const BAD_DATA: &str =
    r#"{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": 1:4: parse error"}"#;

#[test]
fn a_vector_gives_each_series_with_its_labels() {
    let answer = success(
        r#"{"resultType":"vector","result":[
            {"metric":{"__name__":"up","pod":"a"},"value":[1700000000.123,"0.25"]},
            {"metric":{},"value":[1700000000,"1e-05"]}]}"#,
    )
    .expect("an answer");
    assert_eq!(
        answer.series,
        [series(&[("__name__", "up"), ("pod", "a")], 0.25), series(&[], 0.000_01)]
    );
}

#[test]
fn the_type_may_come_after_the_result() {
    let answer = success(r#"{"result":[{"metric":{},"value":[1700000000.1,"3"]}],"resultType":"vector"}"#);
    assert_eq!(answer.expect("an answer").series, [series(&[], 3.0)]);
}

#[test]
fn a_scalar_is_one_series_without_labels() {
    let answer = success(r#"{"resultType":"scalar","result":[1700000000.1,"0.5"]}"#).expect("an answer");
    assert_eq!(answer.series, [series(&[], 0.5)]);
}

#[test]
fn nothing_that_matches_is_an_answer_without_series() {
    let answer = success(r#"{"resultType":"vector","result":[]}"#).expect("an answer");
    assert_eq!(answer, Answer::default());
}

#[test]
fn nan_and_the_infinities_are_read_as_prometheus_writes_them() {
    let answer = success(
        r#"{"resultType":"vector","result":[{"metric":{},"value":[1,"NaN"]},
            {"metric":{},"value":[1,"+Inf"]},{"metric":{},"value":[1,"-Inf"]}]}"#,
    )
    .expect("an answer");
    let values: Vec<f64> = answer.series.iter().map(|series| series.value).collect();
    assert!(values[0].is_nan(), "{values:?}");
    assert_eq!(values[1..], [f64::INFINITY, f64::NEG_INFINITY]);
}

#[test]
fn warnings_come_beside_the_series() {
    let body = r#"{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["store\nis down"]}"#;
    let answer = read(200, body.as_bytes()).expect("an answer");
    assert_eq!(answer.warnings, ["store is down"]);
}

#[test]
fn what_no_limit_can_be_held_against_is_rejected() {
    for (data, message) in [
        (
            r#"{"resultType":"matrix","result":[]}"#,
            "answers with a matrix: only an instant vector or a scalar can be held against a limit",
        ),
        (
            r#"{"resultType":"string","result":[1,"a"]}"#,
            "answers with a string: only an instant vector or a scalar can be held against a limit",
        ),
        (
            r#"{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1","sum":"2"}]}]}"#,
            "answers with a native histogram, which no limit can be held against; use histogram_quantile()",
        ),
    ] {
        assert_eq!(success(data), Err(QueryError::Rejected(message.to_owned())), "{data}");
    }
}

#[test]
fn a_query_that_prometheus_refuses_is_rejected_in_its_words() {
    for status in [400, 422] {
        assert_eq!(
            failure(status, BAD_DATA),
            QueryError::Rejected("refuses the query: invalid parameter \"query\": 1:4: parse error".to_owned())
        );
    }
}

#[test]
fn an_outage_is_told_with_its_status_and_what_prometheus_says() {
    let timeout = r#"{"status":"error","errorType":"timeout","error":"query timed out"}"#;
    for (status, body, message) in [
        (503, timeout, "answers 503: query timed out"),
        (503, "<html>", "answers 503"),
        (500, "", "answers 500"),
        (429, "slow down", "answers 429 (too many requests)"),
        (408, "", "answers 408"),
        (
            302,
            "",
            "answers 302, a redirect, which is not followed; its URL must be the one that answers",
        ),
        (
            401,
            "no",
            "answers 401 (the operator's credentials for it are missing or wrong)",
        ),
        (
            403,
            "no",
            "answers 403 (the operator's credentials for it are missing or wrong)",
        ),
        (
            404,
            "404 page not found",
            "answers 404 (there is no Prometheus at its URL)",
        ),
    ] {
        assert_eq!(
            failure(status, body),
            QueryError::Unavailable(message.to_owned()),
            "{status}"
        );
    }
}

#[test]
fn a_refusal_that_is_not_in_prometheus_words_says_nothing_of_the_query() {
    let body = "Client sent an HTTP request to an HTTPS server.\n";
    assert_eq!(failure(400, body), QueryError::Unavailable("answers 400".to_owned()));
}

#[test]
fn what_is_no_answer_of_prometheus_is_an_outage() {
    for (body, message) in [
        ("", "answers 200 with something that is no answer of Prometheus"),
        (
            "<html>sign in</html>",
            "answers 200 with something that is no answer of Prometheus",
        ),
        ("[1]", "answers 200 with something that is no answer of Prometheus"),
        (
            r#"{"status":"success","data":{"resultType":"vec"#,
            "answers 200 with something that is no answer of Prometheus",
        ),
        (
            BAD_DATA,
            "answers 200 with something that is no answer of Prometheus: invalid parameter \"query\": 1:4: parse error",
        ),
        (r#"{"status":"success"}"#, "answers 200 without a result"),
        (
            r#"{"status":"success","data":{"resultType":"vector","result":{}}}"#,
            "answers 200 with a result that cannot be read",
        ),
        (
            r#"{"status":"success","data":{"resultType":"scalar","result":[1,"many"]}}"#,
            "answers 200 with \"many\", which is no number",
        ),
    ] {
        assert_eq!(
            failure(200, body),
            QueryError::Unavailable(message.to_owned()),
            "{body}"
        );
    }
}

#[test]
fn a_long_text_of_the_source_is_cut_and_stays_in_one_line() {
    let body = format!(r#"{{"status":"error","error":"a\n{}"}}"#, "x".repeat(5000));
    let QueryError::Unavailable(message) = failure(500, &body) else {
        panic!("an outage");
    };
    assert_eq!(message, format!("answers 500: a {}…", "x".repeat(298)));
}
