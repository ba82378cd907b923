//! Rollout stories: text that a person can read, with every write of a Pod as a literal (`tests/stories/*.story`).
//!
//! A story has a title, the sentences of the rules that it shows, and commands. Below a command, indented, stands what
//! the operator then does to Pods, a line a pass, until nothing moves any more: `+p1.0=a` makes the Pod of primary 1,
//! generation 0, of revision a; `-c0.2` deletes one of the canary set; `!` is with grace period 0. Revisions a, b and c
//! work, d crashes, e has no image, f never becomes ready.
//!
//! Commands: `replicas N`, `maxUnavailable N`, `minReady N`, `policy Failed`, `onFailure Rollback`, `requireAnalysis`,
//! `canary on|off`, `create R`, `edit R`, `cannot be rendered`, `pause`, `unpause`, `suspend`, `unsuspend`,
//! `restart in N`, `promote R`, `abort R`, `resume R`, `order KEY TEXT` (the annotation as it is), `analysis none|pending|passed|failed`, `fail POD`, `lose POD`
//! (it is deleted and gone), `unready POD` and `unschedulable POD` (for good), `quota full|free` (below, `refused` follows
//! creates that it refused), `kubelet away|back`, `wait N` seconds, `crash` of the operator, and
//! `legacy [canary|broken|unclaimed|hangs|barren] N` (a Deployment of the Python operator of N consumers, that hangs in a
//! rolling update, with Pods of the template before that serve or without; below, `legacy:3>2` takes one off,
//! `legacy<before` sets it back to that template, `claim:legacy=3` claims it, `-legacy` deletes it, `-legacy-map` its
//! ConfigMap, `-marks` takes the finalizers off), `python applies N`, `status KEY=VALUE ...` (`TYPE~WORD`: the message of
//! that condition has the word), `told REASON ...` (the Events about the rollout since the last such line; `nothing` for
//! none). Several that happen at once are divided by `; `. Before `create` they say what is created.

use jiff::{SignedDuration, Timestamp};
use streaming_operator::api::{Condition, OnFailure, PodReplacementPolicy, meta};
use streaming_operator::core::names::{PodName, WorkloadSet};
use streaming_operator::core::plan::AnalysisVerdict;

use crate::cluster::{SimPod, Stage};
use crate::legacy::Kind;
use crate::rng::Rng;
use crate::world::{World, revision};

/// More passes than the longest command of any story takes.
const PASSES_MAX: usize = 300;

/// A story as it is written.
pub(crate) struct Story {
    pub(crate) title: String,
    /// Names of the sentences that it shows.
    pub(crate) shows: Vec<String>,
    /// Commands, each with what follows from it.
    told: Vec<(String, Vec<String>)>,
}

impl Story {
    /// Reads a story: a title, `shows:`, commands and, indented, what follows.
    pub(crate) fn read(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let title = lines.next().expect("a title").to_owned();
        let shows = lines
            .next()
            .and_then(|line| line.strip_prefix("shows:"))
            .expect("`shows:` after the title");
        let mut told: Vec<(String, Vec<String>)> = Vec::new();
        for line in lines {
            match told.last_mut().filter(|_| line.starts_with(' ')) {
                Some((_, writes)) => writes.push(line.trim().to_owned()),
                None => told.push((line.trim().to_owned(), Vec::new())),
            }
        }
        Self {
            title,
            shows: shows.split(',').map(|name| name.trim().to_owned()).collect(),
            told,
        }
    }

    /// Lets it happen. Gives how it went where that is not as it is told.
    pub(crate) fn differs(&self) -> Option<String> {
        let mut teller = Teller::new();
        let mut went = Vec::new();
        let mut same = true;
        for (command, expected) in &self.told {
            let writes = teller.happen(command);
            same = same && writes == *expected;
            went.push(command.clone());
            went.extend(writes.into_iter().map(|line| format!("    {line}")));
        }
        (!same).then(|| went.join("\n"))
    }
}

/// A story while it happens.
struct Teller {
    world: World,
    rng: Rng,
    created: bool,
    kubelet: bool,
}

impl Teller {
    fn new() -> Self {
        let mut world = World::new(1, 'a');
        world.calm = true;
        Self {
            world,
            rng: Rng::new(0),
            created: false,
            kubelet: true,
        }
    }

    /// A command, and what follows from it. A status is given as it is, in the words that are asked for.
    fn happen(&mut self, command: &str) -> Vec<String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        if let ["status", keys @ ..] = words.as_slice() {
            let wrong: Vec<String> = keys.iter().filter_map(|pair| self.contradicts(pair)).collect();
            return wrong;
        }
        if let ["told", reasons @ ..] = words.as_slice() {
            let told = std::mem::take(&mut self.world.told);
            let told = if told.is_empty() { vec!["nothing"] } else { told };
            return if told == reasons {
                Vec::new()
            } else {
                vec![told.join(" ")]
            };
        }
        if let ["wait", seconds] = words.as_slice() {
            self.wait(seconds.parse().expect("seconds"));
        } else {
            for one in command.split("; ") {
                self.command(&one.split_whitespace().collect::<Vec<_>>(), one);
            }
            if self.created {
                self.settle();
            }
        }
        std::mem::take(&mut self.world.written)
    }

    /// What of the status is not as it is said to be.
    fn contradicts(&self, pair: &str) -> Option<String> {
        let status = &self.world.status;
        if let Some((type_, word)) = pair.split_once('~') {
            let said = status.conditions.iter().find(|condition| condition.type_ == type_);
            let message = said.map(|condition| condition.message.as_str()).unwrap_or_default();
            return (!message.contains(word)).then(|| format!("{type_} says: {message}"));
        }
        let (key, expected) = pair.split_once('=').expect("KEY=VALUE");
        let rollout = status.rollout.clone().unwrap_or_default();
        let short = |revision: Option<&String>| revision.map_or("none", |text| &text[..1]).to_owned();
        let condition = |type_: &str| {
            let found = status.conditions.iter().find(|condition| condition.type_ == type_);
            found.map(|condition| condition.reason.clone()).unwrap_or_default()
        };
        let actual = match key {
            "current" => short(status.current_revision.as_ref()),
            "available" => status.available_replicas.to_string(),
            "total" => status.total_replicas.to_string(),
            "terminating" => status.terminating_replicas.to_string(),
            "maps" => self.config_maps(),
            "phase" => rollout.phase.clone(),
            "gate" => short(rollout.gate_opened_for.as_ref()),
            "failed" => short(rollout.failed_revision.as_ref().map(|failed| &failed.name)),
            "ignored" => ignored(&status.conditions),
            condition_type => condition(condition_type),
        };
        (actual != expected).then(|| format!("{key}={actual}"))
    }

    /// The revisions whose ConfigMaps are there, in the order in which they were made.
    fn config_maps(&self) -> String {
        let maps = self.world.cluster.config_maps.values();
        let mut maps: Vec<_> = maps.map(|map| (map.uid.clone(), map.name.clone())).collect();
        maps.sort();
        let digits = maps.into_iter().filter_map(|(_, name)| name?.pop());
        digits.map(String::from).collect::<Vec<_>>().join("+")
    }

    fn command(&mut self, words: &[&str], command: &str) {
        match *words {
            ["create", digit] => {
                self.world.edit_to(first(digit));
                self.created = true;
            }
            ["edit", digit] => self.world.edit_to(first(digit)),
            ["cannot", "be", "rendered"] => {
                self.world.unrendered = true;
                self.world.edit(command, |_| {});
            }
            ["promote", digit] => self.order(meta::ANNOTATION_PROMOTE, revision(first(digit)).to_string()),
            ["abort", digit] => self.order(meta::ANNOTATION_ABORT, revision(first(digit)).to_string()),
            ["resume", digit] => {
                let value = format!("{}@{}", revision(first(digit)), self.world.cluster.now);
                self.order(meta::ANNOTATION_RESUME, value);
            }
            ["order", key, text] => self.order(&format!("{}/{key}", meta::GROUP), text.to_owned()),
            ["analysis", verdict] => {
                self.world.analysis = match verdict {
                    "pending" => AnalysisVerdict::Pending("it measures".to_owned()),
                    "passed" => AnalysisVerdict::Passed,
                    "failed" => AnalysisVerdict::Failed("above its limit".to_owned()),
                    _ => AnalysisVerdict::None,
                };
            }
            ["fail", pod] => self.hit(pod, |now| {
                Some(Stage::Failed {
                    at: now,
                    disruption: false,
                })
            }),
            ["unready", pod] => self.hit(pod, |now| Some(Stage::Running { since: now })),
            ["unschedulable", pod] => self.hit(pod, |now| Some(Stage::Unschedulable { since: now })),
            ["quota", is] => self.world.quota_full = is == "full",
            ["lose", pod] => self.hit(pod, |_| None),
            ["legacy", ref words @ ..] => self.legacy(words),
            ["python", "applies", count] => self.world.cluster.legacy.apply(count.parse().expect("a number")),
            ["kubelet", is] => self.kubelet = is == "back",
            ["crash"] => {
                self.world.cluster.restart(&mut self.world.ledger);
                self.world.deleted.clear();
            }
            _ => self.edit(words, command),
        }
    }

    /// A Deployment of the Python operator, as it is before the pipeline is looked at.
    fn legacy(&mut self, words: &[&str]) {
        let (kind, count) = match *words {
            [count] => ("", count),
            [kind, count] => (kind, count),
            _ => panic!("no such legacy Deployment: {words:?}"),
        };
        let set = if kind == "canary" {
            WorkloadSet::Canary
        } else {
            WorkloadSet::Primary
        };
        let long_ago = self.world.cluster.now - SignedDuration::from_hours(1);
        let claimed = (kind != "unclaimed").then_some(long_ago);
        let count = count.parse().expect("a number");
        let kind = match kind {
            "broken" => Kind::Broken,
            "hangs" => Kind::Hangs,
            "barren" => Kind::Barren,
            _ => Kind::Works,
        };
        self.world.cluster.legacy.add(set, count, kind, claimed);
    }

    /// An edit of a field of the spec.
    fn edit(&mut self, words: &[&str], command: &str) {
        let now = self.world.cluster.now;
        let number = |text: &str| text.parse::<u16>().expect("a number");
        self.world.edit(command, |wanted| match *words {
            ["replicas", count] => wanted.replicas = number(count),
            ["maxUnavailable", count] => wanted.max_unavailable = number(count),
            ["minReady", seconds] => wanted.min_ready = SignedDuration::from_secs(number(seconds).into()),
            ["policy", "Failed"] => wanted.policy = PodReplacementPolicy::Failed,
            ["onFailure", "Rollback"] => wanted.on_failure = OnFailure::Rollback,
            ["requireAnalysis"] => wanted.require_analysis = true,
            ["canary", is] => wanted.with_canary = is == "on",
            ["pause"] => wanted.paused = true,
            ["unpause"] => wanted.paused = false,
            ["suspend"] => wanted.suspend = true,
            ["unsuspend"] => wanted.suspend = false,
            ["restart", "in", seconds] => {
                wanted.restart_at = Some(now + SignedDuration::from_secs(number(seconds).into()));
            }
            _ => panic!("no such command: {command}"),
        });
    }

    fn order(&mut self, key: &str, value: String) {
        self.world.annotations.insert(key.to_owned(), value);
    }

    /// Something happens to a Pod; `None`: it is gone.
    fn hit(&mut self, short_name: &str, stage: impl Fn(Timestamp) -> Option<Stage>) {
        let is_it = |(name, _): &(&String, &SimPod)| short(name) == short_name;
        let found = self.world.cluster.pods.iter().find(is_it);
        let (name, pod) = found.unwrap_or_else(|| panic!("there is no {short_name}"));
        let (name, mut pod) = (name.clone(), pod.clone());
        match stage(self.world.cluster.now) {
            Some(stage) => {
                pod.stage = stage;
                pod.stuck = matches!(stage, Stage::Running { .. });
                self.world.cluster.put(pod);
            }
            None => self.world.cluster.remove(&name),
        }
    }

    /// Passes, and steps of the kubelet, until nothing moves; a second each. Gives when the operator wants to look again.
    fn settle(&mut self) -> Option<SignedDuration> {
        for _ in 0..PASSES_MAX {
            let world = &mut self.world;
            while world.cluster.deliver(&mut world.ledger, &mut self.rng) > 0 {}
            let pass = world.pass(None, &mut self.rng);
            let names: Vec<String> = world.cluster.pods.keys().filter(|_| self.kubelet).cloned().collect();
            let moved = names.iter().filter(|name| world.cluster.kubelet(name)).count();
            let moved = moved + usize::from(world.cluster.legacy.step());
            if moved == 0 && pass.writes == 0 && pass.wake_after != Some(SignedDuration::ZERO) {
                return pass.wake_after;
            }
            world.cluster.pass_time(1);
        }
        panic!("not settled after {PASSES_MAX} passes: {:#?}", self.world.written);
    }

    /// Time passes, and the operator looks when it wants to.
    fn wait(&mut self, seconds: i64) {
        let end = self.world.cluster.now + SignedDuration::from_secs(seconds);
        loop {
            let wake = self.settle();
            let left = end.duration_since(self.world.cluster.now);
            if left <= SignedDuration::ZERO {
                return;
            }
            self.world.cluster.now += wake.map_or(left, |wake| wake.min(left));
        }
    }
}

/// Which orders the status says that it cannot read.
fn ignored(conditions: &[Condition]) -> String {
    let held = conditions.iter().find(|condition| condition.type_ == "RolloutPaused");
    let message = held.map_or("", |condition| condition.message.as_str());
    let before = format!("annotation {}/", meta::GROUP);
    let keys = message.split(&before).skip(1).filter_map(|rest| rest.split(' ').next());
    let keys: Vec<&str> = keys.collect();
    if keys.is_empty() {
        "none".to_owned()
    } else {
        keys.join("+")
    }
}

fn first(digit: &str) -> char {
    digit.chars().next().expect("a digit")
}

/// A Pod's name in short: `p1.0` is generation 0 of primary 1.
pub(crate) fn short(name: &str) -> String {
    let Some(name) = PodName::parse(name) else {
        return name.to_owned();
    };
    let set = if name.base.as_str() == "svc" { 'p' } else { 'c' };
    format!("{set}{}.{}", name.ordinal, name.generation)
}
