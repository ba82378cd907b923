//! As much of an API server as certificates need: objects with resourceVersions and uids, watches, optimistic
//! concurrency, and server-side apply of `caBundle`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{Method, Request, StatusCode};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceBuilder;

pub(crate) const SECRETS: &str = "secrets";
pub(crate) const MUTATING: &str = "mutatingwebhookconfigurations";
pub(crate) const VALIDATING: &str = "validatingwebhookconfigurations";

/// Plural, namespace, name.
type Key = (String, String, String);

#[derive(Clone, Default)]
pub(crate) struct ApiServer {
    state: Arc<Mutex<Store>>,
    changes: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct Store {
    version: u64,
    objects: BTreeMap<Key, Value>,
    /// Every change: its version, its plural, what kind of change, the object.
    log: Vec<(u64, String, &'static str, Value)>,
    /// Every request: method, plural, query, status, body.
    requests: Vec<(String, String, String, u16, Value)>,
    failing: bool,
    /// The method that is refused for want of a right.
    forbidden: Option<&'static str>,
}

impl Store {
    fn change(&mut self, kind: &'static str, key: &Key, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if kind == "DELETED" {
            self.objects.remove(key);
        } else {
            self.objects.insert(key.clone(), object.clone());
        }
        self.log.push((self.version, key.0.clone(), kind, object.clone()));
        object
    }

    fn store(&mut self, key: &Key, mut object: Value) -> Value {
        let known = self.objects.get(key).map(|old| old["metadata"]["uid"].clone());
        let kind = if known.is_some() { "MODIFIED" } else { "ADDED" };
        object["metadata"]["uid"] = known.unwrap_or_else(|| json!(format!("uid-{}", self.version + 1)));
        self.change(kind, key, object)
    }
}

impl ApiServer {
    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        let router = Router::new()
            .route("/api/v1/namespaces/{namespace}/{plural}", get(list).post(create))
            .route("/api/v1/namespaces/{namespace}/{plural}/{name}", get(read).put(replace))
            .route(
                "/apis/events.k8s.io/v1/namespaces/{namespace}/{plural}",
                axum::routing::post(create),
            )
            .route("/apis/admissionregistration.k8s.io/v1/{plural}", get(list_cluster))
            .route(
                "/apis/admissionregistration.k8s.io/v1/{plural}/{name}",
                axum::routing::patch(apply),
            )
            .with_state(self.clone());
        let service = ServiceBuilder::new()
            .map_request(|request: Request<kube::client::Body>| request.map(Body::new))
            .service(router);
        Client::new(service, "default")
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.state.lock().expect("no panic while it was held")
    }

    fn tell(&self) {
        let version = self.lock().version;
        self.changes.send_replace(version);
    }

    /// Stores an object as a person would, whatever is there.
    pub(crate) fn put(&self, plural: &str, namespace: &str, name: &str, object: Value) {
        self.lock().store(&key(plural, namespace, name), object);
        self.tell();
    }

    pub(crate) fn get(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        self.lock().objects.get(&key(plural, namespace, name)).cloned()
    }

    pub(crate) fn delete(&self, plural: &str, namespace: &str, name: &str) {
        let key = key(plural, namespace, name);
        let mut store = self.lock();
        let object = store.objects.get(&key).cloned().expect("it exists");
        store.change("DELETED", &key, object);
        drop(store);
        self.tell();
    }

    /// From now on every request and every open watch fails, or works again.
    pub(crate) fn fail(&self, failing: bool) {
        self.lock().failing = failing;
        self.tell();
    }

    /// From now on requests of this method are refused for want of a right; none of any, with `None`.
    pub(crate) fn forbid(&self, method: Option<&'static str>) {
        self.lock().forbidden = method;
    }

    /// All objects of a kind.
    pub(crate) fn list(&self, plural: &str) -> Vec<Value> {
        let store = self.lock();
        let objects = store.objects.iter().filter(|(key, _)| key.0 == plural);
        objects.map(|(_, object)| object.clone()).collect()
    }

    /// Number of requests of that method that were answered with `status`.
    pub(crate) fn requests(&self, method: &str, plural: &str, status: u16) -> usize {
        let store = self.lock();
        let same = store
            .requests
            .iter()
            .filter(|request| request.0 == method && request.1 == plural && request.3 == status);
        same.count()
    }

    pub(crate) fn request_count(&self) -> usize {
        self.lock().requests.len()
    }

    /// Query and body of the last patch.
    pub(crate) fn last_patch(&self, plural: &str) -> Option<(String, Value)> {
        let store = self.lock();
        let mut patches = store
            .requests
            .iter()
            .rev()
            .filter(|request| request.0 == "PATCH" && request.1 == plural);
        patches
            .next()
            .map(|request| (request.2.trim_start_matches('&').to_owned(), request.4.clone()))
    }

    fn answer(&self, method: &Method, plural: &str, query: &str, body: Value, answer: (u16, Value)) -> Response {
        let answer = if self.lock().failing {
            failure(500, "InternalError")
        } else {
            answer
        };
        let request = (method.to_string(), plural.to_owned(), query.to_owned(), answer.0, body);
        self.lock().requests.push(request);
        self.tell();
        let status = StatusCode::from_u16(answer.0).expect("a status");
        (status, Json(answer.1)).into_response()
    }
}

fn key(plural: &str, namespace: &str, name: &str) -> Key {
    (plural.to_owned(), namespace.to_owned(), name.to_owned())
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                        "message": reason});
    (code, status)
}

async fn list_cluster(State(server): State<ApiServer>, Path(plural): Path<String>, query: RawQuery) -> Response {
    list(State(server), Path((String::new(), plural)), query).await
}

async fn list(
    State(server): State<ApiServer>,
    Path((namespace, plural)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let query = query.unwrap_or_default();
    let parameter = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    };
    let selector = parameter("fieldSelector").expect("every list of ours asks for one name");
    let name = selector.strip_prefix("metadata.name%3D").expect("a name").to_owned();
    if parameter("watch").is_some() && !server.lock().failing {
        let from = parameter("resourceVersion")
            .and_then(|version| version.parse().ok())
            .expect("a version");
        server.answer(&Method::GET, &plural, &query, Value::Null, (200, Value::Null));
        return watch_from(server, plural, name, from);
    }
    let answer = {
        let store = server.lock();
        let items: Vec<_> = store
            .objects
            .get(&key(&plural, &namespace, &name))
            .cloned()
            .into_iter()
            .collect();
        let version = store.version.to_string();
        json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items})
    };
    server.answer(&Method::GET, &plural, &query, Value::Null, (200, answer))
}

fn watch_from(server: ApiServer, plural: String, name: String, from: u64) -> Response {
    let changes = server.changes.subscribe();
    let events = futures::stream::unfold((server, changes, from), move |(server, mut changes, mut seen)| {
        let (plural, name) = (plural.clone(), name.clone());
        async move {
            loop {
                {
                    let store = server.lock();
                    if store.failing {
                        return None;
                    }
                    let mut news = store.log.iter().filter(|change| change.0 > seen && change.1 == plural);
                    if let Some((version, _, kind, object)) =
                        news.find(|change| change.3["metadata"]["name"] == json!(name)).cloned()
                    {
                        drop(store);
                        seen = version;
                        let line = json!({"type": kind, "object": object}).to_string() + "\n";
                        return Some((Ok::<_, Infallible>(Bytes::from(line)), (server, changes, seen)));
                    }
                }
                if changes.changed().await.is_err() {
                    return None;
                }
            }
        }
    });
    Body::from_stream(events).into_response()
}

async fn read(
    State(server): State<ApiServer>,
    Path((namespace, plural, name)): Path<(String, String, String)>,
) -> Response {
    let answer = match server.get(&plural, &namespace, &name) {
        Some(object) => (200, object),
        None => failure(404, "NotFound"),
    };
    server.answer(&Method::GET, &plural, "", Value::Null, answer)
}

async fn create(
    State(server): State<ApiServer>,
    Path((namespace, plural)): Path<(String, String)>,
    Json(object): Json<Value>,
) -> Response {
    let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
    let key = key(&plural, &namespace, &name);
    let answer = {
        let mut store = server.lock();
        if store.failing || store.objects.contains_key(&key) {
            failure(409, "AlreadyExists")
        } else {
            (201, store.store(&key, object.clone()))
        }
    };
    server.answer(&Method::POST, &plural, "", object, answer)
}

async fn replace(
    State(server): State<ApiServer>,
    Path((namespace, plural, name)): Path<(String, String, String)>,
    Json(object): Json<Value>,
) -> Response {
    let key = key(&plural, &namespace, &name);
    let answer = {
        let mut store = server.lock();
        let stored = store
            .objects
            .get(&key)
            .map(|stored| stored["metadata"]["resourceVersion"].clone());
        match stored {
            _ if store.forbidden == Some("PUT") => failure(403, "Forbidden"),
            None => failure(404, "NotFound"),
            Some(version) if version != object["metadata"]["resourceVersion"] => failure(409, "Conflict"),
            Some(_) => (200, store.store(&key, object.clone())),
        }
    };
    server.answer(&Method::PUT, &plural, "", object, answer)
}

/// Merges entries by name; an unknown entry, or another uid, is refused as a real API server does.
async fn apply(
    State(server): State<ApiServer>,
    Path((plural, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Response {
    let patch: Value = serde_json::from_slice(&body).expect("JSON");
    let key = key(&plural, "", &name);
    let answer = {
        let mut store = server.lock();
        match store.objects.get(&key).cloned() {
            _ if store.forbidden == Some("PATCH") => failure(403, "Forbidden"),
            Some(object) if object["metadata"]["uid"] == patch["metadata"]["uid"] => match merged(object, &patch) {
                Some(object) => (200, store.store(&key, object)),
                None => failure(422, "Invalid"),
            },
            _ => failure(409, "Conflict"),
        }
    };
    server.answer(&Method::PATCH, &plural, &query.unwrap_or_default(), patch, answer)
}

fn merged(mut object: Value, patch: &Value) -> Option<Value> {
    for change in patch["webhooks"].as_array()? {
        let mut entries = object["webhooks"].as_array_mut()?.iter_mut();
        let entry = entries.find(|entry| entry["name"] == change["name"])?;
        entry["clientConfig"]["caBundle"] = change["clientConfig"]["caBundle"].clone();
    }
    Some(object)
}
