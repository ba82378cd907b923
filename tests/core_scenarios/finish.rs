//! The end of a scenario: everything that is under way happens, and then the pipeline is as it is wanted and nothing is
//! written any more.

use jiff::SignedDuration;

use crate::cluster::{Quality, quality};
use crate::rng::Rng;
use crate::world::{World, revision};

/// A rollout of the largest pipeline here takes fewer passes than this.
const PASSES_MAX: usize = 600;
/// Longer than the deadline, the graces and the longest back-off together.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_hours(2);

/// Lets everything happen that is under way, until nothing is and time alone changes nothing any more. A revision that
/// does not work is tried again for ever; after some hours of that it is as settled as it gets.
pub(crate) fn settle(world: &mut World, rng: &mut Rng) {
    let start = world.cluster.now;
    for _ in 0..PASSES_MAX {
        world.find_unanswered();
        while world.cluster.deliver(&mut world.ledger, rng) > 0 {}
        let pass = world.pass(None, rng);
        let names: Vec<String> = world.cluster.pods.keys().cloned().collect();
        let moved = names.iter().filter(|name| world.cluster.kubelet(name)).count();
        if moved > 0 || pass.writes > 0 {
            world.cluster.pass_time(1);
            continue;
        }
        let Some(after) = pass.wake_after else { return };
        world.cluster.now += after;
        let update = world.spec.revision.clone().expect("a revision");
        if world.cluster.now > start + SETTLED_AFTER && quality(update.as_str()) != Quality::Good {
            return;
        }
    }
    let from = world.log.len().saturating_sub(12);
    panic!("not settled after {PASSES_MAX} passes: {:#?}", world.log.get(from..));
}

/// Every wanted Pod is there, of this revision and Ready, and nothing else; the status says so, and nothing is to be done.
pub(crate) fn assert_final(world: &World, digit: char) {
    let wanted = usize::from(world.spec.total());
    let expected = revision(digit);
    let pods: Vec<_> = world.pods().collect();
    let good = pods
        .iter()
        .filter(|pod| pod.owner == world.uid && pod.is_ready() && pod.revision == expected.as_str())
        .count();
    assert_eq!(
        (good, pods.len()),
        (wanted, wanted),
        "Pods of revision {digit}, and all: {pods:#?}"
    );
    let ready = world
        .status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
        .expect("Ready");
    assert_eq!(ready.status, "True", "{ready:?}");
    if wanted > 0 {
        assert_eq!(world.status.current_revision.as_deref(), Some(expected.as_str()));
    }
    assert_eq!(world.decision().actions, Vec::new(), "nothing is left to do");
    assert_eq!(world.ledger.unseen().count(), 0, "every own write has been seen");
}
