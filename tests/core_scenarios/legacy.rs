//! Deployments of the Python operator with their Pods, as numbers, and the controller that keeps them.

use jiff::Timestamp;
use streaming_operator::core::names::WorkloadSet;
use streaming_operator::core::observed::{Legacy, LegacyConfigMap, LegacyDeployment, Rolling};
use streaming_operator::core::plan::Action;

/// What the Python operator left.
#[derive(Clone, Debug, Default)]
pub(crate) struct LegacyWorld {
    deployments: Vec<SimDeployment>,
    config_map: bool,
    marks: bool,
}

#[derive(Clone, Debug)]
struct SimDeployment {
    facts: LegacyDeployment,
    kind: Kind,
}

/// How a Deployment was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// All consumers are available.
    Works,
    /// None ever becomes so.
    Broken,
    /// In a rolling update whose Pods never become available; those of the template before serve.
    Hangs,
    /// The same, and those do not serve either.
    Barren,
}

impl LegacyWorld {
    /// A Deployment of so many consumers, left alone since long ago, where it is `claimed`.
    pub(crate) fn add(&mut self, set: WorkloadSet, replicas: usize, kind: Kind, claimed: Option<Timestamp>) {
        let name = match set {
            WorkloadSet::Canary => "legacy-canary",
            WorkloadSet::Primary => "legacy",
        };
        // What the Deployment controller does by default: a quarter may be away, and a quarter more be there.
        let (away, surge) = match kind {
            Kind::Works => (0, 0),
            Kind::Broken => (replicas, 0),
            Kind::Hangs => (replicas / 4, replicas.div_ceil(4)),
            Kind::Barren => (replicas, replicas.div_ceil(4)),
        };
        let facts = LegacyDeployment {
            namespace: "ns".to_owned(),
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            resource_version: "1".to_owned(),
            given: replicas,
            wrote: claimed.map(|_| replicas),
            claimed,
            claimed_again: false,
            applied: claimed.is_none(),
            set,
            deleting: false,
            available: replicas - away,
            unavailable: away + surge,
            terminating: 0,
            available_at: None,
            rolling: (surge > 0).then(|| Rolling {
                progressed: None,
                back_to: Some("before".to_owned()),
            }),
            set_back: None,
        };
        self.deployments.push(SimDeployment { facts, kind });
        self.deployments.sort_by_key(|deployment| deployment.facts.set);
        (self.config_map, self.marks) = (true, true);
    }

    /// The Python operator applies its Deployments.
    pub(crate) fn apply(&mut self, replicas: usize) {
        for deployment in &mut self.deployments {
            deployment.facts.given = replicas;
            deployment.facts.applied = true;
        }
    }

    /// As a pass reads it.
    pub(crate) fn facts(&self) -> Legacy {
        let over = self.deployments.iter().all(|deployment| deployment.facts.is_empty());
        let map = LegacyConfigMap {
            namespace: "ns".to_owned(),
            name: "legacy-map".to_owned(),
            uid: "uid-of-legacy-map".to_owned(),
            used_by: None,
        };
        Legacy {
            deployments: self
                .deployments
                .iter()
                .map(|deployment| deployment.facts.clone())
                .collect(),
            config_maps: (self.config_map && over).then_some(map).into_iter().collect(),
            has_marks: self.marks,
            ..Legacy::default()
        }
    }

    /// A second passes. Whether anything moved.
    pub(crate) fn step(&mut self) -> bool {
        let before = format!("{:?}", self.deployments);
        for SimDeployment { facts, kind } in &mut self.deployments {
            facts.terminating = 0;
            if *kind != Kind::Barren && facts.set_back.is_some() && facts.rolling.take().is_some() {
                facts.terminating = std::mem::take(&mut facts.unavailable);
            }
            if facts.rolling.is_some() && facts.given > 0 {
                // In proportion, so it may be one that serves.
                let surge = facts.given.div_ceil(4);
                while facts.shown() > facts.given + surge && facts.available > 0 {
                    facts.available -= 1;
                    facts.terminating += 1;
                }
                continue;
            }
            facts.rolling = None;
            while facts.shown() > facts.given {
                let goes = if facts.unavailable > 0 {
                    &mut facts.unavailable
                } else {
                    &mut facts.available
                };
                *goes -= 1;
                facts.terminating += 1;
            }
            if *kind != Kind::Broken {
                facts.available += std::mem::take(&mut facts.unavailable);
            }
            facts.unavailable += facts.given - facts.shown();
        }
        format!("{:?}", self.deployments) != before
    }

    /// A write of the operator.
    pub(crate) fn write(&mut self, action: &Action) {
        let uid = match action {
            Action::ClaimLegacy(claim) => &claim.uid,
            Action::ScaleLegacy(scale) => &scale.uid,
            Action::SetBackLegacy(back) => &back.uid,
            Action::DeleteLegacy { uid, .. } => {
                self.deployments.retain(|deployment| deployment.facts.uid != *uid);
                return;
            }
            Action::DeleteLegacyConfigMap { .. } => {
                self.config_map = false;
                return;
            }
            _ => {
                self.marks = false;
                return;
            }
        };
        for deployment in self
            .deployments
            .iter_mut()
            .filter(|deployment| deployment.facts.uid == *uid)
        {
            match action {
                Action::ClaimLegacy(claim) => {
                    deployment.facts.claimed = Some(claim.at);
                    deployment.facts.claimed_again = claim.again;
                    deployment.facts.wrote = Some(claim.replicas);
                    deployment.facts.applied = false;
                }
                Action::ScaleLegacy(scale) => {
                    deployment.facts.given = scale.to;
                    deployment.facts.wrote = Some(scale.to);
                }
                Action::SetBackLegacy(back) => deployment.facts.set_back = Some(back.at),
                _ => {}
            }
        }
    }
}

/// A write in short.
pub(crate) fn word(action: &Action) -> Option<String> {
    match action {
        Action::ClaimLegacy(claim) => Some(format!("claim:{}={}", claim.name, claim.replicas)),
        Action::ScaleLegacy(scale) => Some(format!("{}:{}>{}", scale.name, scale.from, scale.to)),
        Action::SetBackLegacy(back) => Some(format!("{}<{}", back.name, back.to)),
        Action::DeleteLegacy { name, .. } | Action::DeleteLegacyConfigMap { name, .. } => Some(format!("-{name}")),
        Action::RemoveLegacyMarks => Some("-marks".to_owned()),
        _ => None,
    }
}
