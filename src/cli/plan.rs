//! `streaming-operator plan`: which Pods an edit of pipelines in files replaces, offline. Must never know a rule of a
//! rollout: it pairs the pipelines and prints what the core foretells.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use jiff::Timestamp;

use k8s_openapi::api::apps::v1::Deployment;
use serde::Deserialize as _;

use super::input::{self, Document, Input};
use super::judge::{Fault, Names, judge, judge_edit, notes, repeated, unknown_fields};
use super::namespace::WorkloadNamespace;
use super::validate::{exit_code, fault_line};
use crate::core::forecast::{Edited, Forecast, Restart, Step, forecast, take_over};
use crate::core::names::PodName;
use crate::core::observed::LegacyDeployment;
use crate::core::plan::{CreateReason, DeleteReason, HoldBy, Phase};
use crate::core::valid::ValidPipeline;
use crate::core::words::counted;

/// Deployments of the Python operator, by namespace and name of their pipelines.
type Deployments = BTreeMap<(String, String), Vec<LegacyDeployment>>;

/// What to plan.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files and folders of the manifests as they are to be (.yaml, .yml, .json); - is stdin. Other kinds are skipped.
    #[arg(short = 'f', long = "filename", value_name = "NEW|-", required = true)]
    files: Vec<String>,
    /// The manifests as they are now, paired with the new ones by namespace and name. Without it every pipeline is
    /// planned as new. Deployments of the Python operator among them are taken over: their pipelines are planned so.
    #[arg(long, value_name = "OLD")]
    old: Vec<String>,
    #[command(flatten)]
    workload_namespace: WorkloadNamespace,
}

/// Plans the files. Exit code 0: nothing is replaced; 1: a Pod is, now or at a `restartAt` to come, or a pipeline has
/// faults; 2: something could not be read, and nothing is planned.
pub(super) fn run(args: &Args) -> ExitCode {
    if let Some(refused) = super::refuse_stdin_twice(args.files.iter().chain(&args.old)) {
        return refused;
    }
    let (new, mut old) = (input::read(&args.files).served(), input::read(&args.old).served());
    let legacy = legacy(&mut old);
    new.report(&args.files);
    old.report(&args.old);
    if !new.problems.is_empty() || !old.problems.is_empty() {
        // Without a part of the files it would be the plan of another edit.
        return ExitCode::from(2);
    }
    eprint!("{}{}", notes(&old), unknown_fields(&new));
    let (text, is_quiet) = plans(&new, &old, legacy, args.workload_namespace.get());
    let code = exit_code(&new, is_quiet);
    let mut out = std::io::stdout().lock();
    super::after_printing(out.write_all(text.as_bytes()).and_then(|()| out.flush()), code)
}

/// The plans of all pipelines, and whether none of them replaces anything or has a fault.
fn plans(new: &Input, old: &Input, mut legacy: Deployments, workload_namespace: Option<&str>) -> (String, bool) {
    let key = |document: &Document| (document.namespace().to_owned(), document.name().to_owned());
    let mut before: BTreeMap<_, _> = old.documents.iter().map(|document| (key(document), document)).collect();
    let mut names = Names::default();
    for document in &old.documents {
        // It is in the cluster and has its names; a file that only renames it is refused there.
        names.hold(document, &document.object, workload_namespace);
    }
    let mut text = String::new();
    let mut is_quiet = true;
    for (document, again) in new.documents.iter().zip(repeated(new)) {
        if let Some(fault) = again {
            is_quiet = false;
            text.push_str(&lines(document, &[fault]));
            continue;
        }
        let old = before.remove(&key(document));
        let deployments = legacy.remove(&key(document)).unwrap_or_default();
        match plan(document, old, deployments, &mut names, workload_namespace) {
            Ok(told) => {
                let waits = matches!(told.restart, Restart::Later { .. } if told.from.is_some());
                is_quiet &= told.replaced() + told.taken_over == 0 && !waits;
                put_forecast(&mut text, document, &told);
            }
            Err(lines) => {
                is_quiet = false;
                text.push_str(&lines);
            }
        }
    }
    for (namespace, name) in before.keys() {
        let _ = writeln!(
            text,
            "{namespace}/{name}: stands only in the old files: nothing happens to it until it is deleted, and then its \
             Pods go with it"
        );
    }
    (text, is_quiet)
}

/// What is foretold, or the faults that stand against it, line by line.
fn plan(
    document: &Document,
    old: Option<&Document>,
    deployments: Vec<LegacyDeployment>,
    names: &mut Names,
    workload_namespace: Option<&str>,
) -> Result<Forecast, String> {
    let answer = match old {
        Some(old) => judge_edit(document, old),
        None => judge(document),
    };
    let pipeline = answer.pipeline.map_err(|faults| lines(document, &faults))?;
    if let Some(fault) = names.claim(document, &pipeline, workload_namespace) {
        return Err(lines(document, &[fault]));
    }
    let before: Option<Box<ValidPipeline>> = match old {
        Some(old) => Some(judge(old).pipeline.map_err(|faults| lines(old, &faults))?),
        None => None,
    };
    let (namespace, name) = (document.namespace(), document.name());
    if !deployments.is_empty() {
        return Ok(take_over(namespace, name, deployments, &pipeline, Timestamp::now()));
    }
    Ok(forecast(
        namespace,
        name,
        before.as_deref(),
        &pipeline,
        Timestamp::now(),
    ))
}

/// Takes the Deployments of the Python operator out of what was skipped, by namespace and name of their pipelines; that of
/// the canary first.
fn legacy(old: &mut Input) -> Deployments {
    let mut found = Deployments::new();
    old.skipped.retain(|skipped| {
        let object = skipped.deployment.as_ref();
        let deployment = object.and_then(|object| Deployment::deserialize(object).ok());
        let Some((namespace, name, read)) = deployment.as_ref().and_then(LegacyDeployment::in_file) else {
            return true;
        };
        found.entry((namespace, name)).or_default().push(read);
        false
    });
    for deployments in found.values_mut() {
        deployments.sort_by_key(|deployment| deployment.set);
    }
    found
}

fn lines(document: &Document, faults: &[Fault]) -> String {
    faults.iter().map(|fault| fault_line(document, fault) + "\n").collect()
}

fn put_forecast(text: &mut String, document: &Document, told: &Forecast) {
    let mut put = |line: std::fmt::Arguments<'_>| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    };
    put(format_args!(
        "{}/{}: {}",
        document.namespace(),
        document.name(),
        headline(told)
    ));
    if told.from.is_some() {
        let others = fields(told, false);
        if !others.is_empty() {
            put(format_args!("  changes without another revision: {others}"));
        }
    }
    for name in &told.config_maps {
        put(format_args!("  creates ConfigMap {name}"));
    }
    for (index, step) in told.steps.iter().enumerate() {
        if step.after_analysis {
            put(format_args!(
                "  waits until a RolloutAnalysis of the revision has passed"
            ));
        }
        let (number, available, wanted) = (index + 1, step.available, told.wanted);
        let consumers = if told.taken_over > 0 {
            format!("{}, ", counted(step.consumers, "consumer"))
        } else {
            String::new()
        };
        put(format_args!(
            "  step {number}: {}; {consumers}{available} of {wanted} available",
            words(step)
        ));
    }
    put(format_args!("  {}", summary(told)));
    if let Some(restart) = restart(told) {
        put(format_args!("  {restart}"));
    }
    if let Some(hold) = hold(told) {
        put(format_args!("  {hold}"));
    }
}

/// Fields of the edit that make the revision, or those that do not.
fn fields(told: &Forecast, makes_revision: bool) -> String {
    let picked = told
        .edited
        .iter()
        .filter(|edited| edited.makes_revision == makes_revision);
    let names: Vec<&str> = picked.map(|Edited { field, .. }| *field).collect();
    names.join(", ")
}

fn headline(told: &Forecast) -> String {
    let to = &told.to;
    match &told.from {
        None if told.taken_over > 0 => format!("moves from the Python operator, revision {to}"),
        None => format!("new, revision {to}"),
        Some(from) if from == to && told.edited.is_empty() => format!("unchanged, revision {to}"),
        Some(from) if from == to => format!("revision {to} stays"),
        Some(from) => format!("revision {from} → {to} ({})", fields(told, true)),
    }
}

fn words(step: &Step) -> String {
    let mut parts: Vec<String> = Vec::new();
    for scale in &step.scaled {
        let (namespace, name, from, to) = (&scale.namespace, &scale.name, scale.from, scale.to);
        parts.push(format!(
            "takes {} off Deployment {namespace}/{name} ({to} left)",
            from - to
        ));
    }
    for what in &step.set_back {
        parts.push(format!(
            "gives {what}, whose rolling update hangs, the Pod template back whose Pods serve"
        ));
    }
    parts.extend(step.removed.iter().map(|what| format!("deletes {what}")));
    let deleted = |picked: fn(DeleteReason) -> bool| -> Vec<&str> {
        let chosen = step.deleted.iter().filter(|(_, why)| picked(*why));
        chosen.map(|(name, _)| name.as_str()).collect()
    };
    let place = |name: &str| PodName::parse(name).map(|name| (name.base, name.ordinal));
    let gone = deleted(|why| !matches!(why, DeleteReason::ScaleDown | DeleteReason::Drain));
    let surplus = deleted(|why| matches!(why, DeleteReason::ScaleDown | DeleteReason::Drain));
    let created = |beside: bool| {
        step.created
            .iter()
            .filter(move |(_, why)| (*why == CreateReason::HandOver) == beside)
    };
    let filled: BTreeSet<_> = created(false).map(|(name, _)| place(name)).collect();
    let (replaced, deleted): (Vec<&str>, Vec<&str>) = gone.into_iter().partition(|name| filled.contains(&place(name)));
    let left: BTreeSet<_> = replaced.iter().map(|name| place(name)).collect();
    let new = created(false).map(|(name, _)| name.as_str());
    let added: Vec<&str> = new.filter(|name| !left.contains(&place(name))).collect();
    let beside: Vec<&str> = created(true).map(|(name, _)| name.as_str()).collect();
    for (verb, names, after) in [
        ("replaces", replaced, ""),
        ("deletes", deleted, ""),
        ("removes", surplus, ""),
        ("creates", added, ""),
        ("creates a second", beside, " beside it"),
    ] {
        if !names.is_empty() {
            parts.push(format!("{verb} {}{after}", places(&names)));
        }
    }
    parts.join(", ")
}

/// Names of Pods without their generation, which only a cluster knows: `svc-pipeline-a-0-{0..3,7}`.
fn places(names: &[&str]) -> String {
    let mut by_base: Vec<(String, Vec<u16>)> = Vec::new();
    for name in names.iter().filter_map(|name| PodName::parse(name)) {
        let base = name.base.to_string();
        match by_base.last_mut().filter(|(last, _)| *last == base) {
            Some((_, ordinals)) => ordinals.push(name.ordinal.get()),
            None => by_base.push((base, vec![name.ordinal.get()])),
        }
    }
    let told = by_base.into_iter().map(|(base, mut ordinals)| {
        ordinals.sort_unstable();
        match ordinals.as_slice() {
            [only] => format!("{base}-{only}"),
            several => format!("{base}-{{{}}}", ranges(several)),
        }
    });
    told.collect::<Vec<_>>().join(" and ")
}

/// Ascending numbers in the shell's words: `0..3,7`.
fn ranges(numbers: &[u16]) -> String {
    let runs = numbers.chunk_by(|a, b| a.saturating_add(1) == *b);
    let told = runs.filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [one, two] => Some(format!("{one},{two}")),
        [first, .., last] => Some(format!("{first}..{last}")),
    });
    told.collect::<Vec<_>>().join(",")
}

fn summary(told: &Forecast) -> String {
    let (replaced, steps) = (told.replaced(), told.steps.len());
    let in_steps = counted(steps, "step");
    let mut parts = Vec::new();
    if told.taken_over > 0 {
        parts.push(format!(
            "takes over {} in {in_steps}",
            counted(told.taken_over, "consumer")
        ));
        parts.push(format!("never fewer than {} available", told.lowest));
        return parts.join("; ");
    }
    if told.from.is_none() {
        parts.push(format!("creates {}", counted(told.created(), "Pod")));
    } else if replaced == 0 {
        parts.push("replaces nothing".to_owned());
    } else {
        parts.push(format!("replaces {} in {in_steps}", counted(replaced, "Pod")));
    }
    if told.from.is_some() && told.created() > replaced {
        parts.push(format!("adds {}", counted(told.created() - replaced, "Pod")));
    }
    if told.deleted() > replaced {
        parts.push(format!("removes {}", counted(told.deleted() - replaced, "Pod")));
    }
    if told.from.is_some() && steps > 0 {
        parts.push(format!("never fewer than {} available", told.lowest));
    }
    parts.join("; ")
}

/// What `restartAt` does, and what is assumed for that: when the Pods were created only a cluster knows.
fn restart(told: &Forecast) -> Option<String> {
    match told.restart {
        Restart::None => None,
        Restart::Now => Some("assumes that the old Pods were created before rollout.restartAt".to_owned()),
        Restart::Back => Some(
            "rollout.restartAt goes back, which restarts nothing: assumes that the old Pods were created after the old one"
                .to_owned(),
        ),
        Restart::Later { at, pods: number } => Some(format!(
            "waits until {at} (rollout.restartAt), then replaces {}",
            counted(number, "Pod")
        )),
    }
}

/// What the pipeline waits for in the end.
fn hold(told: &Forecast) -> Option<String> {
    let why = told.holds.iter().map(|hold| match hold {
        HoldBy::Paused => "rollout.paused is true",
        HoldBy::Suspended => "suspend is true",
        HoldBy::ScaledToZero => "replicas is 0",
        HoldBy::GateCanary => "the canary is not available",
        HoldBy::GateAnalysis => "no RolloutAnalysis has passed",
        HoldBy::Deadline => "nothing became available within progressDeadlineSeconds",
        HoldBy::Failed => "the revision failed",
        HoldBy::DryRun => "the API server would refuse the first Pod",
    });
    let why = why.collect::<Vec<_>>().join(", ");
    match told.phase {
        Phase::Complete => None,
        Phase::Suspended => Some(format!("no consumer runs: {why}")),
        Phase::Paused => Some(format!("the rest waits: {why}")),
        phase => Some(format!("does not complete ({}): {why}", phase.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::{places, ranges};

    #[test]
    fn ordinals_are_told_as_the_shell_would_expand_them() {
        assert_eq!(ranges(&[0]), "0");
        assert_eq!(ranges(&[0, 1, 3]), "0,1,3");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8, 9]), "0..2,5,7..9");
    }

    #[test]
    fn pods_are_named_by_place_set_by_set() {
        assert_eq!(places(&["a-canary-0-0", "a-0-3", "a-1-0"]), "a-canary-0 and a-{0,1}");
        assert_eq!(places(&["a-7-9999"]), "a-7");
    }
}
