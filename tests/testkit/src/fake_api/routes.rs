//! Requests over the store: paths, verbs, selectors, watches, faults.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde_json::{Value, json};
use tower::{BoxError, service_fn};

use super::store::{Change, Key, Refusal, text};
use super::{FakeApi, Fault, Request};

/// Larger than anything a test sends.
const BODY_BYTES_MAX: usize = 16 << 20;

/// The parts of a request that the answer depends on.
#[derive(Clone)]
struct Call {
    key: Key,
    status: bool,
    query: BTreeMap<String, String>,
    request: Request,
}

impl FakeApi {
    /// This server as the service under a client, for layers of one's own; `name` as in [`FakeApi::client`].
    #[must_use]
    pub fn service(
        &self,
        name: &str,
    ) -> impl tower::Service<
        axum::http::Request<kube::client::Body>,
        Response = Response,
        Error = BoxError,
        Future: Send + 'static,
    > + Send
    + 'static {
        let (api, name) = (self.clone(), name.to_owned());
        service_fn(move |request: axum::http::Request<kube::client::Body>| {
            let (api, name) = (api.clone(), name.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(Body::new(body), BODY_BYTES_MAX).await?;
                let call = Call::parse(&name, &parts.method, &parts.uri, &parts.headers, &body);
                api.serve(call).await
            }
        })
    }

    async fn serve(&self, call: Call) -> Result<Response, BoxError> {
        let fault = {
            let mut state = self.lock();
            let fault = state.hook.as_mut().map_or(Fault::None, |hook| hook(&call.request));
            if !matches!(fault, Fault::BlackHoled | Fault::Dropped) {
                state.requests.push(call.request.clone());
            }
            fault
        };
        match fault {
            Fault::None => Ok(self.answer(call)),
            Fault::Refused(code, reason, message) => Ok(refusal((code, reason, message))),
            Fault::BlackHoled => pending().await,
            Fault::Dropped => Err("connection reset by peer".into()),
            Fault::AnswerLost => {
                drop(self.answer(call));
                Err("connection reset by peer".into())
            }
            Fault::Delayed(by) => {
                tokio::time::sleep(by).await;
                Ok(self.answer(call))
            }
            Fault::Repeated => {
                drop(self.answer(call.clone()));
                Ok(self.answer(call))
            }
        }
    }

    fn answer(&self, call: Call) -> Response {
        if call.request.verb == "watch" {
            return self.watch(call);
        }
        let result = self.carry_out(&call);
        self.changed.notify_waiters();
        match result {
            Ok(object) => {
                let code = if call.request.verb == "create" {
                    StatusCode::CREATED
                } else {
                    StatusCode::OK
                };
                (code, [(header::CONTENT_TYPE, "application/json")], object.to_string()).into_response()
            }
            Err(refused) => {
                let mut status = status(refused.clone());
                // Of an object, and so told from the absence of its kind.
                if let Some(status) = status.as_object_mut() {
                    let details = json!({"name": call.key.name, "kind": call.key.resource});
                    status.insert("details".to_owned(), details);
                }
                refusal_with(refused.0, &status)
            }
        }
    }

    fn carry_out(&self, call: &Call) -> Result<Value, Refusal> {
        let store = &mut self.lock().store;
        let (key, body, dry_run) = (&call.key, &call.request.body, call.request.dry_run);
        match call.request.verb {
            "get" => {
                let missing = || (404, "NotFound", format!("{} \"{}\" not found", key.resource, key.name));
                store.get(key).map(|object| call.shown(object)).ok_or_else(missing)
            }
            "list" => {
                let all = store.list(&key.resource);
                let items: Vec<Value> = all
                    .values()
                    .filter(|o| call.selects(o))
                    .map(|o| call.shown(o))
                    .collect();
                let version = store.version().to_string();
                Ok(
                    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items}),
                )
            }
            "create" => {
                let name = text(body, "/metadata/name").unwrap_or_default();
                store.create(Key::new(&key.resource, &key.namespace, &name), body.clone(), dry_run)
            }
            "update" => store.replace(key.clone(), body, call.status),
            "patch" => store.merge(key.clone(), body, call.status),
            "delete" => store.delete(key, body, dry_run),
            verb => Err((405, "MethodNotAllowed", format!("{verb} is not served here"))),
        }
    }

    /// The changes after the resourceVersion asked for, as they come, until the client goes away.
    fn watch(&self, call: Call) -> Response {
        let from = call
            .query
            .get("resourceVersion")
            .and_then(|v| v.parse().ok())
            .unwrap_or(0);
        let state = (self.clone(), call, from, false);
        let events = stream::unfold(state, |(api, call, from, ended)| async move {
            if ended {
                return None;
            }
            loop {
                // Asked for before the store is read, so that no change falls between the two.
                let signal = Arc::clone(&api.changed);
                let next_change = signal.notified();
                let (since, version) = {
                    let state = api.lock();
                    (state.store.since(from), state.store.version())
                };
                let Some(changes) = since else {
                    let gone = status((410, "Expired", "too old resource version".to_owned()));
                    let line = format!("{}\n", json!({"type": "ERROR", "object": gone}));
                    return Some((Ok::<_, Infallible>(Bytes::from(line)), (api, call, from, true)));
                };
                let mut lines: String = changes.iter().filter_map(|change| call.event(change)).collect();
                if !lines.is_empty() {
                    lines.push_str(&call.bookmark(version));
                    return Some((Ok(Bytes::from(lines)), (api, call, version, false)));
                }
                next_change.await;
            }
        });
        ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(events)).into_response()
    }
}

impl Call {
    fn parse(client: &str, method: &Method, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> Self {
        let parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => ("", [].as_slice()),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let plural = rest.first().copied().unwrap_or_default();
        let name = rest.get(1).copied().unwrap_or_default();
        let status = rest.get(2) == Some(&"status");
        let resource = if group.is_empty() {
            plural.to_owned()
        } else {
            format!("{group}/{plural}")
        };
        let query = query(uri);
        let verb = match (method.as_str(), name.is_empty()) {
            ("GET", _) if query.get("watch").is_some_and(|watch| watch == "true") => "watch",
            ("GET", false) => "get",
            ("GET", true) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", _) => "delete",
            _ => "other",
        };
        let accept = headers
            .get(header::ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .unwrap_or_default();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let in_body = body
            .get("dryRun")
            .and_then(Value::as_array)
            .is_some_and(|all| !all.is_empty());
        Self {
            request: Request {
                client: client.to_owned(),
                verb,
                resource: format!("{plural}{}", if status { "/status" } else { "" }),
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                dry_run: query.contains_key("dryRun") || in_body,
                metadata_only: accept.contains("as=PartialObjectMetadata"),
                body,
            },
            key: Key::new(&resource, namespace, name),
            status,
            query,
        }
    }

    /// Whether an object belongs to the collection asked for.
    fn selects(&self, object: &Value) -> bool {
        let namespace = text(object, "/metadata/namespace").unwrap_or_default();
        let labels = object.pointer("/metadata/labels").cloned().unwrap_or_default();
        let label = |pair: &str| match pair.split_once('=') {
            Some((key, value)) => labels.get(key).and_then(Value::as_str) == Some(value.trim_start_matches('=')),
            None => labels.get(pair).is_some(),
        };
        let field = |pair: &str| match pair.split_once('=') {
            Some((path, value)) => text(object, &format!("/{}", path.replace('.', "/"))).as_deref() == Some(value),
            None => true,
        };
        let all = |selector: &str, holds: &dyn Fn(&str) -> bool| {
            let selector = self.query.get(selector).map_or("", String::as_str);
            selector.split(',').filter(|pair| !pair.is_empty()).all(holds)
        };
        (self.key.namespace.is_empty() || self.key.namespace == namespace)
            && all("labelSelector", &label)
            && all("fieldSelector", &field)
    }

    fn shown(&self, object: &Value) -> Value {
        if self.request.metadata_only {
            return json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": object.get("metadata").cloned().unwrap_or_default(),
            });
        }
        object.clone()
    }

    fn event(&self, change: &Change) -> Option<String> {
        let ours = change.key.resource == self.key.resource && self.selects(&change.object);
        ours.then(|| {
            format!(
                "{}\n",
                json!({"type": change.kind, "object": self.shown(&change.object)})
            )
        })
    }

    fn bookmark(&self, version: u64) -> String {
        if self
            .query
            .get("allowWatchBookmarks")
            .is_none_or(|allowed| allowed != "true")
        {
            return String::new();
        }
        let object =
            json!({"kind": "Bookmark", "apiVersion": "v1", "metadata": {"resourceVersion": version.to_string()}});
        format!("{}\n", json!({"type": "BOOKMARK", "object": object}))
    }
}

fn query(uri: &Uri) -> BTreeMap<String, String> {
    let pairs = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), decode(value))).collect()
}

/// Undoes percent-encoding.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16)).unwrap_or_default();
        bytes.push(match byte {
            b'%' => u8::try_from(hex(rest.next()) * 16 + hex(rest.next())).unwrap_or_default(),
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn status((code, reason, message): Refusal) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason, "message": message})
}

fn refusal(refused: Refusal) -> Response {
    refusal_with(refused.0, &status(refused))
}

fn refusal_with(code: u16, status: &Value) -> Response {
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (code, [(header::CONTENT_TYPE, "application/json")], status.to_string()).into_response()
}
