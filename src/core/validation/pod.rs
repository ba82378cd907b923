//! Rules on the rendered Pod as Kubernetes' own types read it.
//!
//! Must never refuse a field that the types do not know: the API server may be newer than they are.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{Container, PodSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Subject;
use super::reading::type_message;
use super::source::source;
use crate::api::streaming_pipeline::OpenObject;
use crate::core::path::{FieldPath, Step};
use crate::core::violation::{FaultKind, Finding};

/// The lists of a Pod's spec that hold containers.
pub(super) const SOURCE_CONTAINERS: [&str; 2] = ["initContainers", "containers"];

/// Rule: every part of the rendered Pod is of the type that Kubernetes has for it.
pub(super) fn types(subject: &Subject<'_>) -> Vec<Finding> {
    if subject.pod.is_of_its_types {
        return Vec::new();
    }
    let mut findings = Vec::new();
    each_part(subject, &mut |part| {
        if let Some((path, message)) = part.type_fault() {
            let path = source(subject, &path);
            // What could not be merged is told already.
            let is_told = subject.composition.findings.iter().any(|told| told.path == path);
            if !is_told {
                findings.push(Finding::of_rendered(path, FaultKind::TypeInvalid, message));
            }
        }
    });
    findings
}

/// What a first look at the whole template says: nearly always that there is nothing to find, several times cheaper than
/// to look for it part by part.
#[derive(Clone, Debug)]
pub(super) struct FirstLook {
    /// All of it can be read at once.
    is_of_its_types: bool,
    /// Then the fields that Kubernetes' types do not know.
    unknown: Vec<Vec<Step>>,
}

impl FirstLook {
    /// A look at a Pod template.
    pub(super) fn at(template: &OpenObject) -> Self {
        let mut unknown = Vec::new();
        let metadata = is_read::<ObjectMeta>(template, "metadata", &mut unknown);
        let spec = is_read::<PodSpec>(template, "spec", &mut unknown);
        Self {
            is_of_its_types: metadata && spec,
            unknown,
        }
    }
}

/// Whether a field of a template is there and of a type; adds to `unknown` what the type does not know of it, which a null
/// there does not count as.
fn is_read<'v, T: Deserialize<'v>>(template: &'v OpenObject, field: &str, unknown: &mut Vec<Vec<Step>>) -> bool {
    let Some(value) = template.get(field) else { return false };
    let mut note = |path: serde_ignored::Path<'_>| {
        let steps = steps_of(&path);
        let ignored = FieldPath::default().join(&steps);
        if ignored.lookup(value).is_some_and(|value| !value.is_null()) {
            let mut path = vec![Step::Key(field.to_owned())];
            path.extend(steps);
            unknown.push(path);
        }
    };
    serde_ignored::deserialize::<_, _, T>(value, &mut note).is_ok()
}

fn steps_of(mut path: &serde_ignored::Path<'_>) -> Vec<Step> {
    use serde_ignored::Path;
    let mut steps = Vec::new();
    loop {
        path = match path {
            Path::Root => break,
            Path::Seq { parent, index } => {
                steps.push(Step::Index(*index));
                parent
            }
            Path::Map { parent, key } => {
                steps.push(Step::Key(key.clone()));
                parent
            }
            Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => parent,
        };
    }
    steps.reverse();
    steps
}

/// Paths of the fields that Kubernetes' types do not know.
pub(super) fn unknown_fields(subject: &Subject<'_>) -> Vec<FieldPath> {
    if subject.pod.is_of_its_types {
        let unknown = subject.pod.unknown.iter();
        return unknown.map(|path| source(subject, path)).collect();
    }
    let mut paths = Vec::new();
    each_part(subject, &mut |part| {
        let unknown = part.unknown_fields();
        paths.extend(unknown.into_iter().map(|path| source(subject, &path)));
    });
    paths
}

/// A part of a Pod that is read for itself, so that its fault does not hide those of the others.
struct Part<'a> {
    path: Vec<Step>,
    value: Cow<'a, Value>,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Metadata,
    Container,
    Volume,
    /// The spec without the lists that are read element by element.
    Rest,
}

/// The lists of a Pod's spec that are read element by element.
const LISTS: [(&str, Kind); 3] = [
    ("initContainers", Kind::Container),
    ("containers", Kind::Container),
    ("volumes", Kind::Volume),
];

fn each_part(subject: &Subject<'_>, visit: &mut dyn FnMut(&Part<'_>)) {
    let template = &subject.composition.primary;
    let key = |name: &str| Step::Key(name.to_owned());
    let mut parts = |path: Vec<Step>, value: &Value, kind: Kind| {
        let value = with_text_quantities(value, kind);
        visit(&Part { path, value, kind });
    };
    if let Some(metadata) = template.get("metadata") {
        parts(vec![key("metadata")], metadata, Kind::Metadata);
    }
    if let Some(spec) = template.get("spec") {
        parts(vec![key("spec")], spec, Kind::Rest);
    }
    for (list, kind) in LISTS {
        for (index, element) in rendered_list(subject, list).iter().enumerate() {
            parts(vec![key("spec"), key(list), Step::Index(index)], element, kind);
        }
    }
}

impl Part<'_> {
    fn type_fault(&self) -> Option<(Vec<Step>, String)> {
        match self.kind {
            Kind::Metadata => self.read::<ObjectMeta>().err(),
            Kind::Container => self.read::<Container>().err(),
            Kind::Volume => self.read::<Volume>().err(),
            Kind::Rest => self.read_rest().err(),
        }
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T, (Vec<Step>, String)> {
        serde_path_to_error::deserialize(&*self.value).map_err(|error| self.located(&error))
    }

    fn read_rest(&self) -> Result<PodSpec, (Vec<Step>, String)> {
        let fields = self.value.as_object().into_iter().flatten();
        // A list that is none is not read element by element, and is at fault here.
        let rest = fields.filter(|(field, value)| !(is_list(field) && value.is_array()));
        let fields = MapDeserializer::new(rest.map(|(field, value)| (field.as_str(), value)));
        serde_path_to_error::deserialize(fields).map_err(|error| self.located(&error))
    }

    fn located(&self, error: &serde_path_to_error::Error<serde_json::Error>) -> (Vec<Step>, String) {
        let mut path = self.path.clone();
        path.extend_from_slice(FieldPath::from(error.path()).steps());
        (path, type_message(error.inner()))
    }

    fn unknown_fields(&self) -> Vec<Vec<Step>> {
        let known = match self.kind {
            Kind::Metadata => written(self.read::<ObjectMeta>()),
            Kind::Container => written(self.read::<Container>()),
            Kind::Volume => written(self.read::<Volume>()),
            Kind::Rest => written(self.read_rest()),
        };
        let mut unknown = Vec::new();
        if let Some(known) = known {
            let mut path = self.path.clone();
            collect_unknown(&self.value, &known, &mut path, &mut unknown);
        }
        if matches!(self.kind, Kind::Rest) {
            unknown.retain(|path| !matches!(path.get(1), Some(Step::Key(field)) if is_list(field)));
        }
        unknown
    }
}

fn is_list(field: &str) -> bool {
    LISTS.iter().any(|(list, _)| *list == field)
}

fn written<T: Serialize>(read: Result<T, (Vec<Step>, String)>) -> Option<Value> {
    serde_json::to_value(read.ok()?).ok()
}

/// Fields of `given` that are not in `known`, which was read from it and written again.
fn collect_unknown(given: &Value, known: &Value, path: &mut Vec<Step>, unknown: &mut Vec<Vec<Step>>) {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            for (field, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                path.push(Step::Key(field.clone()));
                match known.get(field) {
                    Some(known) => collect_unknown(value, known, path, unknown),
                    None => unknown.push(path.clone()),
                }
                path.pop();
            }
        }
        (Value::Array(given), Value::Array(known)) => {
            for (index, (given, known)) in given.iter().zip(known).enumerate() {
                path.push(Step::Index(index));
                collect_unknown(given, known, path, unknown);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The API server takes a number where a quantity is wanted (`cpu: 2`); Kubernetes' types for Rust want a string.
fn with_text_quantities(value: &Value, kind: Kind) -> Cow<'_, Value> {
    let pointers: &[&str] = match kind {
        Kind::Container => &["/resources/requests", "/resources/limits"],
        Kind::Volume => &["/emptyDir"],
        Kind::Metadata | Kind::Rest => &[],
    };
    let mut value = Cow::Borrowed(value);
    for pointer in pointers {
        let quantities = value.pointer(pointer).and_then(Value::as_object);
        if quantities.is_some_and(|quantities| quantities.values().any(Value::is_number))
            && let Some(Value::Object(quantities)) = value.to_mut().pointer_mut(pointer)
        {
            for quantity in quantities.values_mut().filter(|quantity| quantity.is_number()) {
                *quantity = json!(quantity.to_string());
            }
        }
    }
    value
}

/// A list of the rendered Pod's spec; empty when there is none.
pub(super) fn rendered_list<'s>(subject: &'s Subject<'_>, list: &str) -> &'s [Value] {
    let spec = subject.composition.primary.get("spec");
    let elements = spec.and_then(|spec| spec.get(list)).and_then(Value::as_array);
    elements.map_or(&[], Vec::as_slice)
}
