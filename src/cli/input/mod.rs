//! Files of manifests: what is in them, and at which line.
//!
//! Reads JSON with every number as it is written, and YAML as kubectl reads it. Must never guess at a document that it
//! cannot read: that is said, and the others are still read.

mod documents;
mod encoding;
mod kubectl_yaml;
mod report;
mod scalar;
mod served;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::meta;
use crate::core::path::{At, FieldPath};
use served::{serve_numbers, set_namespace, typed};

/// Extensions of the files that are read in a folder.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// The pipelines, in the order of the files.
    pub(super) documents: Vec<Document>,
    /// What could not be read.
    pub(super) problems: Vec<Problem>,
    /// The analyses, likewise.
    pub(super) analyses: Vec<Document>,
    /// Documents of other kinds than pipelines.
    pub(super) skipped: Vec<Skipped>,
    /// The namespace of documents that name none.
    namespace: String,
}

/// A StreamingPipeline or a RolloutAnalysis in a file.
#[derive(Debug)]
pub(super) struct Document {
    /// Where it stands.
    pub(super) place: Place,
    /// The object, without defaults; a pipeline has a namespace, even when its manifest names none.
    pub(super) object: Value,
    /// Keys that occur twice in one object, each with its path.
    pub(super) duplicate_keys: Vec<String>,
    /// How many pipelines and analyses stand before it.
    pub(super) position: usize,
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
    /// The object, where it is a Deployment: the Python operator made such, and `plan` tells how they are taken over.
    pub(super) deployment: Option<Value>,
}

impl Document {
    /// `metadata.namespace`.
    pub(super) fn namespace(&self) -> &str {
        self.metadata("namespace").unwrap_or("default")
    }

    /// The namespace that it names, if it does.
    pub(super) fn object_namespace(&self) -> Option<&str> {
        self.metadata("namespace").filter(|namespace| !namespace.is_empty())
    }

    /// Its spec as a type; fails with the path of what cannot be read, and why.
    pub(super) fn spec<T: DeserializeOwned>(&self) -> Result<T, (String, String)> {
        let spec = self.object.get("spec").unwrap_or(&Value::Null);
        serde_path_to_error::deserialize(spec).map_err(|error| {
            let path = FieldPath::from(error.path()).to_string();
            let path = if path.is_empty() {
                "spec".to_owned()
            } else {
                format!("spec.{path}")
            };
            (path, error.into_inner().to_string())
        })
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

    /// Plural name of its kind.
    pub(super) fn plural(&self) -> &'static str {
        match self.object.get("kind").and_then(Value::as_str) {
            Some(meta::ANALYSIS_KIND) => meta::ANALYSIS_PLURAL,
            _ => meta::PLURAL,
        }
    }

    /// What objects of its kind are called.
    pub(super) fn kinds(&self) -> &'static str {
        match self.plural() {
            meta::ANALYSIS_PLURAL => "RolloutAnalyses",
            _ => "StreamingPipelines",
        }
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

/// Whether stdin, which can be read only once, is named more than once.
pub(super) fn stdin_is_named_twice<'a>(paths: impl IntoIterator<Item = &'a String>) -> bool {
    paths.into_iter().filter(|path| *path == "-").count() > 1
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
    /// The same with every number of a spec as the API server hands it out (`2.0` → 2): what a document of JSON holds
    /// once it was applied. In YAML all numbers were read so. A document with a number that kubectl cannot read counts
    /// as one that cannot be read.
    pub(super) fn served(mut self) -> Self {
        self.documents = self.served_documents(|input| &mut input.documents);
        self.analyses = self.served_documents(|input| &mut input.analyses);
        self
    }

    /// Those of the documents that could be served; the others are problems.
    fn served_documents(&mut self, which: impl Fn(&mut Self) -> &mut Vec<Document>) -> Vec<Document> {
        let mut served = Vec::new();
        for mut document in std::mem::take(which(self)) {
            let spec = document.object.get_mut("spec");
            match spec.map_or(Ok(()), |spec| serve_numbers(spec, &At::Key(&At::Root, "spec"))) {
                Ok(()) => served.push(document),
                Err((path, literal)) => {
                    let path = path.to_string();
                    let line = document.line_of(&path);
                    let place = Place { line, ..document.place };
                    let message = format!("{path} is {literal}, which is more than a 64-bit float can hold");
                    self.problems.push(Problem { place, message });
                }
            }
        }
        served
    }

    /// The same with the namespace written into each analysis that names none, as pipelines have it.
    pub(super) fn with_namespaces(mut self) -> Self {
        for analysis in &mut self.analyses {
            set_namespace(&mut analysis.object, &self.namespace);
        }
        self
    }

    fn unreadable(&mut self, file: &str, message: String) {
        let place = Place {
            file: file.to_owned(),
            document: 1,
            line: 1,
        };
        self.problems.push(Problem { place, message });
    }

    fn take(&mut self, file: &str, bytes: io::Result<Vec<u8>>) {
        let text = match bytes.map_err(|error| error.to_string()).and_then(encoding::text) {
            Ok(text) => text,
            Err(why) => return self.unreadable(file, why),
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
        let position = self.documents.len() + self.analyses.len();
        match (version, kind) {
            (meta::API_VERSION, meta::KIND) => {
                set_namespace(&mut object, &self.namespace);
                self.documents.push(Document {
                    place,
                    object,
                    duplicate_keys,
                    position,
                    lines,
                });
            }
            (meta::API_VERSION, meta::ANALYSIS_KIND) => {
                self.skipped.push(Skipped {
                    place: place.clone(),
                    kind: format!("{} {}", meta::API_VERSION, meta::ANALYSIS_KIND),
                    deployment: None,
                });
                self.analyses.push(Document {
                    place,
                    object,
                    duplicate_keys,
                    position,
                    lines,
                });
            }
            (version, kind) if kind.ends_with("List") && object.get("items").is_some_and(Value::is_array) => {
                let of_items = (version.to_owned(), kind.trim_end_matches("List").to_owned());
                let items = object.get_mut("items").and_then(Value::as_array_mut);
                for (index, item) in items.into_iter().flatten().enumerate() {
                    let item = typed(item.take(), &of_items);
                    let path = format!("items[{index}]");
                    let prefix = format!("{path}.");
                    let within = |path: &String| path.strip_prefix(&prefix).map(str::to_owned);
                    let keys = duplicate_keys.iter().filter_map(within).collect();
                    let line = lines.get(&path).copied().unwrap_or(place.line);
                    let lines = lines
                        .range(prefix.clone()..)
                        .map_while(|(path, line)| Some((within(path)?, *line)));
                    let place = Place { line, ..place.clone() };
                    self.sort(place, item, keys, lines.collect());
                }
            }
            _ => {
                let kind = if kind.is_empty() {
                    "something without apiVersion and kind".to_owned()
                } else {
                    format!("{version} {kind}")
                };
                let deployment = (kind == "apps/v1 Deployment").then_some(object);
                self.skipped.push(Skipped {
                    place,
                    kind,
                    deployment,
                });
            }
        }
    }
}

/// For each document the place of the first one of the same object, if that is another. One whose name is generated is an
/// object of its own.
pub(super) fn repeated(documents: &[Document]) -> Vec<Option<&Place>> {
    let mut first: HashMap<(&str, &str), &Place> = HashMap::new();
    let named = documents.iter().map(|document| {
        let key = (document.namespace(), document.given_name()?);
        match first.entry(key) {
            Entry::Occupied(place) => Some(*place.get()),
            Entry::Vacant(vacant) => {
                vacant.insert(&document.place);
                None
            }
        }
    });
    named.collect()
}
