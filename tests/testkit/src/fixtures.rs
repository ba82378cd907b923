//! The manifests of `tests/fixtures`: what the rules of validation and the schema of the CRD refuse and accept, and what
//! is said of it.
//!
//! Files for people to read and to apply. A value that is too long for that is written `%{TEXT*COUNT}`: so often that
//! text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::assets;

/// A manifest in `tests/fixtures/rules/RULE/NAME.yaml`.
#[derive(Clone, Debug)]
pub struct RuleFixture {
    /// Name of the rule.
    pub rule: String,
    /// `accepted` or `refused`, and maybe a word more after a hyphen.
    pub name: String,
    /// The manifest as kubectl reads it.
    pub text: String,
    /// The same as an object.
    pub object: Value,
    /// What is said of it: `NAME.answer.yaml`.
    pub answer: Answer,
}

impl RuleFixture {
    /// Whether it is there to be refused.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.name.starts_with("refused")
    }
}

/// What is said of a manifest of a rule.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The faults that validation finds: what the webhook answers, and `validate` without a cluster.
    #[serde(default)]
    pub faults: Vec<Cause>,
    /// What the API server finds by the schema, before it asks the webhook.
    #[serde(default)]
    pub schema: Vec<Cause>,
    /// What it finds when the manifest would replace the one that the rule accepts: something immutable changes too.
    #[serde(default)]
    pub update: Vec<Cause>,
    /// Ways that end earlier, and with which words.
    #[serde(default)]
    pub instead: BTreeMap<String, String>,
    /// The only ways in which it can be sent, if not all.
    #[serde(default)]
    pub only: Vec<String>,
    /// Whether it is refused only in place of the one that the rule accepts.
    #[serde(default)]
    pub replaces: bool,
}

/// A cause in a `Status`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// The rule that finds it, when that is another one than the fixture's.
    pub rule: Option<String>,
    /// Path of the field.
    pub field: String,
    /// `FieldValueInvalid` and the like.
    pub reason: String,
    /// What is wrong.
    pub message: String,
}

/// An entry of `tests/fixtures/schema.yaml`: one thing that the schema asks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaCase {
    /// Path of the field and the keyword of the schema, such as `spec.replicas maximum`.
    pub constraint: String,
    /// What is merged into the `spec` of a pipeline that is valid, and stays so; `null` takes a field away.
    pub accepted: Value,
    /// What makes it invalid.
    pub refused: Value,
    /// What the stored one differs in, for what only an update can do wrong.
    #[serde(default)]
    pub stored: Option<Value>,
    /// What the API server says.
    pub causes: Vec<Cause>,
    /// What server-side apply says, where it reads the types itself.
    #[serde(default)]
    pub typed: Option<String>,
    /// Whether a stored fault of this kind is in the way of no other edit.
    #[serde(default)]
    pub ratchets: bool,
}

/// Every manifest of every rule, sorted by path.
///
/// # Errors
/// When a file cannot be read or is not as these types say.
pub fn rules() -> Result<Vec<RuleFixture>> {
    let mut fixtures = Vec::new();
    for folder in entries(&assets::repository().join("tests/fixtures/rules"))? {
        let rule = stem(&folder)?;
        for file in entries(&folder)? {
            let name = stem(&file)?;
            if name.ends_with(".answer") {
                continue;
            }
            let read = || -> Result<RuleFixture> {
                let text = expanded(&std::fs::read_to_string(&file)?)?;
                let answer = folder.join(format!("{name}.answer.yaml"));
                Ok(RuleFixture {
                    rule: rule.clone(),
                    name: name.clone(),
                    object: parse(&text)?,
                    text,
                    answer: if answer.exists() {
                        parse(&std::fs::read_to_string(answer)?)?
                    } else {
                        Answer::default()
                    },
                })
            };
            fixtures.push(read().with_context(|| format!("cannot read {} and what is said of it", file.display()))?);
        }
    }
    Ok(fixtures)
}

/// Every entry of the schema's table.
///
/// # Errors
/// When the file cannot be read or is not as these types say.
pub fn schema() -> Result<Vec<SchemaCase>> {
    let file = assets::repository().join("tests/fixtures/schema.yaml");
    let text = expanded(&std::fs::read_to_string(&file)?)?;
    parse(&text).with_context(|| format!("cannot read {}", file.display()))
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    // The reader's own limit is what one of the rules allows.
    let options = serde_saphyr::options! { budget: serde_saphyr::budget! { max_depth: 200 } };
    Ok(serde_saphyr::from_str_with_options(text, options)?)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<_> = read.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> Result<String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    Ok(stem
        .with_context(|| format!("{} has no name", path.display()))?
        .to_owned())
}

/// The text with each `%{TEXT*COUNT}` written out.
fn expanded(text: &str) -> Result<String> {
    let mut parts = text.split("%{");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let parse = || {
            let (repeat, rest) = part.split_once('}')?;
            let (text, count) = repeat.rsplit_once('*')?;
            Some((text.repeat(count.parse().ok()?), rest))
        };
        let (repeated, rest) = parse().with_context(|| format!("no %{{TEXT*COUNT}}: %{{{part}"))?;
        whole.push_str(&repeated);
        whole.push_str(rest);
    }
    Ok(whole)
}

/// A pipeline without a fault, whose `spec` has what is required and a `pipeline_name`: what the entries of the schema's
/// table are merged into, and what tests begin with that are not about the spec. Without a namespace.
#[must_use]
pub fn pipeline(name: &str) -> Value {
    json!({
        "apiVersion": "streams.sentry.io/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": { "name": name },
        "spec": {
            "service_name": "svc",
            "pipeline_name": "pipe",
            "pipeline_module": "pkg.mod",
            "image_name": "registry.example/app:1",
            "cpu_per_process": 100,
            "memory_per_process": 256,
            "deployment_template": {},
            "container_template": {},
            "pipeline_config": { "pipeline": {
                "adapter_config": { "arroyo": { "write_healthcheck": true } },
                "segments": [{ "steps_config": { "parse": {} } }],
            } },
        },
    })
}

/// A RolloutAnalysis of a pipeline of its own name, without a fault and without what has a default.
#[must_use]
pub fn analysis(name: &str) -> Value {
    json!({
        "apiVersion": "streams.sentry.io/v1alpha1",
        "kind": "RolloutAnalysis",
        "metadata": { "name": name },
        "spec": {
            "target": { "kind": "StreamingPipeline", "name": name },
            "metrics": [{ "name": "errors", "query": "errors", "maxValue": 1 }],
        },
    })
}

/// [`analysis`] with `edit` merged into its `spec`.
#[must_use]
pub fn edited_analysis(name: &str, edit: &Value) -> Value {
    let mut object = analysis(name);
    json_patch::merge(&mut object, &json!({ "spec": edit }));
    object
}

/// [`pipeline`] with `edit` merged into its `spec`.
#[must_use]
pub fn edited(name: &str, edit: &Value) -> Value {
    let mut object = pipeline(name);
    json_patch::merge(&mut object, &json!({ "spec": edit }));
    object
}

/// The JSON merge patch that makes `new` of `old`; `null` in `new` is as good as absent.
#[must_use]
pub fn difference(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return new.clone();
    };
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let mut patch: serde_json::Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new.iter().filter(|(key, value)| old.get(*key) != Some(value)) {
        let changed = old.get(key).map_or_else(|| value.clone(), |old| difference(old, value));
        patch.insert(key.clone(), changed);
    }
    Value::Object(patch)
}
