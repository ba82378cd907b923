//! Who may make a Deployment the target of an analysis: two users, and the operator as a process.

use serde_json::json;
use testkit::wait::{self, Seen};
use testkit::{fixtures, users};

use super::access::{Release, role};

/// One story, in one namespace.
#[tokio::test]
async fn an_analysis_of_a_deployment_is_admitted_only_from_users_who_may_patch_it() {
    let release = Release::start().await;
    let (a, b) = (users::TENANT_A, users::TENANT_B);
    let analyses = json!([{"apiGroups": ["streams.sentry.io"], "verbs": ["*"], "resources": ["rolloutanalyses"]}]);
    let web =
        json!([{"apiGroups": ["apps"], "verbs": ["patch"], "resources": ["deployments"], "resourceNames": ["web"]}]);
    let mut objects = role(&release.pipelines, "analysts", &analyses, &[a, b]);
    objects.extend(role(&release.pipelines, "deployers", &web, &[a]));
    release.cluster.apply(&objects).await.expect("they are taken");
    for (user, question) in [(a, ["patch", "deployments/web"]), (b, ["create", "ra"])] {
        let look = async || {
            let answer = release
                .kubectl_as(user, &[&["auth", "can-i"], &question[..]].concat())
                .await;
            Ok(Seen::when(answer, Result::is_ok))
        };
        let counts = wait::until("the roles to count", wait::DEADLINE, look).await;
        counts.expect("they count").expect("yes");
    }
    let of =
        |kind: &str, name: &str| fixtures::edited_analysis("web", &json!({"target": {"kind": kind, "name": name}}));
    let expected = |user: &str, name: &str| {
        format!(
            "denied the request: rolloutanalyses.streams.sentry.io \"web\" is forbidden: User \"{user}\" cannot patch \
             resource \"deployments\" named \"{name}\" in API group \"apps\" in the namespace \"{}\"",
            release.pipelines
        )
    };

    // Who may not is told what is missing, in a dry run too; and nobody needs a right for a pipeline.
    for arguments in [&["--dry-run=server"] as &[&str], &[], &["--server-side"]] {
        let refusal = release
            .apply_as(b, &of("Deployment", "web"), arguments)
            .await
            .expect_err("it is refused");
        assert!(refusal.contains(&expected(b, "web")), "{refusal}");
    }
    release
        .apply_as(b, &of("StreamingPipeline", "web"), &[])
        .await
        .expect("it is admitted");

    // An edit that makes a Deployment of it is a new target, and so is another Deployment.
    let refusal = release
        .apply_as(b, &of("Deployment", "web"), &[])
        .await
        .expect_err("it is refused");
    assert!(refusal.contains(&expected(b, "web")), "{refusal}");
    release
        .apply_as(a, &of("Deployment", "web"), &[])
        .await
        .expect("it is admitted");
    let refusal = release
        .apply_as(a, &of("Deployment", "other"), &[])
        .await
        .expect_err("it is refused");
    assert!(refusal.contains(&expected(a, "other")), "{refusal}");

    // What leaves the target alone is nobody's business but of who may write the analysis.
    let patch = [
        "patch",
        "ra",
        "web",
        "--type=merge",
        "--patch",
        r#"{"spec":{"interval":"1m"}}"#,
    ];
    release.kubectl_as(b, &patch).await.expect("another interval");
    release.kubectl_as(b, &["delete", "ra", "web"]).await.expect("deletion");
}
