//! Merges untyped objects as the Python operator does, and says where two values do not go together.
//!
//! Must never delete anything and never change a type: `null` over a value is a conflict, and `1` and `1.0` are of
//! different types here as they are in Python.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::api::streaming_pipeline::OpenObject;

use super::number;
use super::path::{At, FieldPath};

/// The types that the merge tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number without fraction or exponent.
    Integer,
    /// A number with a fraction or an exponent, as it is written.
    Float,
    /// Text.
    String,
    /// A list.
    List,
    /// An object.
    Object,
}

impl JsonType {
    /// The type of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(literal) if number::is_float(literal.as_str()) => Self::Float,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Float => "a number with a fraction",
            Self::String => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        })
    }
}

/// Two values that cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Where.
    pub path: FieldPath,
    /// Why.
    pub why: Why,
}

/// Why two values cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// They are of different types.
    Types {
        /// The type of what is merged into.
        base: JsonType,
        /// The type of what is merged over it.
        over: JsonType,
    },
    /// A scalar would be overwritten by another where that is not allowed. JSON texts.
    Scalars {
        /// What stands there.
        base: String,
        /// What would replace it.
        over: String,
    },
}

/// What becomes of two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// The second is put behind the first.
    Append,
    /// As `Append`, but an element of a Pod's `containers`, `initContainers`, `volumes`, `volumeMounts` or `ports` is
    /// merged into the element of the first list that has its key (name, mountPath, port and protocol).
    ByKey,
}

/// Where elements of lists that were merged by key have come to stand: by the list of what was merged over, pairs of an
/// element's place in the merged list and in its own, ascending. Several can have been merged into one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed(BTreeMap<FieldPath, Vec<(usize, usize)>>);

impl Placed {
    /// Places in the list at `list`, of what was merged over, of the elements that the merged list has at `index`. `None`
    /// when that list was merged into none, and so every element has kept its place.
    #[must_use]
    pub fn origins(&self, list: &FieldPath, index: usize) -> Option<impl DoubleEndedIterator<Item = usize> + use<'_>> {
        let pairs = self.0.get(list)?;
        let start = pairs.partition_point(|(merged, _)| *merged < index);
        let end = pairs.partition_point(|(merged, _)| *merged <= index);
        let of_index = pairs.get(start..end).unwrap_or_default();
        Some(of_index.iter().map(|(_, own)| *own))
    }
}

/// Merges `over`, which stands at `at`, into `base`. What conflicts keeps the value of `base`. Gives where the elements of
/// lists have come to stand, of those that were merged by key.
pub fn merge(
    base: &mut OpenObject,
    over: OpenObject,
    lists: Lists,
    at: &At<'_>,
    conflicts: &mut Vec<Conflict>,
) -> Placed {
    let mut merge = Merge {
        lists,
        conflicts,
        placed: Placed::default(),
    };
    merge.objects(base, over, at);
    merge.placed
}

struct Merge<'m> {
    lists: Lists,
    conflicts: &'m mut Vec<Conflict>,
    placed: Placed,
}

impl Merge<'_> {
    fn objects(&mut self, base: &mut OpenObject, over: OpenObject, at: &At<'_>) {
        for (key, value) in over {
            match base.get_mut(&key) {
                None => {
                    base.insert(key, value);
                }
                Some(slot) => self.values(slot, value, &At::Key(at, &key), &key),
            }
        }
    }

    fn values(&mut self, slot: &mut Value, value: Value, at: &At<'_>, field: &str) {
        match (slot, value) {
            // Key by key would give the same.
            (Value::Object(base), Value::Object(over)) if base.is_empty() => *base = over,
            (Value::Object(base), Value::Object(over)) => self.objects(base, over, at),
            (Value::Array(base), Value::Array(over)) => match self.lists {
                Lists::Append => base.extend(over),
                Lists::ByKey => self.lists_by_key(base, over, at, field),
            },
            (slot, value) => {
                let (base, over) = (JsonType::of(slot), JsonType::of(&value));
                if base == over {
                    *slot = value;
                } else {
                    self.conflicts.push(Conflict {
                        path: at.path(),
                        why: Why::Types { base, over },
                    });
                }
            }
        }
    }

    fn lists_by_key(&mut self, base: &mut Vec<Value>, over: Vec<Value>, at: &At<'_>, field: &str) {
        // Only what was there before: two new elements with one key are the user's mistake, which validation names.
        let existing = base.len();
        let mut places = Vec::with_capacity(over.len());
        for (index, element) in over.into_iter().enumerate() {
            let twin = base
                .iter_mut()
                .take(existing)
                .enumerate()
                .find(|(_, candidate)| same_key(field, candidate, &element));
            match (twin, element) {
                (Some((place, Value::Object(twin))), Value::Object(element)) => {
                    places.push((place, index));
                    self.objects(twin, element, &At::Index(at, index));
                }
                (_, element) => {
                    places.push((base.len(), index));
                    base.push(element);
                }
            }
        }
        places.sort_unstable();
        self.placed.0.insert(at.path(), places);
    }
}

/// Whether two elements of the list `field` of a Pod are about the same thing, as the API server's own merge keys say.
fn same_key(field: &str, a: &Value, b: &Value) -> bool {
    let equal = |key: &str| matches!((a.get(key), b.get(key)), (Some(a), Some(b)) if a == b);
    let protocol = |value: &Value| {
        value
            .get("protocol")
            .and_then(Value::as_str)
            .unwrap_or("TCP")
            .to_owned()
    };
    match field {
        "containers" | "initContainers" | "volumes" => equal("name"),
        "volumeMounts" => equal("mountPath"),
        "ports" => equal("containerPort") && protocol(a) == protocol(b),
        _ => false,
    }
}

/// What of `over` cannot be merged into `base`, which stands at `at`, when no scalar may be overwritten by another.
pub fn conflicts(base: &OpenObject, over: &OpenObject, at: &At<'_>, found: &mut Vec<Conflict>) {
    for (key, value) in over {
        let Some(present) = base.get(key) else { continue };
        let at = At::Key(at, key);
        let why = match (present, value) {
            (Value::Object(base), Value::Object(over)) => {
                conflicts(base, over, &at, found);
                continue;
            }
            (Value::Array(_), Value::Array(_)) => continue,
            (present, value) if JsonType::of(present) != JsonType::of(value) => Why::Types {
                base: JsonType::of(present),
                over: JsonType::of(value),
            },
            (present, value) if present == value => continue,
            (present, value) => Why::Scalars {
                base: present.to_string(),
                over: value.to_string(),
            },
        };
        found.push(Conflict { path: at.path(), why });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> OpenObject {
        value.as_object().cloned().expect("an object")
    }

    fn merged(base: &Value, over: &Value, lists: Lists) -> (Value, Vec<Conflict>) {
        let mut base = object(base);
        let mut conflicts = Vec::new();
        merge(&mut base, object(over), lists, &At::Root, &mut conflicts);
        (Value::Object(base), conflicts)
    }

    #[test]
    fn objects_are_merged_lists_are_joined_and_scalars_are_replaced() {
        let (value, conflicts) = merged(
            &json!({"a": {"b": 1, "c": "x"}, "l": [1]}),
            &json!({"a": {"c": "y", "d": null}, "l": [2], "n": {}}),
            Lists::Append,
        );
        assert_eq!(value, json!({"a": {"b": 1, "c": "y", "d": null}, "l": [1, 2], "n": {}}));
        assert_eq!(conflicts, []);
    }

    #[test]
    fn every_value_of_another_type_is_a_conflict_and_the_base_stays() {
        let (value, conflicts) = merged(
            &json!({"a": {"i": 1, "f": 1, "n": "x", "b": 0}}),
            &json!({"a": {"i": 2, "f": 1.0, "n": null, "b": false}}),
            Lists::Append,
        );
        assert_eq!(value, json!({"a": {"i": 2, "f": 1, "n": "x", "b": 0}}));
        let found: Vec<_> = conflicts.iter().map(|c| c.path.to_string()).collect();
        assert_eq!(found, ["a.f", "a.n", "a.b"]);
        assert_eq!(
            conflicts.first().expect("a conflict").why,
            Why::Types {
                base: JsonType::Integer,
                over: JsonType::Float
            }
        );
    }

    #[test]
    fn elements_with_a_key_are_merged_into_their_twin_and_others_are_appended() {
        let (value, conflicts) = merged(
            &json!({"containers": [{"name": "a", "image": "i:1", "ports": [{"containerPort": 80}],
                                    "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}),
            &json!({"containers": [
                {"name": "a", "image": "i:2", "env": [{"name": "E", "value": "1"}],
                 "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}, {"containerPort": 80, "protocol": "UDP"}],
                 "volumeMounts": [{"mountPath": "/v", "readOnly": true}]},
                {"name": "b", "image": "j:1"}]}),
            Lists::ByKey,
        );
        assert_eq!(
            value,
            json!({"containers": [
                {"name": "a", "image": "i:2",
                 "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}, {"containerPort": 80, "protocol": "UDP"}],
                 "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": true}],
                 "env": [{"name": "E", "value": "1"}]},
                {"name": "b", "image": "j:1"}]})
        );
        assert_eq!(conflicts, []);
    }

    #[test]
    fn a_conflict_inside_a_list_names_the_element_of_what_is_merged_over() {
        let (_, conflicts) = merged(
            &json!({"containers": [{"name": "a"}, {"name": "b", "image": "i"}]}),
            &json!({"containers": [{"name": "b", "image": 1}]}),
            Lists::ByKey,
        );
        let found: Vec<_> = conflicts.iter().map(|c| c.path.to_string()).collect();
        assert_eq!(found, ["containers[0].image"]);
    }

    #[test]
    fn it_is_told_where_each_element_of_a_list_has_come_to_stand() {
        let mut base =
            object(&json!({"containers": [{"name": "a", "env": [1]}, {"name": "b"}], "volumes": [{"name": "v"}]}));
        let over = json!({"containers": [{"name": "c"}, {"name": "b"}, {"name": "a", "env": [2, 3]}, {"name": "b"}],
                          "initContainers": [{"name": "d"}]});
        let placed = merge(&mut base, object(&over), Lists::ByKey, &At::Root, &mut Vec::new());
        let origins = |list: &FieldPath, index| placed.origins(list, index).map(Iterator::collect::<Vec<_>>);
        let containers = FieldPath::default().key("containers");
        assert_eq!(origins(&containers, 0), Some(vec![2]));
        assert_eq!(origins(&containers, 1), Some(vec![1, 3]));
        assert_eq!(origins(&containers, 2), Some(vec![0]));
        assert_eq!(origins(&containers, 3), Some(vec![]));
        let env = containers.clone().index(2).key("env");
        assert_eq!(origins(&env, 0), Some(vec![]));
        assert_eq!(origins(&env, 2), Some(vec![1]));
        // There was no such list, and of the other one nothing was merged over.
        for list in ["initContainers", "volumes"] {
            assert_eq!(origins(&FieldPath::default().key(list), 0), None);
        }
    }

    #[test]
    fn a_different_scalar_is_a_conflict_where_nothing_may_be_overwritten() {
        let mut found = Vec::new();
        conflicts(
            &object(&json!({"m": {"name": "other", "l": [1], "same": "x", "t": 1}})),
            &object(&json!({"m": {"name": "ours", "l": [2], "same": "x", "t": "1", "new": 1}})),
            &At::Root,
            &mut found,
        );
        let paths: Vec<_> = found.iter().map(|c| c.path.to_string()).collect();
        assert_eq!(paths, ["m.name", "m.t"]);
        assert_eq!(
            found.first().expect("a conflict").why,
            Why::Scalars {
                base: "\"other\"".to_owned(),
                over: "\"ours\"".to_owned()
            }
        );
    }
}
