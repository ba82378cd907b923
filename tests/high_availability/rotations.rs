//! Certificates rotate while requests go on.

use std::collections::BTreeMap;

use testkit::control_plane::{Options, Shared};
use testkit::wait::{self, Seen};

use super::bed::Bed;
use super::load::{Load, Tally, Way};
use super::size;

static CLUSTER: Shared = Shared::new(Options::api_server());

/// A leaf is renewed after 8 s of its 12, which leaves 4 s in which a slow machine may bring it to all replicas; a CA is
/// trusted for 4 s before it signs.
const LIFETIMES: [&str; 2] = ["--leaf-lifetime=12s", "--ca-overlap=4s"];

/// One rotation of the leaf, as clients saw it.
struct Rotation {
    before: String,
    after: String,
    handshakes: usize,
    /// Requests on connections that were made under each CA, from this rotation to the next.
    by_ca: BTreeMap<String, usize>,
    through_the_api_server: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_rotate_under_load_and_nobody_is_refused() {
    let leaves = size("STREAMS_TEST_ROTATIONS", 2);
    // A CA of 24 s is followed by another after 12 s, and one of 48 s after 36 s: at about every fourth leaf.
    let (authorities, ca_lifetime) = if leaves >= 10 {
        (3, "--ca-lifetime=48s")
    } else {
        (1, "--ca-lifetime=24s")
    };
    let flags = [LIFETIMES[0], LIFETIMES[1], ca_lifetime];
    let bed = Bed::start(CLUSTER.get().await.unwrap(), &flags).await;
    let load = Load::start(&bed).await;
    let look = async || {
        let rotations = rotations(&load.tally());
        let seen = (rotations.len(), distinct_authorities(&load.tally()) - 1);
        Ok(Seen::when(seen, |seen| seen.0 >= leaves && seen.1 >= authorities))
    };
    wait::until("the rotations", wait::DEADLINE * 5, look).await.unwrap();
    for (number, rotation) in rotations(&load.tally()).iter().enumerate() {
        let by_ca: Vec<String> = rotation
            .by_ca
            .iter()
            .map(|(ca, n)| format!("{n} under CA {ca}"))
            .collect();
        println!(
            "rotation {}: served serial {} -> {}; {} new handshakes; requests: {}, {} through the API server",
            number + 1,
            rotation.before,
            rotation.after,
            rotation.handshakes,
            by_ca.join(", "),
            rotation.through_the_api_server,
        );
    }
    println!("CAs that signed: {}", distinct_authorities(&load.tally()));
    load.judge("rotations");
    assert_eq!(
        load.tally().kept_connections,
        1,
        "one connection is kept over all of them"
    );
}

fn distinct_authorities(tally: &Tally) -> usize {
    let mut authorities: Vec<_> = tally
        .answered
        .iter()
        .filter_map(|answered| Some(&answered.leaf.as_ref()?.ca))
        .collect();
    authorities.sort();
    authorities.dedup();
    // A tally without any is one of no rotation.
    authorities.len().max(1)
}

fn rotations(tally: &Tally) -> Vec<Rotation> {
    let mut rotations: Vec<Rotation> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for answered in &tally.answered {
        let Some(leaf) = &answered.leaf else {
            if let Some(rotation) = rotations.last_mut() {
                rotation.through_the_api_server += 1;
            }
            continue;
        };
        if answered.way == Way::NewConnection && !seen.contains(&leaf.serial) {
            if let Some(before) = seen.last() {
                rotations.push(Rotation {
                    before: before.clone(),
                    after: leaf.serial.clone(),
                    handshakes: 0,
                    by_ca: BTreeMap::new(),
                    through_the_api_server: 0,
                });
            }
            seen.push(leaf.serial.clone());
        }
        if let Some(rotation) = rotations.last_mut() {
            rotation.handshakes += usize::from(answered.way == Way::NewConnection);
            *rotation.by_ca.entry(leaf.ca.clone()).or_default() += 1;
        }
    }
    rotations
}
