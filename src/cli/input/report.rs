//! What is said on stderr of files: what was skipped, what could not be read, and that nothing was found.
//!
//! Must never be silent about a document that a command leaves out.

use super::{Document, Input, Problem, Skipped};
use crate::api::meta;

impl Input {
    /// For a command about pipelines.
    pub(in crate::cli) fn report(&self, paths: &[String]) {
        self.nothing_found(paths, meta::KIND, self.documents.is_empty());
        self.skipped(meta::KIND, |_| true);
        self.unread();
    }

    /// For a command about analyses.
    pub(in crate::cli) fn report_of_analyses(&self, paths: &[String]) {
        self.nothing_found(paths, meta::ANALYSIS_KIND, self.analyses.is_empty());
        self.skipped(meta::ANALYSIS_KIND, |kind| !is_analysis(kind));
        for Document { place, .. } in &self.documents {
            eprintln!(
                "{}:{}: skipped: {version} {} is no {} of {version}",
                place.file,
                place.line,
                meta::KIND,
                meta::ANALYSIS_KIND,
                version = meta::API_VERSION
            );
        }
        self.unread();
    }

    /// For a command about both.
    pub(in crate::cli) fn report_of_both(&self, paths: &[String]) {
        let is_empty = self.documents.is_empty() && self.analyses.is_empty();
        self.nothing_found(paths, meta::KIND, is_empty);
        self.skipped(meta::KIND, |kind| !is_analysis(kind));
        self.unread();
    }

    fn nothing_found(&self, paths: &[String], ours: &str, is_empty: bool) {
        if is_empty && self.problems.is_empty() && !paths.is_empty() {
            let (version, paths) = (meta::API_VERSION, paths.join(", "));
            eprintln!("streaming-operator: no {ours} of {version} was found in {paths}");
        }
    }

    fn skipped(&self, ours: &str, is_told: impl Fn(&str) -> bool) {
        for Skipped { place, kind, .. } in self.skipped.iter().filter(|skipped| is_told(&skipped.kind)) {
            eprintln!(
                "{}:{}: skipped: {kind} is no {ours} of {}",
                place.file,
                place.line,
                meta::API_VERSION
            );
        }
    }

    fn unread(&self) {
        for Problem { place, message } in &self.problems {
            eprintln!("{}:{}: cannot be read: {message}", place.file, place.line);
        }
    }
}

/// Whether `apiVersion` and `kind`, as they are told of what is skipped, are those of an analysis.
fn is_analysis(kind: &str) -> bool {
    let kind = kind.strip_prefix(meta::API_VERSION);
    kind.is_some_and(|kind| kind.trim() == meta::ANALYSIS_KIND)
}
