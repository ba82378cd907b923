//! Files of manifests: what is in them, and at which line.
//!
//! Reads JSON with every number as it is written, and YAML as kubectl reads it. Must never guess at a document that it
//! cannot read: that is said, and the others are still read.

mod documents;
mod kubectl_yaml;
mod scalar;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::api::meta;

/// Extensions of the files that are read in a folder.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// The pipelines, in the order of the files.
    pub(super) documents: Vec<Document>,
    /// What could not be read.
    pub(super) problems: Vec<Problem>,
    /// Documents of other kinds.
    pub(super) skipped: Vec<Skipped>,
    /// The namespace of documents that name none.
    namespace: String,
}

/// A StreamingPipeline in a file.
#[derive(Debug)]
pub(super) struct Document {
    /// Where it stands.
    pub(super) place: Place,
    /// The object, without defaults, but with a namespace when it names none.
    pub(super) object: Value,
    /// Keys that occur twice in one object, each with its path.
    pub(super) duplicate_keys: Vec<String>,
    /// Lines of the paths in the document, counted in the file.
    lines: BTreeMap<String, usize>,
}

/// Where a document stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The file; `-` is stdin.
    pub(super) file: String,
    /// Which document of the file, counted from 1.
    pub(super) document: usize,
    /// The line it begins in, counted from 1.
    pub(super) line: usize,
}

/// Something that cannot be read.
#[derive(Debug)]
pub(super) struct Problem {
    /// Where.
    pub(super) place: Place,
    /// Why.
    pub(super) message: String,
}

/// A document of another kind.
#[derive(Debug)]
pub(super) struct Skipped {
    /// Where.
    pub(super) place: Place,
    /// `apiVersion` and `kind`, as far as it has them.
    pub(super) kind: String,
}

impl Document {
    /// `metadata.namespace`.
    pub(super) fn namespace(&self) -> &str {
        self.metadata("namespace").unwrap_or("default")
    }

    /// `metadata.name`, or what a name would be generated from; may be empty.
    pub(super) fn name(&self) -> &str {
        self.metadata("name")
            .or_else(|| self.metadata("generateName"))
            .unwrap_or_default()
    }

    /// `metadata.name`; `None` when the API server is to make one up, or there is none.
    pub(super) fn given_name(&self) -> Option<&str> {
        self.metadata("name").filter(|name| !name.is_empty())
    }

    fn metadata(&self, field: &str) -> Option<&str> {
        self.object.get("metadata")?.get(field)?.as_str()
    }

    /// The line of a path such as `spec.rollout.paused`, or of the nearest thing around it.
    pub(super) fn line_of(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            if let Some(line) = self.lines.get(path) {
                return *line;
            }
            match path.rfind(['.', '[']).and_then(|end| path.get(..end)) {
                Some(parent) => path = parent,
                None => return self.place.line,
            }
        }
    }
}

/// Reads files, folders (with all below them) and `-`, which is stdin. What names no namespace is in `default`.
pub(super) fn read(paths: &[String]) -> Input {
    read_in("default", paths)
}

/// [`read`]; what names no namespace is in `namespace`.
pub(super) fn read_in(namespace: &str, paths: &[String]) -> Input {
    let mut input = Input {
        namespace: namespace.to_owned(),
        ..Input::default()
    };
    for path in paths {
        if path == "-" {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            input.take("-", read.map(|_| bytes));
        } else {
            for file in files(Path::new(path), &mut input) {
                input.take(&file.display().to_string(), std::fs::read(&file));
            }
        }
    }
    input
}

/// A file itself; of a folder every manifest in it, sorted.
fn files(path: &Path, input: &mut Input) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries: Vec<PathBuf> = match entries {
        Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
        Err(error) => {
            input.unreadable(&path.display().to_string(), error.to_string());
            return Vec::new();
        }
    };
    entries.sort();
    let is_manifest = |path: &Path| {
        path.extension()
            .is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known))
    };
    entries
        .into_iter()
        // Links to folders are not followed: they can lead back up.
        .filter(|entry| is_manifest(entry) || (entry.is_dir() && !entry.is_symlink()))
        .flat_map(|entry| files(&entry, input))
        .collect()
}

impl Input {
    fn unreadable(&mut self, file: &str, message: String) {
        let place = Place {
            file: file.to_owned(),
            document: 1,
            line: 1,
        };
        self.problems.push(Problem { place, message });
    }

    fn take(&mut self, file: &str, bytes: io::Result<Vec<u8>>) {
        let text = match bytes.map(String::from_utf8) {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => return self.unreadable(file, format!("is no UTF-8: {error}")),
            Err(error) => return self.unreadable(file, error.to_string()),
        };
        for (position, read) in documents::read(&text).into_iter().enumerate() {
            let place = Place {
                file: file.to_owned(),
                document: position + 1,
                line: read.line,
            };
            match read.content {
                Ok(content) => self.sort(place, content.value, content.duplicate_keys, content.lines),
                Err(fault) => self.problems.push(Problem {
                    place: Place {
                        line: fault.line,
                        ..place
                    },
                    message: fault.message,
                }),
            }
        }
    }

    fn sort(&mut self, place: Place, mut object: Value, duplicate_keys: Vec<String>, lines: BTreeMap<String, usize>) {
        let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        match (version, kind) {
            (meta::API_VERSION, meta::KIND) => {
                set_namespace(&mut object, &self.namespace);
                self.documents.push(Document {
                    place,
                    object,
                    duplicate_keys,
                    lines,
                });
            }
            ("v1", "List") => {
                let items = object.get_mut("items").and_then(Value::as_array_mut);
                for (index, item) in items.into_iter().flatten().enumerate() {
                    let prefix = format!("items[{index}].");
                    let within = |path: &String| path.strip_prefix(&prefix).map(str::to_owned);
                    let keys = duplicate_keys.iter().filter_map(within).collect();
                    let lines = lines
                        .iter()
                        .filter_map(|(path, line)| Some((within(path)?, *line)))
                        .collect();
                    self.sort(place.clone(), item.take(), keys, lines);
                }
            }
            _ => {
                let kind = if kind.is_empty() {
                    "something without apiVersion and kind".to_owned()
                } else {
                    format!("{version} {kind}")
                };
                self.skipped.push(Skipped { place, kind });
            }
        }
    }

    /// Says on stderr what was skipped and what could not be read.
    pub(super) fn report(&self) {
        for Skipped { place, kind } in &self.skipped {
            let (ours, version) = (meta::KIND, meta::API_VERSION);
            eprintln!(
                "{}:{}: skipped: {kind} is no {ours} of {version}",
                place.file, place.line
            );
        }
        for Problem { place, message } in &self.problems {
            eprintln!("{}:{}: cannot be read: {message}", place.file, place.line);
        }
    }
}

fn set_namespace(object: &mut Value, namespace: &str) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        let own = metadata.entry("namespace").or_insert(Value::Null);
        if own.is_null() {
            *own = Value::String(namespace.to_owned());
        }
    }
}
