//! The ways in which a leader is lost, and how it comes back as a follower.

use k8s_openapi::jiff::Timestamp;
use testkit::wait::{self, Seen};

use super::bed::Bed;

/// What happens to the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// SIGKILL.
    Killed,
    /// SIGTERM.
    Terminated,
    /// SIGSTOP, and SIGCONT when another leads: longer than the lease.
    Frozen,
    /// No request of it reaches the API server, until another leads.
    CutOff,
}

impl Loss {
    pub(crate) const ALL: [Self; 4] = [Self::Killed, Self::Terminated, Self::Frozen, Self::CutOff];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Killed => "SIGKILL",
            Self::Terminated => "SIGTERM",
            Self::Frozen => "SIGSTOP, SIGCONT after the next leader's acquire",
            Self::CutOff => "cut off from the API server",
        }
    }

    /// Does it to the replica `leader`; gives when.
    pub(crate) fn befall(self, bed: &Bed, leader: usize) -> Timestamp {
        let replica = &bed.replicas[leader];
        let at = Timestamp::now();
        match self {
            Self::Killed => replica.operator.kill9().unwrap(),
            Self::Terminated => replica.operator.terminate().unwrap(),
            Self::Frozen => replica.operator.process().pause().unwrap(),
            Self::CutOff => replica.proxy.cut(),
        }
        at
    }

    /// Brings the replica `lost` back, once another leads; waits until it follows.
    pub(crate) async fn mend(self, bed: &mut Bed, lost: usize) {
        match self {
            Self::Killed => {
                bed.replicas[lost].operator.wait().await.unwrap();
                return bed.start_again(lost).await;
            }
            Self::Terminated => {
                let ended = bed.replicas[lost].operator.wait().await.unwrap();
                assert_eq!(ended.code(), Some(0), "{}", bed.replicas[lost].operator.log_tail(30));
                return bed.start_again(lost).await;
            }
            Self::Frozen => bed.replicas[lost].operator.process().resume().unwrap(),
            Self::CutOff => bed.replicas[lost].proxy.restore(),
        }
        bed.replicas[lost].until_says_it_leads(false).await;
        bed.until_all_serve().await;
    }
}

/// Moves the wall clock of the leader an hour back and that of the follower an hour ahead, and waits until the lease was
/// renewed so often that it would have run out meanwhile; then sets both right. Fails when the lease changed hands.
pub(crate) async fn move_clocks(bed: &Bed, leader: usize, renewals: u64) {
    let renewed = || bed.replicas[leader].proxy.count("update", "leases");
    let before = renewed();
    bed.replicas[leader].move_clock(-3600);
    bed.replicas[1 - leader].move_clock(3600);
    // Our own certificate begins five minutes before it was made: an hour back it is not valid yet.
    let look = async || {
        let (code, text) = testkit::http::get(&bed.replicas[leader].operator.url("/readyz")).await?;
        Ok(Seen::when((code, text), |(code, text)| {
            *code == 503 && text.contains("not valid yet")
        }))
    };
    let noticed = wait::until("the clock to be back", wait::DEADLINE, look).await;
    let look = async || Ok(Seen::when(renewed(), |now| *now >= before + renewals));
    wait::until("renewals", wait::DEADLINE, look).await.unwrap();
    let holder = bed.holder().await.unwrap();
    for replica in &bed.replicas {
        replica.move_clock(0);
    }
    noticed.unwrap();
    assert!(bed.replicas[leader].is(&holder), "the lease went to {holder}");
    bed.until_all_serve().await;
}
