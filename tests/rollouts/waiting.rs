//! Who waits for a pipeline reads its conditions: kubectl, and Helm by the rules of kstatus.

use std::process::Command;

use serde_json::{Value, json};
use testkit::{assets, children, users, workdir};

use super::bed::{Bed, condition, image, pipeline};

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_wait_waits_for_the_spec_as_it_is_now() {
    let bed = Bed::start("wait", &[]).await;
    bed.apply(&[pipeline(&bed.namespace, "p", 3)]).await;
    let wait = ["wait", "spipe/p", "--for=condition=Ready", "--timeout=90s"];
    bed.kubectl(&wait).await.unwrap();
    let first = bed.pipeline("p").await;
    assert_eq!(first["status"]["readyReplicas"], json!(3));
    // `Ready` is still True when kubectl asks, of the generation before.
    bed.edit("p", image("2")).await;
    bed.kubectl(&wait).await.unwrap();
    let second = bed.pipeline("p").await;
    assert_eq!(second["status"]["updatedReplicas"], json!(3));
    assert_ne!(second["status"]["currentRevision"], first["status"]["currentRevision"]);
    // One that only a person can get on says so, and need not be waited for until the time is over.
    bed.edit(
        "p",
        json!({"spec": {"image_name": "registry.example/consumer:bad", "rollout": {"progressDeadlineSeconds": 2}}}),
    )
    .await;
    bed.kubectl(&["wait", "spipe/p", "--for=condition=Stalled", "--timeout=90s"])
        .await
        .unwrap();
    let stalled = bed.pipeline("p").await;
    assert_eq!(condition(&stalled, "Ready")["reason"], "ProgressDeadlineExceeded");
    bed.edit("p", image("2")).await;
    bed.kubectl(&wait).await.unwrap();
    let arguments = [
        "wait",
        "spipe/p",
        "--for=jsonpath={.status.rollout.phase}=Complete",
        "--timeout=90s",
    ];
    bed.kubectl(&arguments).await.unwrap();
}

/// A chart that has one pipeline.
fn chart(pipeline: &Value) -> std::path::PathBuf {
    let folder = workdir::workdir("chart").unwrap();
    std::fs::create_dir(folder.join("templates")).unwrap();
    std::fs::write(
        folder.join("Chart.yaml"),
        "{apiVersion: v2, name: pipelines, version: 0.1.0}",
    )
    .unwrap();
    // JSON is YAML.
    std::fs::write(folder.join("templates/pipeline.yaml"), pipeline.to_string()).unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn helm_waits_until_the_pipeline_is_ready() {
    let bed = Bed::start("helm-wait", &[]).await;
    let helm = async |verb: &str, pipeline: &Value, seconds: u8| {
        let mut command = Command::new(assets::asset("helm").unwrap());
        command.args([verb, "pipelines"]).arg(chart(pipeline));
        command.args([
            "--namespace",
            &bed.namespace,
            "--wait",
            "--timeout",
            &format!("{seconds}s"),
        ]);
        command
            .arg("--kubeconfig")
            .arg(bed.cluster.kubeconfig(users::ADMIN).unwrap());
        // Helm keeps files in the home folder otherwise.
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(variable, bed.cluster.folder().join("helm"));
        }
        tokio::task::spawn_blocking(move || children::output(&command))
            .await
            .unwrap()
    };
    let mut pipeline = pipeline(&bed.namespace, "p", 3);
    // Ready three seconds after they were made, so that an answer that comes at once is a wrong one.
    pipeline["spec"]["deployment_template"] = json!({"spec": {"template": {"metadata": {
        "annotations": {"testkit/life": "slow-start", "testkit/after": "3s"},
    }}}});
    helm("install", &pipeline, 90).await.unwrap();
    let installed = bed.pipeline("p").await;
    assert_eq!(condition(&installed, "Ready")["status"], "True");
    pipeline["spec"]["image_name"] = json!("registry.example/consumer:2");
    helm("upgrade", &pipeline, 90).await.unwrap();
    let upgraded = bed.pipeline("p").await;
    assert_eq!(upgraded["status"]["updatedReplicas"], json!(3));
    pipeline["spec"]["image_name"] = json!("registry.example/consumer:bad");
    let broken = helm("upgrade", &pipeline, 4).await;
    assert!(broken.is_err(), "an image that cannot be pulled never gets Ready");
}
