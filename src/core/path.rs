//! Paths of fields, as the API server writes them: `spec.pipeline_config.pipeline.segments[1].steps_config.parse`.
//!
//! Must never lose a step: a path is looked up again in the old object, to tell an old fault from a new one.

use std::fmt;

use serde_json::Value;

/// Where a walk through a JSON value stands: a chain on the stack, which costs nothing until a fault is found.
#[derive(Clone, Copy, Debug)]
pub enum At<'a> {
    /// The object itself.
    Root,
    /// A field of an object.
    Key(&'a At<'a>, &'a str),
    /// An element of a list.
    Index(&'a At<'a>, usize),
}

impl At<'_> {
    /// The path from the root to here.
    #[must_use]
    pub fn path(&self) -> FieldPath {
        let mut steps = Vec::new();
        let mut at = self;
        loop {
            match at {
                At::Root => break,
                At::Key(parent, key) => {
                    steps.push(Step::Key((*key).to_owned()));
                    at = parent;
                }
                At::Index(parent, index) => {
                    steps.push(Step::Index(*index));
                    at = parent;
                }
            }
        }
        steps.reverse();
        FieldPath(steps)
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into a field of an object.
    Key(String),
    /// Into an element of a list, counted from 0.
    Index(usize),
}

/// A path from the root of an object to a field, which need not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Step>);

impl FieldPath {
    /// The path of a field of `spec`.
    #[must_use]
    pub fn spec(field: &str) -> Self {
        Self::default().key("spec").key(field)
    }

    /// This path and one step into a field.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.0.push(Step::Key(key.to_owned()));
        self
    }

    /// This path and one step into an element of a list.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    /// This path and the steps of another behind it.
    #[must_use]
    pub fn join(mut self, rest: &[Step]) -> Self {
        self.0.extend_from_slice(rest);
        self
    }

    /// Its steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// What stands there in `root`; `None` when the path does not exist in it.
    #[must_use]
    pub fn lookup<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(root, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Index(index) => value.get(index),
        })
    }
}

/// The path to which deserialization came.
impl From<&serde_path_to_error::Path> for FieldPath {
    fn from(path: &serde_path_to_error::Path) -> Self {
        use serde_path_to_error::Segment;
        Self(
            path.iter()
                .filter_map(|segment| match segment {
                    Segment::Seq { index } => Some(Step::Index(*index)),
                    Segment::Map { key } => Some(Step::Key(key.clone())),
                    Segment::Enum { variant } => Some(Step::Key(variant.clone())),
                    Segment::Unknown => None,
                })
                .collect(),
        )
    }
}

/// The path of what a type leaves unread.
impl From<&serde_ignored::Path<'_>> for FieldPath {
    fn from(path: &serde_ignored::Path<'_>) -> Self {
        use serde_ignored::Path;
        match path {
            Path::Root => Self::default(),
            Path::Seq { parent, index } => Self::from(*parent).index(*index),
            Path::Map { parent, key } => Self::from(*parent).key(key),
            Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
                Self::from(*parent)
            }
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                // A path stays on its line, whatever a key holds.
                Step::Key(key) if key.contains(char::is_control) => write!(f, "[{key:?}]")?,
                // As Kubernetes does it for keys of maps: a dot in a key would read as a step.
                Step::Key(key) if !is_plain(key) => write!(f, "[{key}]")?,
                Step::Key(key) if position == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_reads_as_the_api_server_writes_it() {
        let spec = At::Key(&At::Root, "spec");
        let list = At::Key(&spec, "list");
        let element = At::Index(&list, 2);
        assert_eq!(At::Key(&element, "a").path().to_string(), "spec.list[2].a");
        assert_eq!(
            FieldPath::spec("labels").key("a.b/c").key("d").to_string(),
            "spec.labels[a.b/c].d"
        );
        assert_eq!(FieldPath::spec("a\nb").to_string(), "spec[\"a\\nb\"]");
    }

    #[test]
    fn a_path_finds_the_value_that_it_was_taken_from() {
        let object = json!({"spec": {"a.b": [1, {"c": true}]}});
        let path = FieldPath::spec("a.b").index(1).key("c");
        assert_eq!(path.lookup(&object), Some(&json!(true)));
        assert_eq!(FieldPath::spec("b").lookup(&object), None);
    }
}
