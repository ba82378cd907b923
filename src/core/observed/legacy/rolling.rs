//! A rolling update in which a Deployment of the Python operator was left.
//!
//! Until it ends the Deployment has Pods of two templates, and more of them than its number (`maxSurge`). When its number
//! changes, the Deployment controller takes Pods off both templates in proportion (k8s.io/kubernetes
//! pkg/controller/deployment/sync.go, `scale`), so one that serves may go while one that never will stays. So nothing is
//! taken off before the end. Must never guess that an update has ended: its controller says so.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::LegacyDeployment;
use crate::core::settings::later;

/// Annotation of the Deployment controller on a Deployment and on its `ReplicaSet`s: the number of the template.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// Condition of a Deployment whose `lastUpdateTime` is when its rolling update last got on.
const PROGRESSING: &str = "Progressing";

/// A rolling update that has not come to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rolling {
    /// When it last got on; `None` when its controller does not say.
    pub progressed: Option<Timestamp>,
    /// The `ReplicaSet` of an earlier template of which the most Pods are available; where no Pod of the Deployment is, that
    /// which is to have the most. `None` when only Pods of its own template are available.
    pub back_to: Option<String>,
}

/// How far a rolling update of a Deployment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update<'a> {
    /// There is none, or nothing of it matters any more.
    Over,
    /// It may come to its end.
    Runs {
        /// When it is looked at again, if it does not get on.
        until: Timestamp,
    },
    /// It hangs, and can be set back to this `ReplicaSet` of an earlier template.
    HangsBefore(&'a str),
    /// It was set back and hangs again, so not one of the Pods of that template became available, and none is.
    Barren,
    /// It hangs, and neither is so.
    Hangs,
}

impl Rolling {
    /// Whether a Deployment has Pods of an earlier template than its own.
    #[must_use]
    pub fn is_in(deployment: &Deployment) -> bool {
        let status = deployment.status.as_ref();
        let count = |number: Option<i32>| number.unwrap_or_default();
        status.is_some_and(|status| count(status.replicas) > count(status.updated_replicas))
    }

    /// Of a Deployment, the `ReplicaSet`s of its namespace, and those of its Pods that are available. `None` when no update
    /// is under way.
    pub(super) fn read(deployment: &Deployment, sets: &[ReplicaSet], available: &[&Pod]) -> Option<Self> {
        if !Self::is_in(deployment) {
            return None;
        }
        let uid = deployment.metadata.uid.as_ref();
        let own = sets
            .iter()
            .filter(|set| owner(&set.metadata).map(|(uid, _)| uid) == uid);
        let own: Vec<&ReplicaSet> = own.collect();
        let has_pods = |set: &&&ReplicaSet| set.spec.as_ref().is_some_and(|spec| spec.replicas != Some(0));
        if own.iter().filter(has_pods).count() == 1 {
            // A paused one whose template was changed: what is taken off goes from the only set there is.
            return None;
        }
        let newest = own.iter().filter_map(|set| revision(&set.metadata)).max();
        let mut serving: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, name) in available.iter().filter_map(|pod| owner(&pod.metadata)) {
            *serving.entry(name).or_default() += 1;
        }
        let earlier = own.iter().filter(|set| revision(&set.metadata) < newest);
        let earlier = earlier.filter_map(|set| {
            let name = set.metadata.name.as_deref()?;
            let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
            let serving = serving.get(name).copied().unwrap_or_default();
            let is_better = if available.is_empty() { wanted > 0 } else { serving > 0 };
            is_better.then_some((serving, wanted, revision(&set.metadata), name))
        });
        let conditions = deployment
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let mut progressing = conditions.filter(|condition| condition.type_ == PROGRESSING);
        Some(Self {
            progressed: progressing
                .next()
                .and_then(|condition| condition.last_update_time.as_ref())
                .map(|time| time.0),
            back_to: earlier.max().map(|(_, _, _, name)| name.to_owned()),
        })
    }
}

impl LegacyDeployment {
    /// How far a rolling update of it is. One that has not got on for `grace` hangs.
    #[must_use]
    pub fn update(&self, grace: SignedDuration, now: Timestamp) -> Update<'_> {
        let Some(rolling) = self.rolling.as_ref().filter(|_| self.given > 0) else {
            return Update::Over;
        };
        let last = [rolling.progressed, self.set_back, self.claimed]
            .into_iter()
            .flatten()
            .max();
        let until = last.map_or(now, |last| later(last, grace));
        match &rolling.back_to {
            _ if now < until => Update::Runs { until },
            Some(set) if self.set_back.is_none() => Update::HangsBefore(set),
            _ if self.available == 0 && self.set_back.is_some() => Update::Barren,
            _ => Update::Hangs,
        }
    }
}

/// Uid and name of the object that controls this one.
fn owner(metadata: &ObjectMeta) -> Option<(&String, &str)> {
    let mut owners = metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some((&owner.uid, &owner.name))
}

fn revision(metadata: &ObjectMeta) -> Option<u64> {
    metadata.annotations.as_ref()?.get(REVISION)?.parse().ok()
}
