//! An object that is nested deeper than readers of JSON go gets in while the webhook is away, and must be mendable.

use serde_json::json;

use super::bed::{Bed, manifest};

/// A pipeline with so many objects within one another in its config, as text: no JSON value of ours goes that deep.
fn deep(name: &str, levels: usize) -> String {
    let mut object = manifest(name);
    object["spec"]["pipeline_config"]["env"] = json!("HERE");
    let nested = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    object.to_string().replace(r#""HERE""#, &nested)
}

async fn kubectl_with(bed: &Bed, verb: &str, object: &str) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, object).expect("a file");
    bed.kubectl(&[verb, "--filename", file.path().to_str().expect("UTF-8")])
        .await
}

#[tokio::test]
async fn a_stored_object_that_is_nested_too_deep_is_mended_by_an_edit_and_no_new_one_gets_in() {
    let bed = Bed::start().await;
    bed.remove_webhooks().await;
    for name in ["replaced", "patched", "kept"] {
        kubectl_with(&bed, "create", &deep(name, 300))
            .await
            .expect("nobody judges");
    }
    bed.install_webhooks().await;
    bed.wait_until_admission_works().await;

    // The edit that mends it passes, however it is made.
    kubectl_with(&bed, "replace", &manifest("replaced").to_string())
        .await
        .expect("it is admitted");
    assert_eq!(bed.stored("replaced").await["spec"]["pipeline_name"], json!("replaced"));
    let mend = r#"[{"op": "replace", "path": "/spec/pipeline_config/env", "value": {}}]"#;
    bed.kubectl(&["patch", "spipe", "patched", "--type=json", "--patch", mend])
        .await
        .expect("it is admitted");
    assert_eq!(bed.stored("patched").await["spec"]["pipeline_config"]["env"], json!({}));

    // One that leaves it so does not, for nobody can say that it is as it was; nor does a new object.
    let refused = "is invalid: spec.pipeline_config: is nested over 90 levels deep, at most 64 are allowed";
    let refusal = bed
        .patch("kept", r#"{"spec":{"log_level":"DEBUG"}}"#)
        .await
        .expect_err("it is refused");
    assert!(refusal.contains(refused), "{refusal}");
    let refusal = kubectl_with(&bed, "create", &deep("new", 300))
        .await
        .expect_err("it is refused");
    assert!(refusal.contains(refused), "{refusal}");
    bed.kubectl(&["delete", "spipe", "kept"]).await.expect("deletion");
}
