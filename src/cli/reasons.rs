//! `streaming-operator reasons`: the page of every reason in a status or an Event, as Markdown (docs/reasons.md).

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use super::after_printing;
use crate::api::reasons::ReasonPage;
use crate::api::{AnalysisConditionType, AnalysisNotice, AnalysisReason};
use crate::api::{ConditionStatus, ConditionType, NoticeReason, Reason};
use crate::core::health::{Remedy, WaitingReason};
use crate::core::plan::{FailedWhy, HoldBy};

const HEAD: &str = "\
<!-- Written by `make generate` from src/api/reasons.rs, src/api/analysis_reasons.rs and src/api/events.rs. -->

# Reasons: what a status or an Event says, and what to do

```sh
kubectl get spipe -A                    # REASON is that of the condition Ready
kubectl describe spipe NAME             # every condition with its message, and the Events
kubectl get pods -l streams.sentry.io/owner-uid=$(kubectl get spipe NAME -o jsonpath='{.metadata.uid}')
```

The message of `Ready` names the cause, with the Pod and the words of the kubelet or the API server. `NAME` below is the
pipeline, `REVISION` its `status.updateRevision`. `Stalled=True` means that it will not go on without a person; everything
else passes by itself.
";

const HOLDS: &str = "
## What holds a rollout

`status.rollout.holds`, each with since when and a message.

| by | reason |
|---|---|
";

const PODS: &str = "
## Pods

The reasons in `status.pods` and in the message of `Ready` are the kubelet's and the scheduler's own; `kubectl describe pod`
has more. A reason that is not listed is reported at once. What the operator does about a Pod that waits:

| reasons | the operator |
|---|---|
";

const EVENTS: &str = "
## Events

`kubectl get events --field-selector involvedObject.kind=StreamingPipeline`; one at each transition, never repeated.

| reason | type | it means | do |
|---|---|---|---|
";

const ANALYSES: &str = "
# RolloutAnalysis

```sh
kubectl get ra -A                       # REASON is that of the condition Ready
kubectl describe ra NAME                # every condition with its message, and the Events
```

`NAME` is the analysis, `TARGET` the object that it watches.
";

const ANALYSIS_EVENTS: &str = "
## RolloutAnalysis: Events

About the analysis; those that hold a rollout or let it go, and regressions, also about the target.

| reason | type | it means | do |
|---|---|---|---|
";

/// Prints the page.
pub(super) fn run() -> ExitCode {
    let mut out = io::stdout().lock();
    let printed = out.write_all(page().as_bytes()).and_then(|()| out.flush());
    after_printing(printed, ExitCode::SUCCESS)
}

/// The page: the conditions, each with its reasons, the one of the column REASON first; then holds, Pods and Events; then
/// the same of analyses.
fn page() -> String {
    let pipelines = conditions(
        "",
        ConditionType::ALL,
        ConditionType::Ready,
        |type_| (type_.as_str(), type_.means()),
        Reason::ALL,
        |reason| (reason.as_str(), reason.page()),
    );
    let analyses = conditions(
        "RolloutAnalysis ",
        AnalysisConditionType::ALL,
        AnalysisConditionType::Ready,
        |type_| (type_.as_str(), type_.means()),
        AnalysisReason::ALL,
        |reason| (reason.as_str(), reason.page()),
    );
    [
        HEAD,
        &pipelines,
        &holds(),
        &pods(),
        &events(),
        ANALYSES,
        &analyses,
        &analysis_events(),
    ]
    .concat()
}

/// The sections of all conditions of a kind, that of `first` in front.
fn conditions<T: Copy + Eq + 'static, R: Copy>(
    prefix: &'static str,
    types: &[T],
    first: T,
    name: impl Fn(T) -> (&'static str, &'static str),
    reasons: &[R],
    page: impl Fn(R) -> (&'static str, ReasonPage<T>),
) -> String {
    let others = types.iter().copied().filter(|type_| *type_ != first);
    let pages: Vec<_> = reasons.iter().map(|reason| page(*reason)).collect();
    let mut text = String::new();
    for type_ in [first].into_iter().chain(others) {
        let (heading, means) = name(type_);
        let _ = write!(text, "\n## {}{heading}\n\n{}\n", condition_prefix(prefix), prose(means));
        for status in [ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown] {
            let has = |(_, page): &&(&'static str, ReasonPage<T>)| page.on.contains(&(type_, status));
            let links: Vec<_> = pages
                .iter()
                .filter(has)
                .map(|(reason, _)| link(prefix, reason))
                .collect();
            if !links.is_empty() {
                let _ = write!(text, "\n- `{}`: {}", status.as_str(), links.join(", "));
            }
        }
        text.push('\n');
        for (reason, page) in &pages {
            if page.on.first().is_some_and(|(home, _)| *home == type_) {
                let on = page.on.iter().map(|(type_, status)| (name(*type_).0, *status));
                section(
                    &mut text,
                    prefix,
                    reason,
                    &on.collect::<Vec<_>>(),
                    page.means,
                    page.to_do,
                );
            }
        }
    }
    text
}

/// As it stands before the name of a condition in a heading.
fn condition_prefix(prefix: &str) -> String {
    match prefix.trim_end() {
        "" => "Condition ".to_owned(),
        kind => format!("{kind}: condition "),
    }
}

fn link(prefix: &str, reason: &str) -> String {
    let anchor = format!("{prefix}{reason}").to_lowercase().replace(' ', "-");
    format!("[{reason}](#{anchor})")
}

fn section(text: &mut String, prefix: &str, reason: &str, on: &[(&str, ConditionStatus)], means: &str, to_do: &str) {
    let on: Vec<_> = on
        .iter()
        .map(|(type_, status)| format!("`{type_}={}`", status.as_str()))
        .collect();
    let _ = write!(
        text,
        "\n### {prefix}{reason}\n\n{}\n\n{}\n\n**Do:** {to_do}\n",
        on.join(" "),
        prose(means)
    );
}

fn analysis_events() -> String {
    let mut text = ANALYSIS_EVENTS.to_owned();
    for reason in AnalysisNotice::ALL {
        let kind = if reason.is_warning() { "Warning" } else { "Normal" };
        let (means, to_do) = (prose(reason.means()), reason.to_do());
        let _ = writeln!(text, "| `{}` | {kind} | {means} | {to_do} |", reason.as_str());
    }
    text
}

fn holds() -> String {
    let mut text = HOLDS.to_owned();
    for (by, reason) in HoldBy::ALL.map(HoldBy::words) {
        let _ = writeln!(text, "| `{by}` | {} |", link("", reason.as_str()));
    }
    let failed = FailedWhy::ALL.map(|why| format!("`{}` ({})", why.as_str(), why.in_words()));
    let _ = writeln!(text, "\n`status.rollout.failedRevision.reason`: {}.", failed.join(", "));
    text
}

fn pods() -> String {
    let mut text = PODS.to_owned();
    for remedy in [Remedy::Patience, Remedy::Report, Remedy::Replace, Remedy::Person] {
        let reasons: Vec<_> = WaitingReason::ALL
            .iter()
            .filter(|reason| reason.remedy() == remedy)
            .map(|reason| format!("`{reason}`"))
            .collect();
        let _ = writeln!(text, "| {} | {} |", reasons.join(", "), done_about(remedy));
    }
    text
}

const fn done_about(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Patience => {
            "waits, and reports it when it takes longer than `--waiting-grace` (or, running and not Ready, longer than \
             `progressDeadlineSeconds`)"
        }
        Remedy::Report => "reports it at once; another Pod would meet the same",
        Remedy::Replace => "reports it at once, and replaces the Pod after `--waiting-grace`",
        Remedy::Person => "reports it at once as [PermanentPodFailure](#permanentpodfailure)",
    }
}

fn events() -> String {
    let mut text = EVENTS.to_owned();
    for reason in NoticeReason::ALL {
        let kind = if reason.is_warning() { "Warning" } else { "Normal" };
        let (means, to_do) = (prose(reason.means()), reason.to_do());
        let _ = writeln!(text, "| `{}` | {kind} | {means} | {to_do} |", reason.as_str());
    }
    text
}

/// A doc comment as a paragraph.
fn prose(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_says_what_it_means_and_what_to_do_in_sentences() {
        let of_conditions = Reason::ALL
            .iter()
            .map(|reason| (reason.as_str(), reason.page().means, reason.page().to_do));
        let of_events = NoticeReason::ALL
            .iter()
            .map(|reason| (reason.as_str(), reason.means(), reason.to_do()));
        let of_analyses = AnalysisReason::ALL
            .iter()
            .map(|reason| (reason.as_str(), reason.page().means, reason.page().to_do));
        let of_their_events = AnalysisNotice::ALL
            .iter()
            .map(|reason| (reason.as_str(), reason.means(), reason.to_do()));
        let all = of_conditions.chain(of_events).chain(of_analyses).chain(of_their_events);
        for (reason, means, to_do) in all {
            assert!(
                prose(means).split(' ').count() >= 3 && means.ends_with('.'),
                "{reason}: {means}"
            );
            assert!(to_do.ends_with('.'), "{reason}: {to_do}");
        }
    }

    #[test]
    fn every_condition_has_a_reason_for_each_way_it_can_stand_for() {
        for type_ in ConditionType::ALL {
            for status in [ConditionStatus::True, ConditionStatus::False] {
                let has = |reason: &&Reason| reason.page().on.contains(&(*type_, status));
                assert!(
                    Reason::ALL.iter().any(|reason| has(&reason)),
                    "{type_} {}",
                    status.as_str()
                );
            }
        }
    }

    #[test]
    fn every_condition_of_an_analysis_has_a_reason_for_each_way_it_can_stand_for() {
        for type_ in AnalysisConditionType::ALL {
            for status in [ConditionStatus::True, ConditionStatus::False] {
                let has = |reason: &&AnalysisReason| reason.page().on.contains(&(*type_, status));
                assert!(
                    AnalysisReason::ALL.iter().any(|reason| has(&reason)),
                    "{type_} {}",
                    status.as_str()
                );
            }
        }
    }

    #[test]
    fn a_link_leads_to_the_section_of_its_reason() {
        let page = page();
        assert!(page.contains("[NameCollision](#namecollision)"));
        assert!(page.contains("\n### NameCollision\n\n`Ready=False` `Applied=False` `Stalled=True`\n"));
        assert!(page.contains("[UnknownSource](#rolloutanalysis-unknownsource)"));
        assert!(page.contains("\n### RolloutAnalysis UnknownSource\n"));
    }
}
