//! Makes authorities and serving certificates (ECDSA P-256), and takes the steps that [`super::due`] asks for.
//!
//! The clock is an argument; only the keys are random. Must never reach outside the process.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PublicKeyData,
};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::contents::Contents;
use super::due::{BACKDATE, Policy, Step, next_step, signed};
use super::pair::{Certificate, Pair, PairFault};

/// Most steps that can follow from one another: a new authority or a promotion, the next one, a leaf, tidying; one to
/// spare.
const STEPS_MAX: usize = 5;

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityFault {
    /// The certificate could not be built or signed (a host that is no DNS name, for one).
    #[error("a certificate cannot be made: {0}")]
    Make(#[from] rcgen::Error),
    /// A time that no certificate can hold.
    #[error("{0} is outside the times that a certificate can hold")]
    Time(Timestamp),
    /// What was made cannot be read back.
    #[error("a new certificate cannot be read back: {0}")]
    ReadBack(#[from] PairFault),
}

/// Takes every step that is due at `now`. Gives the new contents and the steps taken, in order; no step: nothing is to
/// be written.
pub fn bring_up_to_date(
    mut contents: Contents,
    now: Timestamp,
    policy: &Policy,
) -> Result<(Contents, Vec<Step>), AuthorityFault> {
    let mut taken = Vec::new();
    while let Some(step) = next_step(&contents, now, policy) {
        if taken.len() == STEPS_MAX {
            break;
        }
        contents = take(contents, &step, now, policy)?;
        taken.push(step);
    }
    Ok((contents, taken))
}

fn take(mut contents: Contents, step: &Step, now: Timestamp, policy: &Policy) -> Result<Contents, AuthorityFault> {
    let new_authority = || new_authority(now, signed(policy.ca_lifetime));
    match step {
        Step::NewAuthority(_) => {
            retire_signing(&mut contents);
            contents.signing = Some(new_authority()?);
        }
        Step::PrepareNext => contents.next = Some(new_authority()?),
        Step::Promote(_) => {
            retire_signing(&mut contents);
            contents.signing = contents.next.take();
        }
        Step::RenewLeaf(_) => {
            if let Some(signing) = &contents.signing {
                let leaf = new_leaf(signing, &policy.hosts, now, signed(policy.leaf_lifetime))?;
                let past = contents.leaf.replace(leaf);
                contents.past_leaves.extend(past.map(|past| past.certificate().clone()));
            }
        }
        Step::Tidy => tidy(&mut contents, now),
    }
    Ok(contents)
}

fn retire_signing(contents: &mut Contents) {
    let signing = contents.signing.take();
    contents.retired.extend(signing.map(|pair| pair.certificate().clone()));
}

fn tidy(contents: &mut Contents, now: Timestamp) {
    contents.faults.clear();
    contents.past_leaves.retain(|leaf| now <= leaf.not_after);
    contents.next = contents.next.take().filter(|next| now <= next.certificate().not_after);
    let retired = std::mem::take(&mut contents.retired);
    let needed = |retired: &Certificate| now <= retired.not_after && contents.is_needed(retired, now);
    contents.retired = retired.into_iter().filter(needed).collect();
}

/// An authority that lives for `lifetime` from `now`. Its name holds a digest of its key, so that no two have the same.
pub fn new_authority(now: Timestamp, lifetime: SignedDuration) -> Result<Pair, AuthorityFault> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.not_before = certificate_time(earlier(now, BACKDATE))?;
    params.not_after = certificate_time(later(now, lifetime))?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    let digest = Sha256::digest(key.der_bytes());
    let id = digest
        .iter()
        .take(8)
        .fold(0_u64, |id, byte| (id << 8) | u64::from(*byte));
    params
        .distinguished_name
        .push(DnType::CommonName, format!("streaming-operator CA {id:016x}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = params.self_signed(&key)?;
    Ok(Pair::parse(
        certificate.pem().as_bytes(),
        key.serialize_pem().as_bytes(),
    )?)
}

/// A serving certificate for `hosts`, signed by `authority`, that lives for `lifetime` from `now`, but not longer than
/// its authority.
pub fn new_leaf(
    authority: &Pair,
    hosts: &BTreeSet<String>,
    now: Timestamp,
    lifetime: SignedDuration,
) -> Result<Pair, AuthorityFault> {
    let issuer_key = String::from_utf8_lossy(authority.key_pem());
    let issuer = Issuer::from_ca_cert_der(&authority.certificate().der, KeyPair::from_pem(&issuer_key)?)?;
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(hosts.iter().cloned().collect::<Vec<_>>())?;
    params.not_before = certificate_time(earlier(now, BACKDATE).max(authority.certificate().not_before))?;
    params.not_after = certificate_time(later(now, lifetime).min(authority.certificate().not_after))?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "streaming-operator webhook");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Pair::parse(
        certificate.pem().as_bytes(),
        key.serialize_pem().as_bytes(),
    )?)
}

fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_sub(by).unwrap_or(time)
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(time)
}

fn certificate_time(time: Timestamp) -> Result<OffsetDateTime, AuthorityFault> {
    OffsetDateTime::from_unix_timestamp(time.as_second()).map_err(|_| AuthorityFault::Time(time))
}
