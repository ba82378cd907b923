//! What the API server says to a document: a dry run of the create or the update that applying it would be.
//!
//! A document that is not stored yet is a create. One that is stored is a patch that puts the document's `spec` in the
//! place of the stored one, labels and annotations on top: what applying it comes to for whoever owns all of `spec`.
//! Must never send a request without `dryRun`, but for questions.

mod told;

use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use futures::{StreamExt as _, stream};
use http::{Method, Request, Response, header};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::input::Document;
use super::server::Server;
use crate::api::meta::{GROUP, VERSION};
use crate::client::in_words;
use told::Reply;
pub(super) use told::{RULE, Told, join};

/// How long the API server may take for one answer; it gives up on a webhook within 30 s.
const ANSWER: Duration = Duration::from_secs(40);
/// How many documents are asked about at once.
const AT_ONCE: usize = 8;
/// How often a document is asked about again when it was stored, changed or deleted in between.
const TRIES: usize = 3;
/// Longest answer. A stored object has 1.5 MiB at most.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Whose fields the dry run would make them.
const FIELD_MANAGER: &str = "streaming-operator-validate";

/// What came of asking about a document.
pub(super) struct Asked {
    /// The object as it is stored, if it is.
    pub(super) stored: Option<Value>,
    /// What was said.
    pub(super) told: Told,
}

/// Asks about each of the documents; the answers are in their order.
pub(super) fn ask(server: &Server, documents: &[Document]) -> Vec<Asked> {
    match server.connection() {
        Ok((runtime, client)) => runtime.block_on(async {
            let asking = stream::iter(documents).map(|document| ask_about(client, document));
            asking.buffered(AT_ONCE).collect().await
        }),
        Err(why) => {
            let unasked = |_| Asked {
                stored: None,
                told: Told::Unasked(why.to_owned()),
            };
            documents.iter().map(unasked).collect()
        }
    }
}

/// Asks about one document.
async fn ask_about(client: &Client, document: &Document) -> Asked {
    if document.name().is_empty() {
        // It has a fault already, which the API server would find before all others.
        return Asked {
            stored: None,
            told: Told::default(),
        };
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let (stored, asked) = match stored(client, document).await {
            Ok(stored) => {
                let asked = Write::of(document, stored.as_ref()).dry_run(client).await;
                (stored, asked)
            }
            Err(why) => (None, Err(why)),
        };
        match asked {
            Ok(Told::Overtaken(_)) if tries < TRIES => {}
            Ok(told) => return Asked { stored, told },
            Err(why) => {
                let told = Told::Unasked(why);
                return Asked { stored, told };
            }
        }
    }
}

/// The object that is stored under the name of the document. Fails with why it cannot be known.
async fn stored(client: &Client, document: &Document) -> Result<Option<Value>, String> {
    let Some(name) = document.given_name() else {
        return Ok(None);
    };
    let path = format!("{}/{}", collection(document), encoded(name));
    let reply = send(client, Method::GET, &path, "", Vec::new()).await?;
    match reply.code {
        200 => serde_json::from_slice(&reply.body).map_err(|error| format!("its answer is no object: {error}")),
        // Without details it is the resource that does not exist.
        404 if reply.status().details.is_some_and(|details| details.name.is_some()) => Ok(None),
        404 => Err(format!(
            "it knows no {}: `streaming-operator crd | kubectl apply -f -` installs them",
            document.kinds()
        )),
        _ => Err(reply.status().message.unwrap_or_else(|| format!("HTTP {}", reply.code))),
    }
}

/// The request that applying a document comes to.
struct Write<'a> {
    document: &'a Document,
    method: Method,
    path: String,
    content_type: &'static str,
    body: Value,
}

impl<'a> Write<'a> {
    fn of(document: &'a Document, stored: Option<&Value>) -> Self {
        let collection = collection(document);
        match (stored, document.given_name()) {
            (Some(stored), Some(name)) => Self {
                document,
                method: Method::PATCH,
                path: format!("{collection}/{}", encoded(name)),
                content_type: "application/json-patch+json",
                body: replacement(stored, &document.object),
            },
            _ => Self {
                document,
                method: Method::POST,
                path: collection,
                content_type: "application/json",
                body: document.object.clone(),
            },
        }
    }

    /// Asks what would come of it, with every fault that the API server finds: it stops at fields that it does not
    /// know, so then it is asked once more without them.
    async fn dry_run(&self, client: &Client) -> Result<Told, String> {
        let strict = self.validated(client, "Strict").await?;
        let told = match strict.unknown_fields() {
            unknown if unknown.is_empty() => strict.told(),
            unknown => self
                .validated(client, "Ignore")
                .await?
                .told()
                .with_faults_first(unknown),
        };
        match told {
            Told::Forbidden { why, .. } if !self.is_granted(client).await? => Ok(Told::Unasked(why)),
            told => Ok(told),
        }
    }

    async fn validated(&self, client: &Client, field_validation: &str) -> Result<Reply, String> {
        let path = format!(
            "{}?dryRun=All&fieldManager={FIELD_MANAGER}&fieldValidation={field_validation}",
            self.path
        );
        let body = self.body.to_string().into_bytes();
        send(client, self.method.clone(), &path, self.content_type, body).await
    }

    /// Whether the user may do this at all: whoever may not was not told what is wrong with the document.
    async fn is_granted(&self, client: &Client) -> Result<bool, String> {
        let verb = if self.method == Method::PATCH {
            "patch"
        } else {
            "create"
        };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: Some(verb.to_owned()),
                    group: Some(GROUP.to_owned()),
                    resource: Some(self.document.plural().to_owned()),
                    namespace: Some(self.document.namespace().to_owned()),
                    name: self.document.given_name().map(str::to_owned),
                    ..ResourceAttributes::default()
                }),
                non_resource_attributes: None,
            },
            ..SelfSubjectAccessReview::default()
        };
        let api = Api::<SelfSubjectAccessReview>::all(client.clone());
        let params = PostParams::default();
        match timeout(ANSWER, api.create(&params, &review)).await {
            Ok(Ok(answer)) => Ok(answer.status.is_some_and(|status| status.allowed)),
            Ok(Err(error)) => Err(in_words(&error)),
            Err(_) => Err(format!("no answer within {ANSWER:?}")),
        }
    }
}

/// The JSON patch (RFC 6902) that makes the stored object what the document says.
fn replacement(stored: &Value, document: &Value) -> Value {
    let uid = stored.pointer("/metadata/uid");
    let put = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    // The object that was looked at, not another one of its name: that would be a conflict.
    let mut patch: Vec<Value> = uid.map(|uid| put("/metadata/uid", uid.clone())).into_iter().collect();
    for field in ["/metadata/labels", "/metadata/annotations"] {
        let Some(Value::Object(given)) = document.pointer(field) else {
            continue;
        };
        let mut all = stored
            .pointer(field)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        all.extend(given.clone());
        patch.push(put(field, Value::Object(all)));
    }
    if let Some(spec) = document.get("spec") {
        patch.push(put("/spec", spec.clone()));
    }
    Value::Array(patch)
}

fn collection(document: &Document) -> String {
    let namespace = encoded(document.namespace());
    format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{}", document.plural())
}

/// A name as a part of a path: what no name may have is the API server's to refuse, but must not lead elsewhere.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(char::from(byte)),
            b'.' if name.bytes().any(|byte| byte != b'.') => text.push('.'),
            _ => {
                // Writing to a String cannot fail.
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

async fn send(client: &Client, method: Method, path: &str, content_type: &str, body: Vec<u8>) -> Result<Reply, String> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, "application/json");
    if !content_type.is_empty() {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    let request = request
        .body(kube::client::Body::from(body))
        .map_err(|error| error.to_string())?;
    let answer = async {
        let (head, body) = client
            .send(request)
            .await
            .map_err(|error| in_words(&error))?
            .into_parts();
        let body = to_bytes(Body::new(body), ANSWER_BYTES_MAX)
            .await
            .map_err(|error| error.to_string())?;
        Ok(Reply::new(&Response::from_parts(head, ()), body.to_vec()))
    };
    let answered = timeout(ANSWER, answer).await;
    answered.unwrap_or_else(|_| Err(format!("no answer within {ANSWER:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_object_gets_the_spec_of_the_document_and_keeps_its_other_metadata() {
        let stored = json!({
            "metadata": {"uid": "u", "labels": {"a": "1", "b": "1"}, "finalizers": ["f"]},
            "spec": {"replicas": 5, "suspend": true}});
        let document = json!({
            "metadata": {"name": "n", "labels": {"b": "2"}, "annotations": {"c": "3"}}, "spec": {"replicas": 1}});
        assert_eq!(
            replacement(&stored, &document),
            json!([
                {"op": "add", "path": "/metadata/uid", "value": "u"},
                {"op": "add", "path": "/metadata/labels", "value": {"a": "1", "b": "2"}},
                {"op": "add", "path": "/metadata/annotations", "value": {"c": "3"}},
                {"op": "add", "path": "/spec", "value": {"replicas": 1}},
            ])
        );
    }

    #[test]
    fn a_name_that_none_can_be_leads_nowhere_else() {
        for (name, path) in [
            ("a-b.c", "a-b.c"),
            ("a/../b?c", "a%2F..%2Fb%3Fc"),
            ("..", "%2E%2E"),
            ("é", "%C3%A9"),
        ] {
            assert_eq!(encoded(name), path);
        }
    }
}
