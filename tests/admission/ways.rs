//! The ways in which people and programs send a pipeline to the API server.

use std::collections::BTreeSet;

use http::Method;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::children;
use testkit::control_plane::ControlPlane;
use testkit::fixtures;

const NAMESPACES: &str = "/apis/streams.sentry.io/v1alpha1/namespaces";

/// A way to send a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Create,
    Apply,
    ApplyServerSide,
    DryRun,
    Replace,
    JsonPatch,
    MergePatch,
    ApplyPatch,
}

impl Way {
    /// Those that can make a pipeline.
    pub(crate) const CREATING: [Self; 5] = [
        Self::DryRun,
        Self::Create,
        Self::Apply,
        Self::ApplyServerSide,
        Self::ApplyPatch,
    ];
    /// Those that can change one.
    pub(crate) const UPDATING: [Self; 7] = [
        Self::DryRun,
        Self::Apply,
        Self::ApplyServerSide,
        Self::Replace,
        Self::JsonPatch,
        Self::MergePatch,
        Self::ApplyPatch,
    ];
    /// Those that can only change one.
    pub(crate) const REPLACING: [Self; 3] = [Self::Replace, Self::JsonPatch, Self::MergePatch];

    /// As the fixtures name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Apply => "apply",
            Self::ApplyServerSide => "apply-server-side",
            Self::DryRun => "dry-run",
            Self::Replace => "replace",
            Self::JsonPatch => "json-patch",
            Self::MergePatch => "merge-patch",
            Self::ApplyPatch => "apply-patch",
        }
    }
}

/// Why a pipeline was not taken.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// `field: message` of each cause, when it is `Invalid`; without those that have no field, which speak of the API
    /// server's own checks.
    pub(crate) causes: BTreeSet<String>,
    /// All that was said.
    pub(crate) text: String,
}

/// The warnings of what was taken, or why it was not.
pub(crate) type Sent = Result<Vec<String>, Refusal>;

/// One who sends pipelines into a namespace.
pub(crate) struct Sender {
    cluster: &'static ControlPlane,
    client: Client,
    /// The namespace.
    pub(crate) namespace: String,
    folder: TempDir,
}

impl Sender {
    /// Into a new namespace.
    pub(crate) async fn new(cluster: &'static ControlPlane) -> Self {
        Self {
            cluster,
            client: cluster.admin().await.expect("a client"),
            namespace: cluster.namespace("fixtures").await.expect("a namespace"),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    /// Sends a manifest, YAML or JSON, whose object is `object`, with kubectl, and gives the warnings; `stored` is what a
    /// merge patch is made against.
    pub(crate) async fn send(&self, way: Way, manifest: &str, object: &Value, stored: &Value) -> Sent {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let file = |text: &str| {
            let path = self.folder.path().join(format!("{}.yaml", way.name()));
            std::fs::write(&path, text).expect("a file");
            path.to_str().expect("UTF-8").to_owned()
        };
        let manifest = || file(manifest);
        let patch = |kind: &str, patch: &Value| {
            let file = file(&patch.to_string());
            Vec::from(["patch", "spipe", name, "--type", kind, "--patch-file", &file].map(str::to_owned))
        };
        let with_manifest = |arguments: &[&str]| {
            let manifest = manifest();
            let arguments = arguments.iter().map(|argument| (*argument).to_owned());
            arguments.chain(["--filename".to_owned(), manifest]).collect()
        };
        let arguments: Vec<String> = match way {
            Way::Create => with_manifest(&["create"]),
            Way::Apply => with_manifest(&["apply"]),
            Way::ApplyServerSide => with_manifest(&["apply", "--server-side", "--force-conflicts"]),
            Way::DryRun => with_manifest(&["apply", "--dry-run=server"]),
            Way::Replace => with_manifest(&["replace"]),
            Way::JsonPatch => {
                let spec = &object["spec"];
                patch("json", &json!([{"op": "replace", "path": "/spec", "value": spec}]))
            }
            Way::MergePatch => patch("merge", &fixtures::difference(stored, object)),
            Way::ApplyPatch => return self.request(way, object, stored).await.map(|_| Vec::new()),
        };
        self.kubectl(arguments).await
    }

    /// Stores an object as [`Way::ApplyPatch`] does, so that a later one takes away what it leaves out.
    pub(crate) async fn store(&self, object: &Value) {
        let stored = self.request(Way::ApplyPatch, object, &Value::Null).await;
        stored.unwrap_or_else(|refusal| panic!("it cannot be stored: {}", refusal.text));
    }

    /// The stored pipeline, if there is one.
    pub(crate) async fn stored(&self, name: &str) -> Option<Value> {
        let request = http::Request::get(self.path(name)).body(Vec::new()).expect("a request");
        self.client.request::<Value>(request).await.ok()
    }

    /// Its `spec`.
    pub(crate) async fn stored_spec(&self, name: &str) -> Option<Value> {
        Some(self.stored(name).await?["spec"].clone())
    }

    /// Deletes the pipeline.
    pub(crate) async fn delete(&self, name: &str) {
        let request = http::Request::delete(self.path(name))
            .body(Vec::new())
            .expect("a request");
        self.client.request::<Value>(request).await.expect("it is deleted");
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }

    fn collection(&self) -> String {
        format!("{NAMESPACES}/{}/streamingpipelines", self.namespace)
    }

    /// Runs kubectl in the namespace and gives the warnings.
    pub(crate) async fn kubectl(&self, mut arguments: Vec<String>) -> Sent {
        arguments.extend(["--namespace".to_owned(), self.namespace.clone()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let command = self.cluster.kubectl_command(&arguments).expect("kubectl");
        let ran = tokio::task::spawn_blocking(move || children::outcome(&command)).await;
        let output = ran.expect("no panic").expect("kubectl runs");
        let text = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            let warnings = text.lines().filter_map(|line| line.strip_prefix("Warning: "));
            return Ok(warnings.map(str::to_owned).collect());
        }
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("Warning: ")).collect();
        Err(refusal_of_kubectl(&lines.join("\n")))
    }

    /// Asks the API server itself; gives the object that it answers with. Causes come with their reasons.
    pub(crate) async fn request(&self, way: Way, object: &Value, stored: &Value) -> Result<Value, Refusal> {
        let name = object["metadata"]["name"].as_str().expect("a name");
        let at = self.path(name);
        let json_patch = || json!([{"op": "replace", "path": "/spec", "value": object["spec"]}]);
        let (method, path, form, body) = match way {
            Way::Create => (Method::POST, self.collection(), "json", object.clone()),
            Way::DryRun => (Method::POST, self.collection() + "?dryRun=All", "json", object.clone()),
            Way::Replace => {
                let mut object = object.clone();
                object["metadata"]["resourceVersion"] =
                    self.stored(name).await.expect("it exists")["metadata"]["resourceVersion"].clone();
                (Method::PUT, at, "json", object)
            }
            Way::JsonPatch => (Method::PATCH, at, "json-patch+json", json_patch()),
            Way::MergePatch => (
                Method::PATCH,
                at,
                "merge-patch+json",
                fixtures::difference(stored, object),
            ),
            Way::Apply | Way::ApplyServerSide | Way::ApplyPatch => {
                let path = format!("{at}?fieldManager=fixtures&force=true");
                (Method::PATCH, path, "apply-patch+yaml", object.clone())
            }
        };
        let request = http::Request::builder().method(method).uri(path);
        self.answer(request.header(CONTENT_TYPE, format!("application/{form}")), &body, name)
            .await
    }

    /// Merges `patch` into the pipeline, or into a subresource of it (`/status`).
    pub(crate) async fn merge(&self, name: &str, subresource: &str, patch: &Value) -> Result<Value, Refusal> {
        let request = http::Request::patch(self.path(name) + subresource);
        self.answer(
            request.header(CONTENT_TYPE, "application/merge-patch+json"),
            patch,
            name,
        )
        .await
    }

    /// What is refused as `Invalid` must be a whole `Status`.
    async fn answer(&self, request: http::request::Builder, body: &Value, name: &str) -> Result<Value, Refusal> {
        let request = request.body(body.to_string().into_bytes()).expect("a request");
        let status = match self.client.request::<Value>(request).await {
            Ok(object) => return Ok(object),
            Err(kube::Error::Api(status)) => status,
            Err(error) => panic!("no answer: {error}"),
        };
        let details = status.details.as_ref();
        if status.code == 422 {
            let details = details.expect("details");
            let object = (details.group.as_str(), details.kind.as_str(), details.name.as_str());
            assert_eq!(object, ("streams.sentry.io", "StreamingPipeline", name));
            assert_eq!(status.reason, "Invalid");
        }
        let causes = details.map(|details| details.causes.as_slice()).unwrap_or_default();
        let causes = causes.iter().filter(|cause| cause.field != "<nil>");
        Err(Refusal {
            causes: causes
                .map(|cause| format!("{} {}: {}", cause.reason, cause.field, cause.message))
                .collect(),
            text: status.message.clone(),
        })
    }
}

/// What kubectl says of an object of a built-in kind that is `Invalid`: one cause on the line, several below it.
fn refusal_of_kubectl(text: &str) -> Refusal {
    let causes = text
        .strip_prefix("The StreamingPipeline \"")
        .and_then(|rest| rest.split_once("\" is invalid: "));
    let causes = causes.map_or("", |(_, causes)| causes);
    let lines = causes.lines().map(|line| line.strip_prefix("* ").unwrap_or(line));
    Refusal {
        causes: lines
            .filter(|line| !line.is_empty() && !line.starts_with("<nil>: "))
            .map(str::to_owned)
            .collect(),
        text: text.to_owned(),
    }
}
