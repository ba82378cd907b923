//! YAML out of JSON values, with every number as it is written. Must never change a literal.

use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The YAML of one object, without a document separator.
///
/// Fails when the object has no JSON form.
pub(super) fn to_yaml<T: Serialize>(object: &T) -> Result<String, String> {
    let value = serde_json::to_value(object).map_err(|error| error.to_string())?;
    serde_saphyr::to_string(&Plain(&value)).map_err(|error| error.to_string())
}

/// A JSON value that serialises its numbers as numbers: with `arbitrary_precision` `serde_json` hands them to any other
/// serialiser as a map with a private key.
struct Plain<'a>(&'a Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::String(value) => serializer.serialize_str(value),
            Value::Number(number) => {
                let literal = number.as_str();
                if let Ok(value) = literal.parse::<i128>() {
                    serializer.serialize_i128(value)
                } else {
                    serializer.serialize_f64(literal.parse().map_err(S::Error::custom)?)
                }
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Plain(item))?;
                }
                list.end()
            }
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    map.serialize_entry(key, &Plain(value))?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::to_yaml;

    #[test]
    fn numbers_stand_as_numbers_and_strings_that_look_like_them_are_quoted() {
        let value = serde_json::json!({"a": 1, "b": 1.5, "c": "1", "d": [true, null, "yes"]});
        assert_eq!(
            to_yaml(&value).unwrap(),
            "a: 1\nb: 1.5\nc: \"1\"\nd:\n- true\n- null\n- \"yes\"\n"
        );
    }
}
