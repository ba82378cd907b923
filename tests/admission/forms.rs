//! The two forms of `clientConfig`: a Service, as in production, and a URL, for an operator outside the cluster.

use std::process::Command;

use serde_json::{Value, json};

use crate::bed::{Bed, manifest};

/// What `clientConfig` has beside the bundle, of both configurations.
async fn client_configs(bed: &Bed) -> Vec<Value> {
    let mut found = Vec::new();
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let text = bed
            .kubectl(&["get", kind, "streaming-operator", "-o", "json"])
            .await
            .expect("it exists");
        let mut configuration: Value = serde_json::from_str(&text).expect("JSON");
        let client = configuration["webhooks"][0]["clientConfig"]
            .as_object_mut()
            .expect("an object");
        assert!(client.remove("caBundle").is_some(), "the operator wrote it");
        found.push(Value::Object(client.clone()));
    }
    found
}

/// A default and a refusal, both of which only the webhook knows.
async fn judged(bed: &Bed) {
    bed.apply(&manifest("judged")).await.expect("it is admitted");
    assert_eq!(bed.stored("judged").await["spec"]["pipeline_name"], json!("judged"));
    let mut bad = manifest("bad");
    bad["spec"]["pipeline_name"] = json!("bad");
    bad["spec"]["segment_id"] = json!(7);
    let refusal = bed.apply(&bad).await.expect_err("it is refused");
    let words = "The StreamingPipeline \"bad\" is invalid: spec.segment_id: is 7, and pipeline_config has segments 0 to 0: \
                 the consumer would end at its start";
    assert!(refusal.contains(words), "{refusal}");
}

#[tokio::test]
async fn the_api_server_reaches_the_webhook_through_its_service() {
    let bed = Bed::start().await;
    let service = |path: &str| {
        json!({"service": {
            "name": "streaming-operator", "namespace": bed.service_namespace(), "path": path, "port": bed.port(),
        }})
    };
    assert_eq!(client_configs(&bed).await, [service("/mutate"), service("/validate")]);
    judged(&bed).await;
}

#[tokio::test]
async fn the_api_server_reaches_the_webhook_by_its_url() {
    let bed = Bed::start().await;
    let url = format!("https://localhost:{}", bed.port());
    let printed = Command::new(env!("CARGO_BIN_EXE_streaming-operator"))
        .args(["webhook-config", "--url", &url])
        .output()
        .expect("the program");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, printed.stdout).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    bed.kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", path])
        .await
        .expect("the configurations are taken");
    let at = |path: &str| json!({"url": format!("{url}{path}")});
    assert_eq!(client_configs(&bed).await, [at("/mutate"), at("/validate")]);
    bed.wait_until_admission_works().await;
    judged(&bed).await;
}
