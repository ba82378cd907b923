//! What is to be done about the contents of the Secret: a function of them, the time and the settings. Pure.
//!
//! Must never ask for a new authority while there is one that works: each new one has to reach every webhook
//! configuration before it is trusted.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::contents::Contents;
use super::pair::{Certificate, Pair};

/// By how much a new certificate is valid before it was made, so that a client whose clock is behind takes it.
pub const BACKDATE: SignedDuration = SignedDuration::from_mins(5);

/// How long certificates live, and whom they name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// DNS names and IP addresses of the serving certificate; at least one.
    pub hosts: BTreeSet<String>,
    /// How long a serving certificate lives from when it was made.
    pub leaf_lifetime: Duration,
    /// How long an authority lives from when it was made.
    pub ca_lifetime: Duration,
    /// How long a new authority is trusted before it signs.
    pub ca_overlap: Duration,
}

/// One thing to do; what follows from it is asked for again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make an authority that signs at once, because there is none that could.
    NewAuthority(Why),
    /// Make the authority that will sign next, and let it be trusted.
    PrepareNext,
    /// Let the next authority sign.
    Promote(Why),
    /// Make a serving certificate.
    RenewLeaf(Why),
    /// Write the contents anew: something in them is broken or no longer needed.
    Tidy,
}

/// Why a step is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is none, or it cannot be read.
    Missing,
    /// It has expired.
    Expired,
    /// Two thirds of its life are over.
    Aged,
    /// The next authority has been trusted for long enough.
    Trusted,
    /// It was signed by another authority than the one that signs now.
    OtherAuthority,
    /// It is for other hosts.
    OtherHosts,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewAuthority(why) => write!(f, "new CA, because the one that signs {why}"),
            Self::PrepareNext => {
                f.write_str("next CA prepared, for it has to be trusted before the one that signs comes to its end")
            }
            Self::Promote(why) => write!(
                f,
                "the next CA signs from now on, because {}",
                match why {
                    Why::Trusted => "it has been trusted for long enough".to_owned(),
                    other => format!("the one before {other}"),
                }
            ),
            Self::RenewLeaf(why) => write!(f, "new serving certificate, because the one before {why}"),
            Self::Tidy => f.write_str("contents written anew, without what is broken or no longer needed"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "is missing or cannot be read",
            Self::Expired => "has expired",
            Self::Aged => "has lived two thirds of its life",
            Self::Trusted => "has been trusted for long enough",
            Self::OtherAuthority => "was signed by another CA",
            Self::OtherHosts => "is for other hosts",
        })
    }
}

/// The next step at `now`; `None`: keep everything as it is.
///
/// A certificate whose validity has not begun is left alone: then a clock is wrong, and a new certificate would hide
/// that from the others.
#[must_use]
pub fn next_step(contents: &Contents, now: Timestamp, policy: &Policy) -> Option<Step> {
    authority_step(contents, now, policy)
        .or_else(|| leaf_step(contents, now, policy))
        .or_else(|| needs_tidying(contents, now).then_some(Step::Tidy))
}

fn authority_step(contents: &Contents, now: Timestamp, policy: &Policy) -> Option<Step> {
    let next = contents.next.as_ref().map(Pair::certificate);
    let next = next.filter(|next| now <= next.not_after);
    let signing = contents.signing.as_ref().map(Pair::certificate);
    let unusable = match signing {
        None => Some(Why::Missing),
        Some(signing) if now > signing.not_after => Some(Why::Expired),
        Some(_) => None,
    };
    match (unusable, next) {
        (Some(why), Some(_)) => Some(Step::Promote(why)),
        (Some(why), None) => Some(Step::NewAuthority(why)),
        (None, Some(next)) => {
            let trusted_until_now = now.duration_since(made_at(next));
            (trusted_until_now >= signed(policy.ca_overlap)).then_some(Step::Promote(Why::Trusted))
        }
        (None, None) => signing
            .is_some_and(|signing| is_aged(signing, now) || wants_successor(signing, now, policy))
            .then_some(Step::PrepareNext),
    }
}

fn leaf_step(contents: &Contents, now: Timestamp, policy: &Policy) -> Option<Step> {
    let Some(leaf) = contents.leaf.as_ref().map(Pair::certificate) else {
        return Some(Step::RenewLeaf(Why::Missing));
    };
    let signing = contents.signing.as_ref().map(Pair::certificate);
    let why = if now > leaf.not_after {
        Why::Expired
    } else if !signing.is_some_and(|signing| leaf.names_issuer(signing)) {
        Why::OtherAuthority
    } else if leaf.hosts != policy.hosts {
        Why::OtherHosts
    } else if is_aged(leaf, now) {
        Why::Aged
    } else {
        return None;
    };
    Some(Step::RenewLeaf(why))
}

fn needs_tidying(contents: &Contents, now: Timestamp) -> bool {
    let expired = |certificate: &Certificate| now > certificate.not_after;
    let useless = |retired: &Certificate| expired(retired) || !contents.is_needed(retired, now);
    !contents.faults.is_empty()
        || contents.past_leaves.iter().any(expired)
        || contents.retired.iter().any(useless)
        || contents.next.as_ref().is_some_and(|next| expired(next.certificate()))
}

/// When one of our certificates was made.
pub(super) fn made_at(certificate: &Certificate) -> Timestamp {
    certificate
        .not_before
        .saturating_add(BACKDATE)
        .unwrap_or(certificate.not_before)
}

/// Whether two thirds of the life of a certificate are over.
fn is_aged(certificate: &Certificate, now: Timestamp) -> bool {
    let made = made_at(certificate);
    let life = certificate.not_after.duration_since(made);
    now.duration_since(made) >= life / 3 * 2
}

/// Whether an authority that is made only later could not be trusted for long enough before this one can no longer sign
/// a leaf of a whole life. Two thirds of a life are earlier unless the overlap or the leaf's life is long beside it.
fn wants_successor(signing: &Certificate, now: Timestamp, policy: &Policy) -> bool {
    let takes = signed(policy.ca_overlap).saturating_add(signed(policy.leaf_lifetime));
    signing.not_after.duration_since(now) <= takes
}

/// The longest that can be told, for a duration beyond that.
pub(super) fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

/// What the Secret ought to hold, given what was `found` in it and what this replica `remembers` of it: a Secret that
/// was deleted or damaged is put back as it was rather than begun anew, for then nobody has to trust a new authority.
#[must_use]
pub fn mended(found: &Contents, remembered: Option<&Contents>, now: Timestamp) -> Contents {
    let remembered = remembered.filter(|remembered| remembered.is_whole(now));
    match remembered {
        Some(remembered) if !found.is_whole(now) => remembered.clone(),
        _ => found.clone(),
    }
}

#[cfg(test)]
mod tests;
