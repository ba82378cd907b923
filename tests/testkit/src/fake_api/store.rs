//! Objects, their versions and the history that watches read. No HTTP.

#![allow(
    clippy::expect_used,
    reason = "a fixture of tests: an object that is none is the test's own fault and ends it"
)]

use std::collections::BTreeMap;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

/// Where an object lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// `group/plural`; the plural alone for the core group.
    pub resource: String,
    /// Empty for cluster-wide objects.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl Key {
    pub(super) fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self {
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// Why a request is refused: code, reason, message.
pub(super) type Refusal = (u16, &'static str, String);

/// One change, as watches tell it.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) kind: &'static str,
    pub(super) key: Key,
    pub(super) object: Value,
}

pub(super) struct Store {
    /// When the server was made; its clock began then at [`EPOCH_SECOND`].
    began: Instant,
    version: u64,
    serial: u64,
    /// Watches from a version below this get 410.
    compacted: u64,
    objects: BTreeMap<Key, Value>,
    history: Vec<Change>,
}

/// 2026-01-01T00:00:00Z, when every server of this kind is made.
const EPOCH_SECOND: i64 = 1_767_225_600;

impl Default for Store {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            version: 0,
            serial: 0,
            compacted: 0,
            objects: BTreeMap::new(),
            history: Vec::new(),
        }
    }
}

impl Store {
    pub(super) fn now(&self) -> Timestamp {
        let began = Timestamp::from_second(EPOCH_SECOND).unwrap_or_default();
        let passed = SignedDuration::try_from(self.began.elapsed()).unwrap_or_default();
        began.saturating_add(passed).unwrap_or(began)
    }

    fn stamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn compact(&mut self) {
        self.version += 1;
        self.compacted = self.version;
        self.history.clear();
    }

    /// The changes after `version`; none when they are no longer known.
    pub(super) fn since(&self, version: u64) -> Option<Vec<Change>> {
        (version >= self.compacted).then(|| self.history.iter().filter(|c| c.version > version).cloned().collect())
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    pub(super) fn list(&self, resource: &str) -> BTreeMap<String, Value> {
        let of = self.objects.iter().filter(|(key, _)| key.resource == resource);
        of.map(|(key, object)| (format!("{}/{}", key.namespace, key.name), object.clone()))
            .collect()
    }

    pub(super) fn put(&mut self, resource: &str, mut object: Value) {
        let name = text(&object, "/metadata/name").expect("a name");
        let namespace = text(&object, "/metadata/namespace").unwrap_or_default();
        let key = Key::new(resource, &namespace, &name);
        let kind = if self.objects.contains_key(&key) {
            "MODIFIED"
        } else {
            "ADDED"
        };
        self.complete(&mut object);
        self.store(key, kind, object);
    }

    pub(super) fn edit(&mut self, resource: &str, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let key = Key::new(resource, namespace, name);
        if let Some(mut object) = self.objects.get(&key).cloned() {
            let spec = object.get("spec").cloned();
            change(&mut object);
            bump_generation(spec.as_ref(), &mut object);
            self.store(key, "MODIFIED", object);
        }
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Value> {
        let mut object = self.objects.remove(key)?;
        self.version += 1;
        meta(&mut object).insert("resourceVersion".to_owned(), json!(self.version.to_string()));
        self.record("DELETED", key.clone(), object.clone());
        Some(object)
    }

    pub(super) fn create(&mut self, mut key: Key, mut object: Value, dry_run: bool) -> Result<Value, Refusal> {
        if key.name.is_empty() {
            let prefix = text(&object, "/metadata/generateName").unwrap_or_default();
            self.serial += 1;
            key.name = format!("{prefix}{:05}", self.serial);
            meta(&mut object).insert("name".to_owned(), json!(key.name));
        }
        if self.objects.contains_key(&key) {
            let message = format!("{} \"{}\" already exists", key.resource, key.name);
            return Err((409, "AlreadyExists", message));
        }
        if !key.namespace.is_empty() {
            meta(&mut object).insert("namespace".to_owned(), json!(key.namespace));
        }
        meta(&mut object).remove("uid");
        self.complete(&mut object);
        if dry_run {
            return Ok(object);
        }
        Ok(self.store(key, "ADDED", object))
    }

    /// PUT of an object, or of its status alone.
    pub(super) fn replace(&mut self, key: Key, object: &Value, status: bool) -> Result<Value, Refusal> {
        let stored = self.existing(&key)?.clone();
        let sent_version = text(object, "/metadata/resourceVersion");
        if sent_version.is_some() && sent_version != text(&stored, "/metadata/resourceVersion") {
            let message = "the object has been modified; please apply your changes to the latest version";
            return Err((409, "Conflict", message.to_owned()));
        }
        let sent_uid = text(object, "/metadata/uid");
        if sent_uid.is_some() && sent_uid != text(&stored, "/metadata/uid") {
            return Err((409, "Conflict", "Precondition failed: UID in precondition".to_owned()));
        }
        let mut next = if status { stored.clone() } else { object.clone() };
        let kept = if status { object } else { &stored };
        set(&mut next, "status", kept.get("status").cloned());
        for field in ["uid", "creationTimestamp", "generation", "deletionTimestamp"] {
            let value = stored.pointer("/metadata").and_then(|m| m.get(field)).cloned();
            if let (Some(value), Some(meta)) = (value, next.get_mut("metadata").and_then(Value::as_object_mut)) {
                meta.insert(field.to_owned(), value);
            }
        }
        Ok(self.update(key, &stored, next))
    }

    /// JSON merge patch (RFC 7396) of an object, or of its status alone.
    pub(super) fn merge(&mut self, key: Key, patch: &Value, status: bool) -> Result<Value, Refusal> {
        let stored = self.existing(&key)?.clone();
        let mut next = stored.clone();
        if status {
            let mut part = json!({"status": next.get("status").cloned().unwrap_or_default()});
            json_patch::merge(
                &mut part,
                &json!({"status": patch.get("status").cloned().unwrap_or_default()}),
            );
            set(&mut next, "status", part.get("status").cloned());
        } else {
            json_patch::merge(&mut next, patch);
        }
        Ok(self.update(key, &stored, next))
    }

    /// DELETE with its options. An object with finalizers, and a Pod with a grace, stays and is marked.
    pub(super) fn delete(&mut self, key: &Key, options: &Value, dry_run: bool) -> Result<Value, Refusal> {
        let mut stored = self.existing(key)?.clone();
        for (wanted, have) in [
            ("/preconditions/uid", "/metadata/uid"),
            ("/preconditions/resourceVersion", "/metadata/resourceVersion"),
        ] {
            if text(options, wanted).is_some_and(|wanted| Some(wanted) != text(&stored, have)) {
                return Err((409, "Conflict", format!("Precondition failed: {wanted}")));
            }
        }
        let now_at_once = options.get("gracePeriodSeconds").and_then(Value::as_i64) == Some(0);
        let ended = matches!(text(&stored, "/status/phase").as_deref(), Some("Succeeded" | "Failed"));
        let lingers = key.resource == "pods" && !now_at_once && !ended;
        if dry_run {
            return Ok(stored);
        }
        if !lingers && !has_finalizers(&stored) {
            return Ok(self.remove(key).unwrap_or_default());
        }
        if stored.pointer("/metadata/deletionTimestamp").is_none() {
            meta(&mut stored).insert("deletionTimestamp".to_owned(), json!(self.stamp()));
            return Ok(self.store(key.clone(), "MODIFIED", stored));
        }
        Ok(stored)
    }

    fn existing(&self, key: &Key) -> Result<&Value, Refusal> {
        self.objects.get(key).ok_or_else(|| {
            let message = format!("{} \"{}\" not found", key.resource, key.name);
            (404, "NotFound", message)
        })
    }

    fn update(&mut self, key: Key, stored: &Value, mut next: Value) -> Value {
        bump_generation(stored.get("spec"), &mut next);
        if next.pointer("/metadata/deletionTimestamp").is_some() && !has_finalizers(&next) && key.resource != "pods" {
            return self.remove(&key).unwrap_or_default();
        }
        let same = {
            let mut compared = next.clone();
            let version = stored.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
            meta(&mut compared).insert("resourceVersion".to_owned(), version);
            &compared == stored
        };
        // A write that changes nothing makes no version and no event, as in the real server.
        if same {
            return stored.clone();
        }
        self.store(key, "MODIFIED", next)
    }

    fn complete(&mut self, object: &mut Value) {
        self.serial += 1;
        let uid = format!("00000000-0000-0000-0000-{:012}", self.serial);
        let stamp = self.stamp();
        let meta = meta(object);
        meta.entry("uid").or_insert(json!(uid));
        meta.entry("creationTimestamp").or_insert(json!(stamp));
        meta.entry("generation").or_insert(json!(1));
    }

    fn store(&mut self, key: Key, kind: &'static str, mut object: Value) -> Value {
        self.version += 1;
        meta(&mut object).insert("resourceVersion".to_owned(), json!(self.version.to_string()));
        self.objects.insert(key.clone(), object.clone());
        self.record(kind, key, object.clone());
        object
    }

    fn record(&mut self, kind: &'static str, key: Key, object: Value) {
        self.history.push(Change {
            version: self.version,
            kind,
            key,
            object,
        });
    }
}

pub(super) fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

fn meta(object: &mut Value) -> &mut Map<String, Value> {
    let object = object.as_object_mut().expect("an object");
    let meta = object.entry("metadata").or_insert_with(|| json!({}));
    meta.as_object_mut().expect("metadata is an object")
}

fn set(object: &mut Value, field: &str, value: Option<Value>) {
    let object = object.as_object_mut().expect("an object");
    match value {
        Some(value) => object.insert(field.to_owned(), value),
        None => object.remove(field),
    };
}

fn has_finalizers(object: &Value) -> bool {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

fn bump_generation(before: Option<&Value>, object: &mut Value) {
    if object.get("spec") != before {
        let generation = object
            .pointer("/metadata/generation")
            .and_then(Value::as_i64)
            .unwrap_or(1);
        meta(object).insert("generation".to_owned(), json!(generation + 1));
    }
}
