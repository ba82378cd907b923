//! Which of the objects that we made belong to no pipeline any more, and which of those may be removed.
//!
//! Between two namespaces no garbage collector follows an owner, and `--cascade=orphan` or a restore from backup leaves
//! Pods behind in one: consumers that nobody asks for and that read a partition of somebody's. An error here deletes
//! running consumers, so an object is kept unless everything speaks against it. Must never find an orphan in what could
//! not be asked.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::collision::{NameSet, PipelineId};
use super::settings::later;

/// Most Pods that one sweep removes; more at once look like a mistake of ours or of somebody who deleted a CRD.
const PODS_MAX: usize = 10;
/// And no more than one in so many of all Pods that we manage.
const ONE_IN: usize = 10;

/// The kinds that are swept. ControllerRevisions lie beside their pipeline, where the garbage collector follows the
/// owner, and run nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagedKind {
    /// A Pod.
    Pod,
    /// A ConfigMap.
    ConfigMap,
}

impl ManagedKind {
    /// `kind` of the object.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::ConfigMap => "ConfigMap",
        }
    }
}

/// An object with our managed-by label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Managed {
    /// What it is.
    pub kind: ManagedKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Uid of its pipeline, from the label.
    pub owner_uid: Option<String>,
    /// Its pipeline, from the annotations; `None` when one of them is missing.
    pub owner: Option<PipelineId>,
}

impl Managed {
    /// For people: `Pod ingest/checkout-0-1`.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{} {}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}

/// What a live look at a pipeline found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerFound {
    /// The API server says that there is no such pipeline: 404 for the object, not for its kind.
    Gone,
    /// There is one.
    Lives {
        /// Its uid.
        uid: String,
        /// The names that it can take; `None` when its spec cannot be read.
        names: Option<NameSet>,
    },
    /// It could not be asked, and why: 403, 5xx, no answer, a 404 for the kind.
    Unknown(String),
}

/// What objects are judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Why the CRD of pipelines is not known to be Established, if so: then no absence of a pipeline means anything.
    pub crd_fault: Option<String>,
    /// Whose pipelines we look after; empty for all namespaces.
    pub watch_namespaces: BTreeSet<String>,
    /// The pipelines that were looked for.
    pub owners: BTreeMap<PipelineId, OwnerFound>,
}

impl Facts {
    /// Whether we look after pipelines of that namespace.
    #[must_use]
    pub fn watches(&self, namespace: &str) -> bool {
        self.watch_namespaces.is_empty() || self.watch_namespaces.contains(namespace)
    }
}

/// What is found of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Its pipeline lives.
    Owned,
    /// Its pipeline was deleted and made again under its name, and the new one replaces it within its budget.
    Predecessor,
    /// Its pipeline is gone.
    Orphan,
    /// It does not say whose it is.
    Unnamed,
    /// Its pipeline is in a namespace that another operator looks after, or none.
    Unwatched,
    /// Whether its pipeline lives could not be asked, and why.
    Unknown(String),
}

impl Finding {
    /// Its name in the output of `orphans`; an API.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Owned => "owned",
            Self::Predecessor => "predecessor",
            Self::Orphan => "orphan",
            Self::Unnamed => "unnamed",
            Self::Unwatched => "unwatched",
            Self::Unknown(_) => "unknown",
        }
    }

    /// For people, of an object whose pipeline is `owner`.
    #[must_use]
    pub fn in_words(&self, object: &Managed) -> String {
        let owner = match &object.owner {
            Some(owner) => format!("{}/{}", owner.namespace, owner.name),
            None => "?".to_owned(),
        };
        let uid = object.owner_uid.as_deref().unwrap_or("?");
        match self {
            Self::Owned => format!("of pipeline {owner}"),
            Self::Predecessor => format!("of an earlier pipeline {owner}; the one of that name now replaces it"),
            Self::Orphan => format!("its pipeline {owner} (uid {uid}) is gone"),
            Self::Unnamed => {
                "lacks the label owner-uid or the annotations owner-name and owner-namespace: nothing says whose it is"
                    .to_owned()
            }
            Self::Unwatched => format!("the namespace of its pipeline {owner} is not watched"),
            Self::Unknown(why) => format!("whether its pipeline {owner} lives is not known: {why}"),
        }
    }
}

/// Judges one object.
#[must_use]
pub fn judge(object: &Managed, facts: &Facts) -> Finding {
    let (Some(owner), Some(owner_uid)) = (&object.owner, &object.owner_uid) else {
        return Finding::Unnamed;
    };
    if !facts.watches(&owner.namespace) {
        return Finding::Unwatched;
    }
    if let Some(fault) = &facts.crd_fault {
        return Finding::Unknown(fault.clone());
    }
    match facts.owners.get(owner) {
        None => Finding::Unknown("it was not asked about".to_owned()),
        Some(OwnerFound::Unknown(why)) => Finding::Unknown(why.clone()),
        Some(OwnerFound::Gone) => Finding::Orphan,
        Some(OwnerFound::Lives { uid, .. }) if uid == owner_uid => Finding::Owned,
        Some(OwnerFound::Lives { names: None, .. }) => {
            Finding::Unknown("the spec of the pipeline that has its name now cannot be read".to_owned())
        }
        // Its ConfigMaps are the new one's to remove, whatever they are called.
        Some(OwnerFound::Lives { names: Some(names), .. }) => {
            let is_replaced = object.kind == ManagedKind::ConfigMap || names.holds_pod(&object.namespace, &object.name);
            if is_replaced {
                Finding::Predecessor
            } else {
                Finding::Orphan
            }
        }
    }
}

/// Since when objects, by their uid, have been orphans in every sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Since(BTreeMap<String, Timestamp>);

/// What follows from a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// To be removed.
    pub remove: Vec<Managed>,
    /// Would be removed, but are too many at once: a person has to.
    pub refused: Vec<Managed>,
    /// For the next sweep.
    pub since: Since,
}

/// Sweeps at `now`: of the orphans among `findings` those that were orphans for `grace` already go, unless too many Pods
/// would. `managed_pods`: how many Pods there are that we made, orphans included.
#[must_use]
pub fn sweep(
    findings: &[(Managed, Finding)],
    before: &Since,
    managed_pods: usize,
    grace: SignedDuration,
    now: Timestamp,
) -> Sweep {
    let orphans = findings.iter().filter(|(_, finding)| *finding == Finding::Orphan);
    let mut sweep = Sweep::default();
    for (object, _) in orphans {
        let since = before.0.get(&object.uid).copied().unwrap_or(now);
        sweep.since.0.insert(object.uid.clone(), since);
        // A clock that was put back in between only makes it wait.
        if before.0.contains_key(&object.uid) && later(since, grace) <= now {
            sweep.remove.push(object.clone());
        }
    }
    if is_too_much(&sweep.remove, managed_pods) {
        sweep.refused = std::mem::take(&mut sweep.remove);
    }
    sweep
}

/// Whether so many Pods of `managed_pods` are more than one sweep removes.
#[must_use]
pub fn is_too_much(objects: &[Managed], managed_pods: usize) -> bool {
    let pods = objects.iter().filter(|object| object.kind == ManagedKind::Pod).count();
    pods > PODS_MAX || pods.saturating_mul(ONE_IN) > managed_pods
}

#[cfg(test)]
mod tests;
