//! The life of the Secret's contents over years, step by step. Keys are random; everything else is written down.

use super::*;
use crate::certs::authority::bring_up_to_date;
use crate::certs::trust::{Distrust, verify};

const HOST: &str = "streaming-operator.ops.svc";

fn policy() -> Policy {
    Policy {
        hosts: [HOST.to_owned(), "10.0.0.7".to_owned()].into(),
        leaf_lifetime: hours(2160),
        ca_lifetime: hours(43_800),
        ca_overlap: hours(24),
    }
}

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

/// Hours after the beginning.
fn at(hours: i64) -> Timestamp {
    let beginning: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    beginning + SignedDuration::from_hours(hours)
}

fn updated(contents: Contents, hours: i64) -> (Contents, Vec<Step>) {
    bring_up_to_date(contents, at(hours), &policy()).expect("certificates are made")
}

/// Contents as made at hour 0.
fn fresh() -> Contents {
    updated(Contents::default(), 0).0
}

fn leaf(contents: &Contents) -> &Certificate {
    contents.leaf.as_ref().expect("a leaf").certificate()
}

fn is_trusted(contents: &Contents, bundle: &[u8], hours: i64) -> bool {
    verify(&[leaf(contents).der.clone()], bundle, HOST, at(hours)).is_ok()
}

#[test]
fn the_first_authority_signs_at_once() {
    let (contents, steps) = updated(Contents::default(), 0);
    assert_eq!(steps, [Step::NewAuthority(Why::Missing), Step::RenewLeaf(Why::Missing)]);
    assert!(contents.is_whole(at(0)));
    assert!(is_trusted(&contents, &contents.bundle_pem(), 0));
    assert_eq!(updated(contents.clone(), 0), (contents, vec![]));
}

#[test]
fn a_leaf_lives_90_days_and_is_renewed_at_two_thirds_of_that() {
    let contents = fresh();
    assert_eq!(leaf(&contents).not_after, at(2160));
    assert_eq!(updated(contents.clone(), 1439).1, []);
    let (renewed, steps) = updated(contents.clone(), 1440);
    assert_eq!(steps, [Step::RenewLeaf(Why::Aged)]);
    assert_eq!(renewed.signing, contents.signing);
    assert_eq!(leaf(&renewed).not_after, at(1440 + 2160));
}

#[test]
fn a_new_authority_is_trusted_for_24_hours_before_it_signs() {
    let (contents, _) = updated(fresh(), 29_199);
    let (prepared, steps) = updated(contents, 29_200);
    assert_eq!(steps, [Step::PrepareNext]);
    assert_eq!(prepared.bundle().count(), 2);
    assert!(leaf(&prepared).names_issuer(prepared.signing.as_ref().expect("it signs").certificate()));
    assert_eq!(updated(prepared.clone(), 29_223).1, []);
    let (promoted, steps) = updated(prepared.clone(), 29_224);
    assert_eq!(
        steps,
        [Step::Promote(Why::Trusted), Step::RenewLeaf(Why::OtherAuthority)]
    );
    assert_eq!(promoted.signing, prepared.next);
    assert!(
        is_trusted(&promoted, &prepared.bundle_pem(), 29_224),
        "by the bundle that was out for 24 hours"
    );
}

#[test]
fn an_old_authority_stays_trusted_until_the_last_leaf_it_signed_has_expired() {
    let (renewed_before, _) = updated(fresh(), 29_199);
    let (prepared, _) = updated(renewed_before.clone(), 29_200);
    let (promoted, _) = updated(prepared, 29_224);
    assert_eq!(promoted.bundle().count(), 2);
    assert!(
        is_trusted(&renewed_before, &promoted.bundle_pem(), 29_225),
        "a replica may still serve the old leaf"
    );
    let last_leaf_expires = 29_199 + 2160;
    let (later, _) = updated(promoted, last_leaf_expires);
    assert_eq!(later.bundle().count(), 2);
    let (after, steps) = updated(later, last_leaf_expires + 1);
    assert_eq!(steps, [Step::Tidy]);
    assert_eq!(after.bundle().count(), 1);
    assert_eq!(
        after.past_leaves.len(),
        1,
        "the one that was renewed in between has not expired"
    );
}

#[test]
fn an_expired_authority_is_replaced_at_once_by_the_next_one_or_a_new_one() {
    let (_, steps) = updated(fresh(), 43_801);
    assert_eq!(
        steps[..2],
        [Step::NewAuthority(Why::Expired), Step::RenewLeaf(Why::Expired)]
    );
    let (prepared, _) = updated(fresh(), 29_200);
    let (_, steps) = updated(prepared, 43_801);
    assert_eq!(steps[0], Step::Promote(Why::Expired));
}

#[test]
fn an_overlap_that_is_long_beside_the_authoritys_life_is_kept_all_the_same() {
    let policy = Policy {
        leaf_lifetime: hours(10),
        ca_lifetime: hours(60),
        ca_overlap: hours(24),
        ..policy()
    };
    let mut contents = Contents::default();
    let mut promotions = Vec::new();
    for minutes in (0..240 * 60).step_by(10) {
        let now = at(0) + SignedDuration::from_mins(minutes);
        let (next, steps) = bring_up_to_date(contents, now, &policy).expect("certificates are made");
        contents = next;
        let left = leaf(&contents).not_after.duration_since(now);
        assert!(
            left >= SignedDuration::from_hours(3),
            "{left} left after {minutes} minutes"
        );
        promotions.extend(steps.into_iter().filter(|step| matches!(step, Step::Promote(_))));
    }
    assert!(promotions.len() >= 7, "about one a day: {promotions:?}");
    assert!(
        promotions.iter().all(|step| *step == Step::Promote(Why::Trusted)),
        "{promotions:?}"
    );
}

#[test]
fn a_lost_signing_key_makes_the_next_authority_sign_although_it_is_new() {
    let (mut contents, _) = updated(fresh(), 29_200);
    contents.signing = None;
    assert_eq!(
        next_step(&contents, at(29_201), &policy()),
        Some(Step::Promote(Why::Missing))
    );
}

#[test]
fn other_hosts_want_another_leaf() {
    let moved = Policy {
        hosts: ["elsewhere.example".to_owned()].into(),
        ..policy()
    };
    assert_eq!(
        next_step(&fresh(), at(1), &moved),
        Some(Step::RenewLeaf(Why::OtherHosts))
    );
}

#[test]
fn a_leaf_never_outlives_its_authority() {
    let short = Policy {
        ca_lifetime: hours(100),
        ..policy()
    };
    let (contents, _) = bring_up_to_date(Contents::default(), at(0), &short).expect("certificates are made");
    assert_eq!(leaf(&contents).not_after, at(100));
}

#[test]
fn a_clock_behind_the_certificates_changes_nothing() {
    assert_eq!(updated(fresh(), -1000).1, []);
}

#[test]
fn what_is_written_is_read_back_as_it_was() {
    let (contents, _) = updated(updated(fresh(), 29_200).0, 29_224);
    assert_eq!(Contents::parse(&contents.to_data()), contents);
}

#[test]
fn a_damaged_part_costs_only_itself() {
    let contents = fresh();
    let mut data = contents.to_data();
    data.remove("tls.key");
    let damaged = Contents::parse(&data);
    assert_eq!(damaged.faults, ["tls.key: is missing"]);
    let (repaired, steps) = updated(damaged, 1);
    assert_eq!(steps, [Step::RenewLeaf(Why::Missing), Step::Tidy]);
    assert_eq!(repaired.signing, contents.signing);
    assert!(repaired.is_whole(at(1)));
}

#[test]
fn every_kind_of_damage_is_named_and_repaired() {
    let mut other = fresh().to_data();
    for (key, value, fault) in [
        (
            "tls.crt",
            "x",
            "tls.crt: no certificate could be read: it holds no PEM block of a certificate",
        ),
        ("tls.key", "x", "tls.key: no private key could be read: no items found"),
        (
            "ca.crt",
            "x",
            "ca.crt: no certificate could be read: it holds no PEM block of a certificate",
        ),
        (
            "past-leaves.crt",
            "x",
            "past-leaves.crt: no certificate could be read: it holds no PEM block of a certificate",
        ),
    ] {
        let mut data = fresh().to_data();
        data.insert(key.to_owned(), k8s_openapi::ByteString(value.into()));
        let damaged = Contents::parse(&data);
        assert_eq!(damaged.faults[0], fault);
        assert!(updated(damaged, 1).0.is_whole(at(1)), "{key}");
    }
    let foreign_key = other.remove("tls.key").expect("a key");
    let mut data = fresh().to_data();
    data.insert("tls.key".to_owned(), foreign_key);
    let faults = Contents::parse(&data).faults;
    assert!(
        faults[0].starts_with("tls.key: the private key cannot be used with the certificate"),
        "{faults:?}"
    );
}

#[test]
fn a_deleted_or_damaged_secret_is_put_back_as_it_was() {
    let contents = fresh();
    assert_eq!(mended(&Contents::default(), Some(&contents), at(1)), contents);
    let mut foreign = contents.clone();
    foreign.leaf = fresh().leaf;
    assert_eq!(
        mended(&foreign, Some(&contents), at(1)),
        contents,
        "a leaf by nobody we know is damage"
    );
    let (newer, _) = updated(contents.clone(), 1440);
    assert_eq!(
        mended(&newer, Some(&contents), at(1441)),
        newer,
        "what another leader wrote stays"
    );
    assert_eq!(
        mended(&Contents::default(), Some(&contents), at(2161)),
        Contents::default(),
        "expired is of no use"
    );
}

#[test]
fn a_certificate_is_refused_for_another_host_by_another_authority_and_out_of_time() {
    let contents = fresh();
    let chain = [leaf(&contents).der.clone()];
    let bundle = contents.bundle_pem();
    assert_eq!(verify(&chain, &bundle, "10.0.0.7", at(0)), Ok(()));
    let refused = |result: Result<(), Distrust>| matches!(result, Err(Distrust::Refused(_)));
    assert!(refused(verify(&chain, &bundle, "other.ops.svc", at(0))));
    assert!(refused(verify(&chain, &fresh().bundle_pem(), HOST, at(0))));
    assert!(refused(verify(&chain, &bundle, HOST, at(2161))));
    assert!(refused(verify(&chain, &bundle, HOST, at(-1))));
    assert_eq!(verify(&[], &bundle, HOST, at(0)), Err(Distrust::NothingServed));
    assert!(matches!(verify(&chain, b"", HOST, at(0)), Err(Distrust::Bundle(_))));
}

#[test]
fn no_key_is_ever_printed() {
    let text = format!("{:?}", fresh());
    assert!(!text.contains("PRIVATE") && !text.contains("key_pem"), "{text}");
}
