//! Objects put into the store as they are, past the API server: with the uid, the times and the status that they had in
//! another cluster. That is how what an earlier release left behind comes into a test.

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::ControlPlane;
use crate::http;

impl ControlPlane {
    /// Puts objects into etcd, each under the key that the API server has for it. Their namespaces must exist. The API
    /// server reads JSON where it would write another form, and its watches show the objects as new.
    ///
    /// # Errors
    /// When an object is of no kind that is known here, has no name or namespace, or etcd does not take it.
    pub async fn store(&self, objects: &[Value]) -> Result<()> {
        for object in objects {
            let text = |pointer: &str| {
                let found = object.pointer(pointer).and_then(Value::as_str);
                found.with_context(|| format!("an object without {pointer}"))
            };
            let folder = match text("/kind")? {
                "StreamingPipeline" => "streams.sentry.io/streamingpipelines",
                "Pod" => "pods",
                "ConfigMap" => "configmaps",
                "ControllerRevision" => "controllerrevisions",
                other => anyhow::bail!("where {other} is stored is not known"),
            };
            let (namespace, name) = (text("/metadata/namespace")?, text("/metadata/name")?);
            let mut stored = object.clone();
            // It is the store's own number of the write.
            if let Some(metadata) = stored.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("resourceVersion");
            }
            // Bytes are base64 in JSON, as in Kubernetes' own.
            let put = json!({
                "key": ByteString(format!("/registry/{folder}/{namespace}/{name}").into_bytes()),
                "value": ByteString(stored.to_string().into_bytes()),
            });
            let (code, answer) = http::post(&format!("{}/v3/kv/put", self.etcd_url), put.to_string()).await?;
            ensure!(code == 200, "etcd answers {code}: {answer}");
        }
        Ok(())
    }
}
