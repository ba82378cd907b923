//! What strips or replaces `caBundle`, and how long it takes until the API server asks us again.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use streaming_operator::certs::authority::new_authority;
use tokio::time::Instant;

use super::bed::Bed;
use super::restarts::{CLUSTER, TURN};

const KINDS: [&str; 2] = ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"];

impl Bed {
    /// Changes `caBundle` in both configurations, as somebody who knows nothing of us.
    async fn edit_bundles(&self, operation: &str, value: &Value) {
        for kind in KINDS {
            let path = "/webhooks/0/clientConfig/caBundle";
            let edit = json!([{"op": operation, "path": path, "value": value}]).to_string();
            let arguments = ["patch", kind, &self.webhooks.name, "--type=json", "--patch", &edit];
            self.cluster.kubectl(&arguments).await.unwrap();
        }
    }

    async fn bundles(&self) -> Vec<String> {
        let mut bundles = Vec::new();
        for kind in KINDS {
            let path = "jsonpath={.webhooks[0].clientConfig.caBundle}";
            let arguments = ["get", kind, &self.webhooks.name, "--output", path];
            bundles.push(self.cluster.kubectl(&arguments).await.unwrap());
        }
        bundles
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn admission_works_again_whatever_is_done_to_the_bundle() {
    let _turn = TURN.lock().await;
    let bed = Bed::start(CLUSTER.get().await.unwrap(), &[]).await;
    let before = bed.bundles().await;
    let other = new_authority(Timestamp::now(), SignedDuration::from_hours(1)).unwrap();
    let other = json!(ByteString(other.chain_pem().into_bytes()));
    for (what, operation, value) in [
        ("emptied", "replace", json!("")),
        ("removed", "remove", Value::Null),
        ("replaced by another valid CA", "replace", other),
    ] {
        bed.edit_bundles(operation, &value).await;
        let edited = Instant::now();
        bed.until_admission_works().await;
        println!(
            "caBundle {what}: admission works again {:.2} s after",
            edited.elapsed().as_secs_f64()
        );
        assert_eq!(bed.bundles().await, before);
    }
    let both = KINDS.join(",");
    bed.cluster
        .kubectl(&["delete", &both, &bed.webhooks.name])
        .await
        .unwrap();
    bed.cluster.install_webhooks(&bed.webhooks).await.unwrap();
    let installed = Instant::now();
    bed.until_admission_works().await;
    println!(
        "webhook configurations deleted: admission works again {:.2} s after they were installed anew",
        installed.elapsed().as_secs_f64()
    );
    assert_eq!(bed.bundles().await, before);
}
