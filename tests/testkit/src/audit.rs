//! The audit log of the API server: the witness of who did what, independent of what the operator says of itself.
//!
//! The log is a file that the API server appends to just after it has answered. Whoever reads it first makes a request
//! of its own and waits until that appears: then everything answered before is there too.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::wait::{self, Seen};

/// A place in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark(u64);

/// The log of one control plane.
#[derive(Debug)]
pub struct Audit {
    file: PathBuf,
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Who asked, as the API server knows them.
    pub user: String,
    /// A verb of RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The API group; empty for the core group and for paths that are no resource.
    pub group: String,
    /// The resource in plural; empty for paths that are no resource.
    pub resource: String,
    /// `status`, `scale`, `eviction`, …; empty for the object itself.
    pub subresource: String,
    /// Empty for what is cluster-wide.
    pub namespace: String,
    /// Empty for lists and watches of many, and for creates with `generateName`.
    pub name: String,
    /// The HTTP status of the answer; 200 for a watch that has begun.
    pub code: u16,
    /// Of a delete.
    pub preconditions: Preconditions,
    /// Whether it was only tried (`dryRun=All`).
    pub dry_run: bool,
    /// What the client calls itself.
    pub user_agent: String,
    /// Path and query.
    pub uri: String,
    /// When the request came.
    pub received: Timestamp,
    /// When it was answered; of a watch, when it began.
    pub answered: Timestamp,
    /// The body of a write: the object, the patch or the delete options.
    pub body: Option<Value>,
}

/// What must be true of an object for a delete to happen; `None` where it was not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preconditions {
    /// The object's uid.
    pub uid: Option<String>,
    /// Its resourceVersion.
    pub resource_version: Option<String>,
}

impl Record {
    /// Whether it changes something when it succeeds. A review that is posted and a dry run change nothing.
    #[must_use]
    pub fn is_write(&self) -> bool {
        let changes = matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        );
        changes
            && !self.dry_run
            && !self.group.starts_with("authorization.k8s.io")
            && !self.group.starts_with("authentication.k8s.io")
    }

    /// Whether the API server did it.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether it is of this verb and resource (with `/subresource` where there is one).
    #[must_use]
    pub fn is(&self, verb: &str, resource: &str) -> bool {
        let (name, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        self.verb == verb && self.resource == name && self.subresource == subresource
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            received,
            user,
            verb,
            resource,
            subresource,
            namespace,
            name,
            code,
            ..
        } = self;
        write!(f, "{received} {user} {verb} {resource}")?;
        if !subresource.is_empty() {
            write!(f, "/{subresource}")?;
        }
        write!(f, " {namespace}/{name} {code}")?;
        if self.dry_run {
            write!(f, " (dry run)")?;
        }
        Ok(())
    }
}

impl Audit {
    /// The log in `file`, which the API server may not have made yet.
    #[must_use]
    pub fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The place after all that has been answered until now.
    ///
    /// # Errors
    /// When the API server does not answer or its log does not catch up.
    pub async fn mark(&self, client: &kube::Client) -> Result<Mark> {
        self.caught_up(client, Mark(self.length())).await
    }

    /// All requests since a mark, in the order in which they were answered.
    ///
    /// # Errors
    /// As [`Audit::mark`], and when a line of the log cannot be read.
    pub async fn since(&self, mark: Mark, client: &kube::Client) -> Result<Vec<Record>> {
        let end = self.caught_up(client, mark).await?;
        parse(&self.text(mark, Some(end))?)
    }

    /// The requests of one user since a mark.
    ///
    /// # Errors
    /// As [`Audit::since`].
    pub async fn since_by(&self, user: &str, mark: Mark, client: &kube::Client) -> Result<Vec<Record>> {
        let mut records = self.since(mark, client).await?;
        records.retain(|record| record.user == user);
        Ok(records)
    }

    /// All that is in the log now, without waiting for it to catch up: for the last words of a failed test.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn now(&self) -> Result<Vec<Record>> {
        parse(&self.text(Mark(0), None)?)
    }

    fn length(&self) -> u64 {
        // There is no file before the first request.
        std::fs::metadata(&self.file).map_or(0, |data| data.len())
    }

    /// Makes a request that can be told from all others and waits until the log has it: the place after it.
    async fn caught_up(&self, client: &kube::Client, from: Mark) -> Result<Mark> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let path = format!(
            "/version?testkit-mark={}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let request = hyper::Request::get(&path).body(Vec::new())?;
        client
            .request_text(request)
            .await
            .context("the API server does not answer")?;
        let needle = format!("\"requestURI\":\"{path}\"");
        wait::until("the audit log to catch up", wait::DEADLINE, async || {
            let text = self.text(from, None)?;
            let end = text
                .find(&needle)
                .and_then(|at| text.get(at..)?.find('\n').map(|line| at + line + 1));
            Ok(match end {
                Some(end) => Seen::Yes(Mark(from.0 + u64::try_from(end)?)),
                None => Seen::NotYet(format!("{} bytes without {needle}", text.len())),
            })
        })
        .await
    }

    /// The whole lines between two places.
    fn text(&self, from: Mark, to: Option<Mark>) -> Result<String> {
        let mut file =
            std::fs::File::open(&self.file).with_context(|| format!("cannot read {}", self.file.display()))?;
        file.seek(SeekFrom::Start(from.0))?;
        let mut bytes = Vec::new();
        file.take(to.map_or(u64::MAX, |to| to.0.saturating_sub(from.0)))
            .read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        String::from_utf8(bytes).context("the audit log is no UTF-8")
    }
}

/// An event as the API server writes it (audit.k8s.io/v1).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "auditID")]
    id: String,
    #[serde(rename = "requestURI")]
    uri: String,
    verb: String,
    user: EventUser,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    request_object: Option<Value>,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct EventUser {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

/// The records of whole lines. A watch is written when it begins and when it ends: its first line counts. Our own marks
/// are left out.
fn parse(text: &str) -> Result<Vec<Record>> {
    let mut seen = BTreeSet::new();
    let mut records = Vec::new();
    for line in text.lines() {
        let event: Event = serde_json::from_str(line).with_context(|| format!("unreadable audit line {line}"))?;
        if event.uri.contains("testkit-mark") || !seen.insert(event.id.clone()) {
            continue;
        }
        records.push(record(event));
    }
    Ok(records)
}

fn record(event: Event) -> Record {
    let options = event
        .request_object
        .as_ref()
        .filter(|_| event.verb.starts_with("delete"));
    let preconditions = options.and_then(|options| options.get("preconditions"));
    let dry_run_option = options.and_then(|options| options.get("dryRun")).is_some();
    let ObjectRef {
        api_group: group,
        resource,
        subresource,
        namespace,
        name,
    } = event.object_ref;
    Record {
        user: event.user.username,
        verb: event.verb,
        group,
        resource,
        subresource,
        namespace,
        name,
        code: event.response_status.code,
        preconditions: preconditions
            .and_then(|given| Preconditions::deserialize(given).ok())
            .unwrap_or_default(),
        dry_run: dry_run_option || event.uri.contains("dryRun=All"),
        user_agent: event.user_agent,
        uri: event.uri,
        received: event.request_received_timestamp,
        answered: event.stage_timestamp,
        body: event.request_object,
    }
}
