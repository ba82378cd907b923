//! What a metrics source answers to one query.

use std::collections::BTreeMap;

/// One series of an instant vector; a scalar is one without labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value, which may be NaN or infinite.
    pub value: f64,
}

/// Why there is no answer to a query. The texts are for people, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// The source did not answer: 5xx, 429, a time-out, a refused connection, something that is no answer of Prometheus.
    /// Another attempt may get one.
    Unavailable(String),
    /// The source answered that it will not: any other 4xx, or a result that is no vector and no scalar. The same query gets
    /// the same answer.
    Rejected(String),
    /// There is no source of that name.
    UnknownSource(String),
}
