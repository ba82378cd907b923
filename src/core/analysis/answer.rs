//! What a metrics source answers to one query.
//!
//! Must never take for an answer of Prometheus what only stands where one should: a proxy's page, an answer that was cut
//! off.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Most characters of a text that a source sent, in a text of ours.
const LONGEST_WORDS: usize = 300;

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
    /// The source did not answer: 5xx, 429, a time-out, a refused connection, refused credentials, a redirect, something
    /// that is no answer of Prometheus. Another attempt may get one, without a change of the query.
    Unavailable(String),
    /// Prometheus answered that it will not (its own error with 400 or 422), or with a result that is no vector and no
    /// scalar. The same query gets the same answer.
    Rejected(String),
    /// There is no source of that name.
    UnknownSource(String),
}

/// The answer to a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The series, in the order of the answer; empty when nothing matches.
    pub series: Vec<Series>,
    /// What Prometheus has to say about the query beside its result, one line each.
    pub warnings: Vec<String>,
}

/// Prometheus' answers to `/api/v1/query`, of all kinds.
#[derive(Deserialize)]
struct Body<'a> {
    status: Status,
    #[serde(borrow)]
    data: Option<Data<'a>>,
    error: Option<String>,
    warnings: Option<Vec<String>>,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Success,
    Error,
}

/// The result stays text until its type is known: a tagged enum would hold it in between, and lose how numbers were
/// written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    result_type: String,
    #[serde(borrow)]
    result: &'a RawValue,
}

/// A series of a vector: it has a time stamp and a number, or a time stamp and a native histogram.
#[derive(Deserialize)]
struct Sample {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    value: Option<(IgnoredAny, String)>,
}

/// Reads the answer to a query: its HTTP status and its body.
///
/// The errors go on after the name of the source, as in "answers 503: …". A 4xx that does not have Prometheus' own words
/// comes from something in between, such as a proxy that wants other credentials: that says nothing of the query.
pub fn read(status: u16, body: &[u8]) -> Result<Answer, QueryError> {
    let parsed = serde_json::from_slice::<Body<'_>>(body).ok();
    let error = parsed
        .as_ref()
        .and_then(|body| body.error.as_deref())
        .filter(|error| !error.is_empty());
    let unavailable = |what: &str| {
        let words = error.map(|error| format!(": {}", words(error))).unwrap_or_default();
        Err(QueryError::Unavailable(format!("answers {status}{what}{words}")))
    };
    match (status, &parsed) {
        (200..=299, Some(body)) if body.status == Status::Success => result(body),
        (200..=299, _) => unavailable(" with something that is no answer of Prometheus"),
        (300..=399, _) => unavailable(", a redirect, which is not followed; its URL must be the one that answers"),
        (400 | 422, Some(body)) if body.status == Status::Error => {
            let error = error.unwrap_or("without a word");
            Err(QueryError::Rejected(format!("refuses the query: {}", words(error))))
        }
        (401 | 403, _) => unavailable(" (the operator's credentials for it are missing or wrong)"),
        (404, _) => unavailable(" (there is no Prometheus at its URL)"),
        (429, _) => unavailable(" (too many requests)"),
        _ => unavailable(""),
    }
}

fn result(body: &Body<'_>) -> Result<Answer, QueryError> {
    let Some(Data { result_type, result }) = &body.data else {
        return Err(QueryError::Unavailable("answers 200 without a result".to_owned()));
    };
    let series = match result_type.as_str() {
        "vector" => vector(result.get())?,
        "scalar" => {
            let (_, value) = typed::<(IgnoredAny, String)>(result.get())?;
            let labels = BTreeMap::new();
            vec![Series {
                labels,
                value: number(&value)?,
            }]
        }
        other => {
            let wanted = "only an instant vector or a scalar can be held against a limit";
            let message = format!("answers with a {}: {wanted}", words(other));
            return Err(QueryError::Rejected(message));
        }
    };
    let warnings = body.warnings.iter().flatten();
    let warnings = warnings.map(|warning| words(warning)).collect();
    Ok(Answer { series, warnings })
}

fn vector(result: &str) -> Result<Vec<Series>, QueryError> {
    let samples = typed::<Vec<Sample>>(result)?;
    let series = samples.into_iter().map(|Sample { metric, value }| {
        let Some((_, value)) = value else {
            let message =
                "answers with a native histogram, which no limit can be held against; use histogram_quantile()";
            return Err(QueryError::Rejected(message.to_owned()));
        };
        Ok(Series {
            labels: metric,
            value: number(&value)?,
        })
    });
    series.collect()
}

fn typed<'a, T: Deserialize<'a>>(result: &'a str) -> Result<T, QueryError> {
    serde_json::from_str(result)
        .map_err(|_| QueryError::Unavailable("answers 200 with a result that cannot be read".to_owned()))
}

/// A number as Prometheus writes it, NaN, +Inf and -Inf among them.
fn number(text: &str) -> Result<f64, QueryError> {
    text.parse()
        .map_err(|_| QueryError::Unavailable(format!("answers 200 with {:?}, which is no number", words(text))))
}

/// A text of others in one line, and not too long.
fn words(text: &str) -> String {
    let clean = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = clean.clone().take(LONGEST_WORDS).collect();
    if clean.count() > LONGEST_WORDS {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
