//! What came back, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::super::input::Document;
use crate::api::analysis_status::Outcome;
use crate::api::rollout_analysis::AnalysisTarget;
use crate::core::analysis::answer::{QueryError, Series};
use crate::core::analysis::judge::{Asked, Reading, judge, number, series_name};
use crate::core::analysis::valid::{ValidAnalysis, ValidMetric};

/// Most series of a metric that are shown to people; programs get all.
const SERIES_SHOWN_MAX: usize = 20;

#[derive(Serialize)]
struct Report {
    holds: bool,
    analyses: Vec<Entry>,
}

/// An analysis.
#[derive(Serialize)]
pub(super) struct Entry {
    file: String,
    line: usize,
    namespace: String,
    name: String,
    target: AnalysisTarget,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    pub(super) metrics: Vec<MetricEntry>,
}

/// A metric.
#[derive(Serialize)]
pub(super) struct MetricEntry {
    name: String,
    source: String,
    /// As it was sent.
    query: String,
    /// `None` without data or without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) holds: Option<bool>,
    /// Of the worst series, as Prometheus writes numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// What it is held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    series: Vec<SeriesEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// In a line.
    #[serde(skip)]
    words: String,
    #[serde(skip)]
    pub(super) failure: Option<QueryError>,
}

#[derive(Serialize)]
struct SeriesEntry {
    labels: BTreeMap<String, String>,
    value: String,
    #[serde(skip)]
    name: String,
}

impl Entry {
    /// An analysis and the answers to its metrics, in the order of the spec.
    pub(super) fn new(
        document: &Document,
        analysis: &ValidAnalysis,
        namespace: &str,
        revision: Option<String>,
        answers: Vec<Asked>,
    ) -> Self {
        let metrics = analysis.metrics.iter().zip(answers);
        Self {
            file: document.place.file.clone(),
            line: document.place.line,
            namespace: namespace.to_owned(),
            name: document.name().to_owned(),
            target: analysis.target.clone(),
            revision,
            metrics: metrics.map(|(metric, asked)| MetricEntry::new(metric, asked)).collect(),
        }
    }
}

impl MetricEntry {
    fn new(metric: &ValidMetric, asked: Asked) -> Self {
        let measured = judge(&[(metric, asked.clone())]);
        let in_words = measured.worst.as_ref().map(Reading::in_words);
        let (failure, error) = match &asked.answer {
            Ok(_) => (None, None),
            Err(
                error @ (QueryError::Unavailable(words)
                | QueryError::Rejected(words)
                | QueryError::UnknownSource(words)),
            ) => (Some(error.clone()), Some(words.clone())),
        };
        let (holds, words) = match (measured.outcome, in_words, &error) {
            (Outcome::Pass, Some(reading), _) => (Some(true), format!("{reading}: holds")),
            (Outcome::Fail, Some(reading), _) => (Some(false), format!("{reading}: does not hold")),
            (_, _, Some(error)) => (None, format!("{}: no answer: {error}", metric.name)),
            (_, Some(reading), None) => (None, format!("{reading}, and of other series no data")),
            (_, None, None) => (None, format!("{}: no data", metric.name)),
        };
        let series = asked.answer.unwrap_or_default();
        Self {
            name: metric.name.clone(),
            source: metric.source.clone(),
            query: asked.query,
            holds,
            value: measured.worst.as_ref().map(|worst| number(worst.value)),
            limit: measured.worst.as_ref().map(Reading::limit_in_words),
            series: series.into_iter().map(SeriesEntry::from).collect(),
            error,
            words,
            failure,
        }
    }
}

impl From<Series> for SeriesEntry {
    fn from(series: Series) -> Self {
        Self {
            name: series_name(&series),
            value: number(series.value),
            labels: series.labels,
        }
    }
}

/// For people: a line an analysis, a line a metric, and below it what was asked and what came back.
pub(super) fn text(entries: &[Entry]) -> String {
    let mut text = String::new();
    let mut put = |line: std::fmt::Arguments<'_>| {
        // A String takes every write.
        let _ = writeln!(text, "{line}");
    };
    for entry in entries {
        let Entry {
            file,
            line,
            namespace,
            name,
            ..
        } = entry;
        put(format_args!("{file}:{line}: {namespace}/{name}"));
        for metric in &entry.metrics {
            put(format_args!("  {}", metric.words));
            put(format_args!("    {} was asked: {}", metric.source, metric.query.trim()));
            for series in metric.series.iter().take(SERIES_SHOWN_MAX) {
                put(format_args!("    {} {}", series.name, series.value));
            }
            let more = metric.series.len().saturating_sub(SERIES_SHOWN_MAX);
            if more > 0 {
                put(format_args!("    and {more} series more"));
            }
        }
    }
    text
}

/// For programs.
pub(super) fn json(analyses: Vec<Entry>, holds: bool) -> String {
    serde_json::to_string_pretty(&Report { holds, analyses }).unwrap_or_default() + "\n"
}
