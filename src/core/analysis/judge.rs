//! One measurement: what the metrics sources answered, held against the limits.
//!
//! Must never take an answer that did not come, or came without a value, for a value.

use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::api::analysis_status::{MetricStatus, Outcome};

use super::answer::{QueryError, Series};
use super::valid::ValidMetric;

/// Most series that are named in the status of a metric.
const SERIES_SHOWN_MAX: usize = 10;
/// Longest name of a series in the status, in characters: of many labels, the first say which it is.
const SERIES_CHARS_MAX: usize = 256;
/// Longest query in the status, in characters. One with the names of a thousand Pods is no help to anyone.
const QUERY_CHARS_MAX: usize = 2048;

/// A query as it was sent, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The query, with its variables resolved.
    pub query: String,
    /// The answer.
    pub answer: Result<Vec<Series>, QueryError>,
}

/// A value with the limit that it was held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Name of the metric.
    pub metric: String,
    /// The value of its worst series.
    pub value: f64,
    /// The limit that it breaks, or is nearest to.
    pub limit: f64,
    /// Whether `limit` is the most that it may be; else the least.
    pub is_max: bool,
}

impl Reading {
    /// How far the value is beyond the limit; negative while it holds.
    fn excess(&self) -> f64 {
        let difference = if self.is_max {
            self.value - self.limit
        } else {
            self.limit - self.value
        };
        // Between infinities there is no difference; such a value stands at its limit.
        if difference.is_nan() { 0.0 } else { difference }
    }

    /// The same in parts of the limit, so that metrics of different units can be compared.
    fn relative_excess(&self) -> f64 {
        self.excess() / self.limit.abs().max(f64::MIN_POSITIVE)
    }

    /// Whether the value is beyond the limit.
    #[must_use]
    pub fn breaks(&self) -> bool {
        self.excess() > 0.0
    }

    /// As in `p99-latency = 0.31 > 0.25`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let sign = match (self.is_max, self.breaks()) {
            (true, true) => ">",
            (true, false) => "<=",
            (false, true) => "<",
            (false, false) => ">=",
        };
        format!("{} = {} {sign} {}", self.metric, number(self.value), number(self.limit))
    }

    /// The limit alone, as in `<= 0.25`.
    #[must_use]
    pub fn limit_in_words(&self) -> String {
        let sign = if self.is_max { "<=" } else { ">=" };
        format!("{sign} {}", number(self.limit))
    }
}

/// One measurement, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Fail when a metric fails; else Error when one has no answer; else `NoData` when one has no data; else Pass.
    pub outcome: Outcome,
    /// The worst value of all metrics; none without data.
    pub worst: Option<Reading>,
    /// Each metric, in the order of the spec.
    pub metrics: Vec<MetricStatus>,
    /// With outcome Error: the first metric without an answer, and why it has none.
    pub error: Option<QueryError>,
    /// With outcome `NoData`: name of the first metric without data.
    pub without_data: Option<String>,
}

impl Measured {
    /// Whether another attempt may get answers where this one did not.
    #[must_use]
    pub const fn may_be_tried_again(&self) -> bool {
        matches!(self.error, Some(QueryError::Unavailable(_)))
    }
}

/// How one metric is.
enum Judged {
    Read(Reading),
    /// Of a metric some of whose series are NaN, the worst of the others is shown.
    NoData(Option<Reading>),
    Error(QueryError),
}

/// Judges a measurement: each metric with its answer, in the order of the spec.
///
/// A metric holds when each of its series does. A series that is NaN has no value, so nothing can be said of the metric
/// unless another series breaks the limit. Infinite values are values.
#[must_use]
pub fn judge(metrics: &[(&ValidMetric, Asked)]) -> Measured {
    let judged: Vec<(&ValidMetric, &Asked, Judged)> = metrics
        .iter()
        .map(|(metric, asked)| (*metric, asked, judge_one(metric, asked)))
        .collect();
    let readings = judged.iter().filter_map(|(_, _, judged)| match judged {
        Judged::Read(reading) | Judged::NoData(Some(reading)) => Some(reading),
        Judged::NoData(None) | Judged::Error(_) => None,
    });
    // The first of equals.
    let worst = readings.reduce(|worst, next| {
        if compare(next.relative_excess(), worst.relative_excess()) == Ordering::Greater {
            next
        } else {
            worst
        }
    });
    let error = judged.iter().find_map(|(metric, _, judged)| match judged {
        Judged::Error(error) => Some(of_metric(&metric.name, error)),
        _ => None,
    });
    let without_data = judged.iter().find_map(|(metric, _, judged)| match judged {
        Judged::NoData(_) => Some(metric.name.clone()),
        _ => None,
    });
    let outcome = match (worst, &error, &without_data) {
        (Some(worst), _, _) if worst.breaks() => Outcome::Fail,
        (_, Some(_), _) => Outcome::Error,
        (_, None, Some(_)) => Outcome::NoData,
        (_, None, None) => Outcome::Pass,
    };
    Measured {
        outcome,
        worst: worst.cloned(),
        metrics: judged
            .iter()
            .map(|(metric, asked, judged)| shown(metric, asked, judged))
            .collect(),
        error: error.filter(|_| outcome == Outcome::Error),
        without_data: without_data.filter(|_| outcome == Outcome::NoData),
    }
}

fn judge_one(metric: &ValidMetric, asked: &Asked) -> Judged {
    let series = match &asked.answer {
        Ok(series) => series,
        Err(error) => return Judged::Error(error.clone()),
    };
    let worst = series
        .iter()
        .filter_map(|series| read(metric, series.value))
        .max_by(|a, b| compare(a.excess(), b.excess()));
    let is_unknown = series.is_empty() || series.iter().any(|series| series.value.is_nan());
    match worst {
        Some(worst) if worst.breaks() || !is_unknown => Judged::Read(worst),
        worst => Judged::NoData(worst),
    }
}

/// A value against the limit that it is worse for; `None` for NaN.
fn read(metric: &ValidMetric, value: f64) -> Option<Reading> {
    if value.is_nan() {
        return None;
    }
    let reading = |limit: f64, is_max| Reading {
        metric: metric.name.clone(),
        value,
        limit,
        is_max,
    };
    let max = metric.limits.max.map(|limit| reading(limit, true));
    let min = metric.limits.min.map(|limit| reading(limit, false));
    max.into_iter()
        .chain(min)
        .max_by(|a, b| compare(a.excess(), b.excess()))
}

fn compare(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn of_metric(name: &str, error: &QueryError) -> QueryError {
    let named = |words: &str| format!("{name}: {words}");
    match error {
        QueryError::Unavailable(words) => QueryError::Unavailable(named(words)),
        QueryError::Rejected(words) => QueryError::Rejected(named(words)),
        QueryError::UnknownSource(words) => QueryError::UnknownSource(named(words)),
    }
}

/// What the status says of a metric.
fn shown(metric: &ValidMetric, asked: &Asked, judged: &Judged) -> MetricStatus {
    let reading = match judged {
        Judged::Read(reading) | Judged::NoData(Some(reading)) => Some(reading),
        Judged::NoData(None) | Judged::Error(_) => None,
    };
    let error = match judged {
        Judged::Error(
            QueryError::Unavailable(words) | QueryError::Rejected(words) | QueryError::UnknownSource(words),
        ) => Some(words.clone()),
        _ => None,
    };
    MetricStatus {
        name: metric.name.clone(),
        value: reading.map(|reading| number(reading.value)),
        limit: reading.map(Reading::limit_in_words),
        series: asked
            .answer
            .as_ref()
            .map_or_else(|_| Vec::new(), |series| names(metric, series)),
        query: Some(cut(&asked.query, QUERY_CHARS_MAX)),
        error,
    }
}

/// The series by their labels: the worst first, the others by their names, so that the list is the same while they are.
fn names(metric: &ValidMetric, series: &[Series]) -> Vec<String> {
    let excess = |series: &Series| read(metric, series.value).map_or(f64::NEG_INFINITY, |reading| reading.excess());
    let mut names: Vec<_> = series.iter().map(series_name).collect();
    let worst = series
        .iter()
        .zip(&names)
        .max_by(|(a, _), (b, _)| compare(excess(a), excess(b)));
    let worst = worst.map(|(_, name)| name.clone());
    names.sort();
    names.retain(|name| Some(name) != worst.as_ref());
    worst.into_iter().chain(names).take(SERIES_SHOWN_MAX).collect()
}

/// A series by its labels, as Prometheus writes it: `{pod="a", zone="b"}`; the first 256 characters.
#[must_use]
pub fn series_name(series: &Series) -> String {
    let mut text = String::from("{");
    for (index, (label, value)) in series.labels.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        // Writing into a String cannot fail.
        let _ = write!(text, "{comma}{label}={value:?}");
    }
    text.push('}');
    cut(&text, SERIES_CHARS_MAX)
}

/// The first `chars_max` characters, with a mark when that is not all.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    let mut shown: String = text.chars().take(chars_max).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// A number as Prometheus writes it.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests;
