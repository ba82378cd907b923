//! Nothing stays behind a test: not a process, not a file.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testkit::children::{self, Running};
use testkit::control_plane::{ControlPlane, Options};
use testkit::wait::{self, Seen};
use testkit::workdir;
use testkit::world::Guard;

/// Set for the copy of this program that is to be killed: the file into which it writes what it has started.
const VICTIM: &str = "TESTKIT_VICTIM";

/// Starts this very test once more, in a process of its own, as the victim. Gives it, and what it has started: process
/// ids and names, and its folder.
async fn victim(of_test: &str) -> (Running, Vec<(u32, String)>, PathBuf) {
    let folder = workdir::workdir("victim").unwrap();
    let report = folder.join("report");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", of_test, "--nocapture"]).env(VICTIM, &report);
    let victim = Running::start("victim", &command, &folder.join("log")).unwrap();
    let text = wait::until("the victim's report", Duration::from_secs(120), async || {
        let text = std::fs::read_to_string(&report).unwrap_or_else(|_| victim.tail(20));
        Ok(Seen::when(text, |text| text.ends_with("end\n")))
    })
    .await
    .unwrap();
    let mut lines = text.lines();
    let root = PathBuf::from(lines.next().unwrap());
    let started = lines
        .filter_map(|line| line.split_once(' '))
        .map(|(id, name)| (id.parse().unwrap(), name.to_owned()));
    (victim, started.collect(), root)
}

/// What a victim does first: starts a control plane and writes down its processes.
async fn start_and_report(report: &Path) -> ControlPlane {
    let plane = ControlPlane::start(Options::api_server()).await.unwrap();
    let lines = plane
        .children()
        .iter()
        .map(|child| format!("{} {}\n", child.id(), child.name()));
    let text = format!(
        "{}\n{}end\n",
        workdir::root().unwrap().display(),
        lines.collect::<String>()
    );
    std::fs::write(report, text).unwrap();
    plane
}

/// Whether the process `id` is the program `name`. A zombie that nobody collects has no command line.
fn lives(id: u32, name: &str) -> bool {
    std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(name))
}

async fn assert_all_gone(started: &[(u32, String)], root: &Path) {
    wait::until(
        "the end of the servers and their files",
        Duration::from_secs(30),
        async || {
            let left: Vec<_> = started.iter().filter(|(id, name)| lives(*id, name)).collect();
            Ok(Seen::when((left, root.exists()), |(left, files)| {
                left.is_empty() && !files
            }))
        },
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn a_sigkill_leaves_no_server_and_no_file_behind() {
    if let Some(report) = std::env::var_os(VICTIM) {
        let _plane = start_and_report(Path::new(&report)).await;
        std::future::pending::<()>().await;
    }
    let (victim, started, root) = victim("a_sigkill_leaves_no_server_and_no_file_behind").await;
    let names: Vec<_> = started.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["kube-apiserver", "etcd"]);
    assert!(started.iter().all(|(id, name)| lives(*id, name)), "{started:?}");
    assert!(root.exists());

    victim.kill().unwrap();

    assert_all_gone(&started, &root).await;
}

#[tokio::test]
async fn a_panic_tells_the_world_and_leaves_no_server_and_no_file_behind() {
    if let Some(report) = std::env::var_os(VICTIM) {
        let plane = start_and_report(Path::new(&report)).await;
        let _guard = Guard::new(&plane, "default");
        panic!("as a failed assertion does");
    }
    let (victim, started, root) = victim("a_panic_tells_the_world_and_leaves_no_server_and_no_file_behind").await;

    let status = victim.wait(Duration::from_secs(60)).await.unwrap();

    let said = victim.tail(1000);
    assert_eq!(status.code(), Some(101), "{said}");
    // The guard told the state of the world before it went.
    assert!(
        said.contains("==== kubectl get pods") && said.contains("==== the last writes"),
        "{said}"
    );
    assert_all_gone(&started, &root).await;
}

#[tokio::test]
async fn a_child_lives_on_when_the_thread_that_started_it_ends() {
    let log = workdir::workdir("child").unwrap().join("log");
    let start = move || Running::start("sleep", Command::new("sleep").arg("600"), &log).unwrap();
    let child = std::thread::spawn(start).join().unwrap();
    let id = child.id();
    wait::until("the program", wait::DEADLINE, async || {
        Ok(Seen::when(lives(id, "sleep\x00600"), |lives| *lives))
    })
    .await
    .unwrap();
    assert_eq!(child.ended().unwrap(), None);

    drop(child);

    assert!(!lives(id, "sleep"));
}

#[tokio::test]
async fn a_child_that_is_told_to_end_may_do_so_in_its_own_way() {
    let log = workdir::workdir("child").unwrap().join("log");
    let script = "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.02; done";
    let child = Running::start("polite", Command::new("sh").args(["-c", script]), &log).unwrap();
    wait::until("the trap", wait::DEADLINE, async || {
        Ok(Seen::when(child.tail(1), |tail| tail == "up"))
    })
    .await
    .unwrap();

    child.terminate().unwrap();

    assert_eq!(child.wait(wait::DEADLINE).await.unwrap().code(), Some(7));
    assert_eq!(child.tail(5), "up\nbye");
    child.terminate().unwrap();
}

#[test]
fn a_command_that_fails_is_told_with_its_own_words() {
    let error = children::output(Command::new("sh").args(["-c", "echo no such thing >&2; exit 3"])).unwrap_err();
    assert!(error.to_string().contains("exit status: 3: no such thing"), "{error}");
}

#[tokio::test]
async fn a_condition_that_never_holds_is_told_with_what_was_seen_last() {
    let look = async || Ok(Seen::<()>::NotYet("2 of 3 Pods".to_owned()));
    let error = wait::until("3 Pods", Duration::from_millis(120), look)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "3 Pods: not within 120ms; last seen: 2 of 3 Pods");
}
