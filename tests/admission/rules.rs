//! Every manifest of `tests/fixtures/rules`, sent in every way there is: what is refused says why as built-in kinds do,
//! what is accepted is stored, and whichever way makes no difference.

use std::collections::BTreeSet;
use std::time::Instant;

use futures::StreamExt;
use serde_json::{Value, json};
use testkit::fixtures::{self, Cause, RuleFixture};

use crate::bed::Bed;
use crate::ways::{Sender, Sent, Way};

/// How many are sent at a time: more than there are processors, since half of the time kubectl waits.
const AT_A_TIME: usize = 6;

/// What one manifest showed: how often it was sent, and what was not as it should be.
#[derive(Default)]
struct Seen {
    sent: usize,
    wrong: Vec<String>,
}

/// The manifest that the rule accepts and the refused one would replace.
fn accepted_of(rule: &str, all: &[RuleFixture]) -> Value {
    let found = all.iter().find(|other| other.rule == rule && !other.is_refused());
    found.expect("one that is accepted").object.clone()
}

/// The causes as a way shows them: kubectl without their reasons.
fn shown(way: Way, causes: &[Cause]) -> BTreeSet<String> {
    let shown = causes.iter().map(|cause| {
        let Cause {
            field, reason, message, ..
        } = cause;
        match way {
            Way::ApplyPatch => format!("{reason} {field}: {message}"),
            _ => format!("{field}: {message}"),
        }
    });
    shown.collect()
}

impl Seen {
    /// Notes the answer to a manifest that must be refused with `causes`, or with the words that stand instead.
    fn note(&mut self, fixture: &RuleFixture, way: Way, answer: Sent, causes: &[Cause]) {
        self.sent += 1;
        let place = format!("{}/{} by {}", fixture.rule, fixture.name, way.name());
        let instead = fixture.answer.instead.get(way.name());
        let fault = match (answer, instead) {
            (Ok(_), _) => Some("was taken".to_owned()),
            (Err(refusal), Some(words)) => (!refusal.text.contains(words)).then_some(refusal.text),
            (Err(refusal), None) => (refusal.causes != shown(way, causes)).then_some(refusal.text),
        };
        self.wrong.extend(fault.map(|fault| format!("{place}: {fault}")));
    }
}

async fn send_refused(bed: &Bed, fixture: &RuleFixture, stored: &Value) -> Seen {
    let sender = Sender::new(bed.cluster).await;
    let mut seen = Seen::default();
    let answer = &fixture.answer;
    let is_sent = |way: &Way| answer.only.is_empty() || answer.only.iter().any(|only| only == way.name());
    let causes = if answer.schema.is_empty() {
        &answer.faults
    } else {
        &answer.schema
    };
    if !answer.replaces {
        for way in Way::CREATING.into_iter().filter(is_sent) {
            let result = sender.send(way, &fixture.text, &fixture.object, stored).await;
            seen.note(fixture, way, result, causes);
        }
        if sender.stored_spec("checkout").await.is_some() {
            seen.wrong.push(format!("{}/{} was stored", fixture.rule, fixture.name));
            return seen;
        }
    }
    sender.store(stored).await;
    let before = sender.stored_spec("checkout").await;
    let causes = if answer.update.is_empty() {
        causes
    } else {
        &answer.update
    };
    let ways: &[Way] = if answer.replaces {
        &Way::UPDATING
    } else {
        &Way::REPLACING
    };
    for way in ways.iter().copied().filter(is_sent) {
        let result = sender.send(way, &fixture.text, &fixture.object, stored).await;
        seen.note(fixture, way, result, causes);
    }
    if sender.stored_spec("checkout").await != before {
        seen.wrong
            .push(format!("{}/{} changed what was stored", fixture.rule, fixture.name));
    }
    seen
}

async fn send_accepted(bed: &Bed, fixture: &RuleFixture) -> Seen {
    let sender = Sender::new(bed.cluster).await;
    let mut seen = Seen::default();
    // Another image: what each updating way puts right.
    let mut other = fixture.object.clone();
    other["spec"]["image_name"] = json!("registry.example/other:1");
    let mut specs: Vec<(Way, Option<Value>)> = Vec::new();
    let creating = Way::CREATING.into_iter().map(|way| (way, false));
    let updating = Way::REPLACING
        .into_iter()
        .chain([Way::ApplyPatch])
        .map(|way| (way, true));
    for (way, is_update) in creating.chain(updating) {
        if is_update {
            sender.store(&other).await;
        }
        let result = sender.send(way, &fixture.text, &fixture.object, &other).await;
        if let (true, Some(_)) = (result.is_err(), fixture.answer.instead.get(way.name())) {
            seen.note(fixture, way, result, &[]);
        } else {
            seen.sent += 1;
            let place = format!("{}/{} by {}", fixture.rule, fixture.name, way.name());
            seen.wrong
                .extend(result.err().map(|refusal| format!("{place}: {}", refusal.text)));
            if way != Way::DryRun {
                specs.push((way, sender.stored_spec("checkout").await));
            }
        }
        if sender.stored_spec("checkout").await.is_some() {
            sender.delete("checkout").await;
        }
    }
    let first = specs.first().and_then(|(_, spec)| spec.clone());
    let different = specs.iter().filter(|(_, spec)| *spec != first || spec.is_none());
    seen.wrong.extend(different.map(|(way, spec)| {
        let (rule, name, way) = (&fixture.rule, &fixture.name, way.name());
        format!("{rule}/{name} by {way} is stored as {spec:?}, by another way as {first:?}")
    }));
    seen
}

async fn every<F: Future<Output = Seen>>(what: &str, sent: impl Iterator<Item = F>) {
    let started = Instant::now();
    let seen: Vec<Seen> = futures::stream::iter(sent).buffer_unordered(AT_A_TIME).collect().await;
    let wrong: Vec<&String> = seen.iter().flat_map(|seen| &seen.wrong).collect();
    let requests: usize = seen.iter().map(|seen| seen.sent).sum();
    println!(
        "{} {what} manifests, sent {requests} times in {:.1?}",
        seen.len(),
        started.elapsed()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_rule_refuses_is_refused_with_the_same_causes_in_whichever_way_it_is_sent() {
    let bed = Bed::start().await;
    let all = fixtures::rules().expect("the fixtures can be read");
    let refused = all.iter().filter(|fixture| fixture.is_refused()).map(|fixture| {
        let stored = accepted_of(&fixture.rule, &all);
        let bed = &bed;
        async move { send_refused(bed, fixture, &stored).await }
    });
    every("refused", refused).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_rule_accepts_is_stored_alike_in_whichever_way_it_is_sent() {
    let bed = Bed::start().await;
    let all = fixtures::rules().expect("the fixtures can be read");
    let accepted = all.iter().filter(|fixture| !fixture.is_refused());
    every("accepted", accepted.map(|fixture| send_accepted(&bed, fixture))).await;
}
