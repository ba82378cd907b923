//! A rolling restart, as of an upgrade, while requests go on.

use testkit::control_plane::{Options, Shared};
use tokio::sync::Mutex;

use super::bed::Bed;
use super::load::Load;
use super::size;

/// The webhook configurations have one name, so the tests that share this control plane take turns.
pub(super) static CLUSTER: Shared = Shared::new(Options::api_server());
pub(super) static TURN: Mutex<()> = Mutex::const_new(());

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_under_load_refuses_nobody() {
    let _turn = TURN.lock().await;
    // Twice as long as it takes until the balancer sends no more connections here.
    let mut bed = Bed::start(CLUSTER.get().await.unwrap(), &["--shutdown-delay=2s"]).await;
    let load = Load::start(&bed).await;
    let restarts = size("STREAMS_TEST_RESTARTS", 1);
    for _ in 0..restarts {
        for index in 0..bed.replicas.len() {
            let replica = &bed.replicas[index];
            replica.operator.terminate().unwrap();
            let ended = replica.operator.wait().await.unwrap();
            assert_eq!(ended.code(), Some(0), "{}", replica.operator.log_tail(30));
            bed.start_again(index).await;
        }
    }
    load.judge(&format!("{restarts} rolling restarts of two replicas"));
}
