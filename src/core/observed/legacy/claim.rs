//! Whether a Deployment of the Python operator is left to this one.
//!
//! A claim takes off what the Python operator writes: of its releases of today an annotation, of earlier ones a label. When
//! that is back, somebody has applied the Deployment since. Must never say that a Deployment is held that was not left
//! alone for the grace.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Legacy, LegacyDeployment};
use crate::api::meta;
use crate::core::settings::later;
use crate::core::words::counted;

/// Whether a Deployment of the Python operator is left to this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claim {
    /// It is.
    #[default]
    Held,
    /// It has not been claimed.
    Due,
    /// It is not known yet: it has been left alone, but not for long enough.
    Settling {
        /// When that is long enough.
        until: Timestamp,
        /// Whether somebody had applied it before.
        again: bool,
    },
    /// Somebody else wrote it.
    Contested {
        /// When it is claimed again, to find out whether that was the last time.
        again: Timestamp,
    },
}

/// Whether what a claim takes off is there.
pub(super) fn is_applied(deployment: &ObjectMeta) -> bool {
    let annotations = deployment.annotations.as_ref();
    let labels = deployment.labels.as_ref();
    annotations.is_some_and(|all| all.contains_key(meta::ANNOTATION_LEGACY_OWNER_NAME))
        || labels.is_some_and(|all| all.contains_key(meta::LABEL_OWNER_UID))
}

impl LegacyDeployment {
    /// Whether it is left to this operator. It must have been left alone for `grace`.
    #[must_use]
    pub fn claim(&self, grace: SignedDuration, now: Timestamp) -> Claim {
        let Some(claimed) = self.claimed else { return Claim::Due };
        let until = later(claimed, grace);
        if self.deleting {
            Claim::Held
        } else if self.applied || self.wrote.is_some_and(|wrote| self.given > wrote) {
            Claim::Contested { again: until }
        } else if now < until {
            let again = self.claimed_again;
            Claim::Settling { until, again }
        } else {
            Claim::Held
        }
    }
}

impl Legacy {
    /// Whether the Deployments are left to this operator: of the claims the one that is the furthest from it.
    #[must_use]
    pub fn claim(&self, grace: SignedDuration, now: Timestamp) -> Claim {
        let claims = self.deployments.iter().map(|deployment| deployment.claim(grace, now));
        let rank = |claim: &Claim| match claim {
            Claim::Held => 0,
            Claim::Settling { again: false, .. } => 1,
            Claim::Due => 2,
            Claim::Settling { again: true, .. } => 3,
            Claim::Contested { .. } => 4,
        };
        claims.max_by_key(rank).unwrap_or_default()
    }

    /// Why the move stops, in words: somebody else runs a Deployment.
    #[must_use]
    pub fn other_operator(&self, grace: SignedDuration, now: Timestamp) -> Option<String> {
        self.deployments.iter().find_map(|deployment| {
            let what = deployment.in_words();
            let since = deployment
                .claimed
                .map(|claimed| claimed.to_string())
                .unwrap_or_default();
            match (deployment.claim(grace, now), deployment.wrote) {
                (Claim::Contested { .. }, Some(wrote)) if deployment.given > wrote => {
                    let given = counted(deployment.given, "replica");
                    Some(format!("{what} was set to {given} after this operator had set {wrote}"))
                }
                (Claim::Contested { .. }, _) => Some(format!("{what} was applied again after {since}")),
                (Claim::Settling { again: true, .. }, _) => Some(format!(
                    "{what} was applied again before {since}, and it may not have been the last time"
                )),
                _ => None,
            }
        })
    }
}
