//! What a Prometheus answers comes back as it is.

use std::collections::BTreeMap;

use streaming_operator::core::analysis::answer::{QueryError, Series};

use super::bed::{Bed, ENOUGH};

#[tokio::test]
async fn a_query_is_posted_as_a_form_and_its_value_comes_back() {
    let bed = Bed::start().await;
    let query = r#"vector(0.25) + on() vector(1) == 1.25 and vector(7) # "ü&+%" "#;
    assert_eq!(bed.value(query).await, "1.25");
    let asked = &bed.proxy.asked()[0];
    assert_eq!(asked.line, "POST /api/v1/query");
    assert_eq!(asked.headers["content-type"], "application/x-www-form-urlencoded");
    assert_eq!(
        asked.body,
        "query=vector%280.25%29+%2B+on%28%29+vector%281%29+%3D%3D+1.25+and+vector%287%29+%23+%22%C3%BC%26%2B%25%22+\
         &timeout=10000ms"
    );
    assert_eq!(bed.counted("answered").as_deref(), Some("1"));
}

#[tokio::test]
async fn nothing_that_matches_is_no_series() {
    let bed = Bed::start().await;
    assert_eq!(bed.ask("absent(vector(1))").await, Ok(Vec::new()));
}

#[tokio::test]
async fn nan_and_the_infinities_come_back() {
    let bed = Bed::start().await;
    assert_eq!(bed.value("vector(0) / 0").await, "NaN");
    assert_eq!(bed.value("vector(1) / 0").await, "+Inf");
    assert_eq!(bed.value("-1 / vector(0)").await, "-Inf");
}

#[tokio::test]
async fn a_scalar_is_one_series_without_labels() {
    let bed = Bed::start().await;
    let labels = BTreeMap::new();
    assert_eq!(
        bed.ask("scalar(vector(3))").await,
        Ok(vec![Series { labels, value: 3.0 }])
    );
}

#[tokio::test]
async fn several_series_come_back_with_their_labels() {
    let bed = Bed::start().await;
    let query = r#"sort(label_replace(vector(1), "pod", "a", "", "") or label_replace(vector(2), "pod", "b", "", ""))"#;
    let series = |pod: &str, value| Series {
        labels: BTreeMap::from([("pod".to_owned(), pod.to_owned())]),
        value,
    };
    assert_eq!(bed.ask(query).await, Ok(vec![series("a", 1.0), series("b", 2.0)]));
}

#[tokio::test]
async fn what_prometheus_refuses_is_rejected_in_its_words() {
    let bed = Bed::start().await;
    let Err(QueryError::Rejected(words)) = bed.ask("rate(a[5m]").await else {
        panic!("it is refused");
    };
    let begin = "metrics source default refuses the query: invalid parameter \"query\": 1:";
    assert!(words.starts_with(begin) && !words.contains('\n'), "{words}");
    let Err(QueryError::Rejected(words)) = bed.ask("up[5m]").await else {
        panic!("a matrix is no value");
    };
    assert_eq!(
        words,
        "metrics source default answers with a matrix: only an instant vector or a scalar can be held against a limit"
    );
    let Err(QueryError::Rejected(words)) = bed
        .ask("vector(1) * on() (vector(1) or on(x) label_replace(vector(2),\"x\",\"y\",\"\",\"\"))")
        .await
    else {
        panic!("two series for one");
    };
    assert!(
        words.starts_with("metrics source default refuses the query: "),
        "{words}"
    );
    assert_eq!(bed.counted("rejected").as_deref(), Some("3"));
}

#[tokio::test]
async fn a_source_that_is_not_configured_is_never_called_and_never_counted() {
    let bed = Bed::start().await;
    let answer = bed.sources.query("http://169.254.169.254", "up", ENOUGH).await;
    let words = "the operator has no metrics source \"http://169.254.169.254\"; configured: default";
    assert_eq!(answer, Err(QueryError::UnknownSource(words.to_owned())));
    assert!(!bed.metrics.exposition().unwrap().contains("169.254"));
    assert!(bed.sources.knows("default") && !bed.sources.knows("other"));
}
