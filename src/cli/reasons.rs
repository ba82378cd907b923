//! `streaming-operator reasons`: the page of every reason in a status or an Event, as Markdown (docs/reasons.md).

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use super::after_printing;
use crate::api::reasons::ReasonPage;
use crate::api::{ConditionStatus, ConditionType, NoticeReason, Reason};
use crate::core::health::{Remedy, WaitingReason};
use crate::core::plan::{FailedWhy, HoldBy};

const HEAD: &str = "\
<!-- Written by `make generate` from src/api/reasons.rs and src/api/events.rs. -->

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

/// Prints the page.
pub(super) fn run() -> ExitCode {
    let mut out = io::stdout().lock();
    let printed = out.write_all(page().as_bytes()).and_then(|()| out.flush());
    after_printing(printed, ExitCode::SUCCESS)
}

/// The page: the conditions, each with its reasons, the one of the column REASON first; then holds, Pods and Events.
fn page() -> String {
    let first = [ConditionType::Ready];
    let others = ConditionType::ALL.iter().filter(|type_| !first.contains(type_));
    let conditions: String = first.iter().chain(others).map(|type_| condition(*type_)).collect();
    [HEAD, &conditions, &holds(), &pods(), &events()].concat()
}

fn condition(type_: ConditionType) -> String {
    let mut text = format!("\n## Condition {type_}\n\n{}\n", prose(type_.means()));
    let mut sections = String::new();
    for status in [ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown] {
        let has = |reason: &&Reason| reason.page().on.contains(&(type_, status));
        let links: Vec<_> = Reason::ALL.iter().filter(has).map(|reason| link(*reason)).collect();
        if !links.is_empty() {
            let _ = write!(text, "\n- `{}`: {}", status.as_str(), links.join(", "));
        }
    }
    let at_home = Reason::ALL
        .iter()
        .filter(|reason| reason.page().on.first().is_some_and(|(home, _)| *home == type_));
    for reason in at_home {
        sections.push_str(&section(*reason));
    }
    format!("{text}\n{sections}")
}

fn link(reason: Reason) -> String {
    format!("[{reason}](#{})", reason.as_str().to_lowercase())
}

fn section(reason: Reason) -> String {
    let ReasonPage { on, means, to_do } = reason.page();
    let on: Vec<_> = on
        .iter()
        .map(|(type_, status)| format!("`{type_}={}`", status.as_str()))
        .collect();
    format!(
        "\n### {reason}\n\n{}\n\n{}\n\n**Do:** {to_do}\n",
        on.join(" "),
        prose(means)
    )
}

fn holds() -> String {
    let mut text = HOLDS.to_owned();
    for (by, reason) in HoldBy::ALL.map(HoldBy::words) {
        let _ = writeln!(text, "| `{by}` | {} |", link(reason));
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
        for (reason, means, to_do) in of_conditions.chain(of_events) {
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
    fn a_link_leads_to_the_section_of_its_reason() {
        let page = page();
        assert!(page.contains("[NameCollision](#namecollision)"));
        assert!(page.contains("\n### NameCollision\n\n`Ready=False` `Applied=False` `Stalled=True`\n"));
    }
}
