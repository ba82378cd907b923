//! `streaming-operator check` of a release: nothing to say against one that works, and every fault of one that does not.

use serde_json::Value;
use testkit::wait::{self, Seen};

use crate::helm;
use crate::program::{Ran, run};
use crate::replica::{Release, Replica};
use crate::rights::cluster;

/// A release of one namespace, with its operator. kwok does not run here: no replica of the Deployment is ever available.
async fn installed(name: &str) -> (Release<'static>, Replica) {
    let cluster = cluster().await;
    let namespace = cluster.namespace("checked").await.unwrap();
    let release = Release::new(cluster, &namespace, name);
    let values = format!("crds.install=false,watchNamespaces={{{namespace}}}");
    let chart = helm::chart();
    release
        .helm("install", chart.to_str().unwrap(), &["--set", &values])
        .await;
    release.lead_here().await;
    let operator = release.start(None).await;
    operator.ready().await;
    (release, operator)
}

async fn check(release: &Release<'_>) -> Ran {
    run(release.cluster, &["check", "--namespace", &release.namespace]).await
}

/// Runs `check` until it says so.
async fn until_told(release: &Release<'_>, word: &str, part: &str, text: &str) -> Ran {
    wait::until(text, wait::DEADLINE, async || {
        let ran = check(release).await;
        Ok(if ran.lines(word, part).iter().any(|line| line.contains(text)) {
            Seen::Yes(ran)
        } else {
            Seen::NotYet(ran.stdout + &ran.stderr)
        })
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_operator_that_works_every_part_is_ok() {
    let (release, operator) = installed("fine-streaming-operator").await;
    let ran = until_told(&release, "ok", "leader", "renewed").await;
    let wrong: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("WRONG")).collect();
    let [only] = wrong[..] else { panic!("{}", ran.stdout) };
    assert!(only.contains("0 of 2 replicas are available"), "{only}");
    for part in [
        "versions",
        "crds",
        "rights",
        "overlap",
        "leader",
        "webhook",
        "certificate",
        "admission",
    ] {
        assert!(!ran.lines("ok", part).is_empty(), "{part}: {}", ran.stdout);
    }
    let rights = ran.lines("ok", "rights").remove(0);
    let account = format!("ServiceAccount {}/fine-streaming-operator has all", release.namespace);
    assert!(rights.starts_with(&account), "{rights}");
    assert_eq!(ran.lines("ok", "admission").len(), 2, "{}", ran.stdout);
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_told_at_once_with_what_to_do() {
    let (release, operator) = installed("broken-streaming-operator").await;
    operator.stop().await;
    release.kubectl(&["delete", "rolebinding", &release.name]).await;
    let validating = ["delete", "validatingwebhookconfiguration", &release.name];
    release.kubectl(&validating).await;
    let strip = r#"[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]"#;
    let mutating = [
        "patch",
        "mutatingwebhookconfiguration",
        &release.name,
        "--type=json",
        "--patch",
        strip,
    ];
    release.kubectl(&mutating).await;

    let missing = format!(
        "list streamingpipelines.streams.sentry.io in namespace {}",
        release.namespace
    );
    let ran = until_told(&release, "WRONG", "rights", &missing).await;
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    for (part, text) in [
        ("deployment", "0 of 2 replicas are available"),
        ("rights", "bind it to this account"),
        ("leader", "nobody holds Lease"),
        (
            "webhook",
            "MutatingWebhookConfiguration broken-streaming-operator (default.streamingpipelines.streams.sentry.io): caBundle is empty",
        ),
        (
            "webhook",
            "ValidatingWebhookConfiguration broken-streaming-operator is not there do: install it again",
        ),
        ("admission", "a good pipeline"),
        ("admission", "a bad pipeline"),
    ] {
        let lines = ran.lines("WRONG", part);
        assert!(
            lines.iter().any(|line| line.contains(text)),
            "{part}: {text}: {}",
            ran.stdout
        );
        assert!(lines.iter().all(|line| line.contains(" do: ")), "{lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn for_programs_it_is_json() {
    let (release, operator) = installed("told-streaming-operator").await;
    let ran = run(
        release.cluster,
        &["check", "--namespace", &release.namespace, "-o", "json"],
    )
    .await;
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let first = &report["findings"][0];
    assert_eq!(
        (&first["check"], &first["state"]),
        (&"deployment".into(), &"wrong".into())
    );
    assert!(first["todo"].as_str().expect("text").starts_with("kubectl"), "{first}");
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_operator_that_is_said_and_what_is_asked_all_the_same() {
    let cluster = cluster().await;
    let namespace = cluster.namespace("empty").await.unwrap();
    let ran = run(cluster, &["check", "--namespace", &namespace]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let lines = ran.lines("WRONG", "deployment");
    assert!(lines[0].contains("no Deployment with the label"), "{lines:?}");
    assert_eq!(ran.lines("ok", "crds").len(), 2, "{}", ran.stdout);
    assert!(
        ran.lines("WRONG", "leader")[0].contains("is not there"),
        "{}",
        ran.stdout
    );
}
