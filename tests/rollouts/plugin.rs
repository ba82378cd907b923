//! The kubectl plugin against a real API server: each command does what it says, and prints what kubectl would do.

use std::process::{Command, Output};

use serde_json::json;
use testkit::{assets, children, users, workdir};

use super::bed::{Bed, condition, image, pipeline};

/// What came of a command.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

async fn outcome(bed: &Bed, mut command: Command) -> Ran {
    command.env("KUBECONFIG", bed.cluster.kubeconfig(users::ADMIN).unwrap());
    let ran = tokio::task::spawn_blocking(move || children::outcome(&command));
    ran.await.unwrap().unwrap().into()
}

/// The program with these arguments, in the namespace of the bed.
async fn streams(bed: &Bed, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
    command.args(arguments).args(["--namespace", &bed.namespace]);
    outcome(bed, command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_is_held_let_go_sent_back_and_undone_from_the_keyboard() {
    let bed = Bed::start("plugin", &[]).await;
    bed.apply(&[pipeline(&bed.namespace, "p", 3)]).await;
    let done = streams(&bed, &["status", "p", "--timeout=90s"]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("done: Ready"), "{}", done.stdout);
    let first = bed.pipeline("p").await["status"]["currentRevision"]
        .as_str()
        .unwrap()
        .to_owned();

    let paused = streams(&bed, &["pause", "spipe/p"]).await;
    let same = format!(
        "kubectl --namespace {} patch streamingpipeline p --type=merge --patch \
         '{{\"spec\":{{\"rollout\":{{\"paused\":true}}}}}}'\n",
        bed.namespace
    );
    assert_eq!((paused.code, paused.stdout), (Some(0), same));
    bed.edit("p", image("2")).await;
    let held = streams(&bed, &["status", "p", "--timeout=90s"]).await;
    assert_eq!(held.code, Some(3), "{}{}", held.stdout, held.stderr);
    assert_eq!(streams(&bed, &["resume", "p"]).await.code, Some(0));
    let done = streams(&bed, &["status", "p", "--timeout=90s"]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);

    let history = streams(&bed, &["history", "p"]).await;
    let lines: Vec<&str> = history.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", history.stdout);
    assert!(
        lines[1].starts_with(&first) && !lines[1].contains("never"),
        "{}",
        history.stdout
    );
    assert!(lines[2].contains(" current "), "{}", history.stdout);

    let undone = streams(&bed, &["undo", "p"]).await;
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(
        undone
            .stdout
            .contains(" patch streamingpipeline p --type=json --patch '["),
        "{}",
        undone.stdout
    );
    assert_eq!(streams(&bed, &["status", "p", "--timeout=90s"]).await.code, Some(0));
    let back = bed.pipeline("p").await;
    assert_eq!(back["status"]["currentRevision"], first.as_str());
    assert_eq!(back["spec"]["replicas"], json!(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_rollout_ends_the_wait_at_once_and_the_tree_says_why() {
    let bed = Bed::start("plugin-broken", &[]).await;
    bed.apply(&[pipeline(&bed.namespace, "p", 3)]).await;
    bed.until_ready("p").await;
    bed.edit(
        "p",
        json!({"spec": {"image_name": "registry.example/consumer:bad", "rollout": {"progressDeadlineSeconds": 3}}}),
    )
    .await;
    // Without a limit: that it ends is the point.
    let failed = streams(&bed, &["status", "p"]).await;
    assert_eq!(failed.code, Some(1), "{}{}", failed.stdout, failed.stderr);
    assert!(
        failed.stdout.contains("failed: ProgressDeadlineExceeded"),
        "{}",
        failed.stdout
    );

    let tree = streams(&bed, &["get", "p"]).await;
    assert!(tree.stdout.starts_with("p  "), "{}", tree.stdout);
    assert!(tree.stdout.contains("└─ primary  "), "{}", tree.stdout);
    assert!(
        tree.stdout.contains("ErrImagePull") || tree.stdout.contains("ImagePullBackOff"),
        "{}",
        tree.stdout
    );
    assert_eq!(tree.stdout.lines().count(), 5, "{}", tree.stdout);

    let aborted = streams(&bed, &["abort", "p"]).await;
    assert_eq!(aborted.code, Some(0), "{}", aborted.stderr);
    bed.until("p", "Ready", "False/RolledBack").await;
    let resumed = streams(&bed, &["resume", "p", "--dry-run"]).await;
    assert!(
        resumed.stdout.contains("streams.sentry.io/resume"),
        "{}",
        resumed.stdout
    );
    assert_eq!(condition(&bed.pipeline("p").await, "Ready")["reason"], "RolledBack");
    let none = streams(&bed, &["get", "other"]).await;
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_finds_it_as_a_plugin() {
    let bed = Bed::start("plugin-found", &[]).await;
    bed.apply(&[pipeline(&bed.namespace, "p", 1)]).await;
    bed.until_ready("p").await;
    let folder = workdir::workdir("plugin").unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_streaming-operator"), folder.join("kubectl-streams")).unwrap();
    let mut command = Command::new(assets::asset("kubectl").unwrap());
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", folder.display()));
    command.args(["streams", "status", "p", "--namespace", &bed.namespace, "--watch=false"]);
    let ran = outcome(&bed, command).await;
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("done: Ready"), "{}", ran.stdout);
}
