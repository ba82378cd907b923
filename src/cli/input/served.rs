//! A document as kubectl sends it and the API server stores it: kinds of list items, numbers, the namespace. Must never
//! change what the two leave alone.

use serde_json::Value;

use crate::core::number;
use crate::core::path::{At, FieldPath};

/// An item of a list with the apiVersion and kind that the list gives to one that has neither, as kubectl does it.
pub(super) fn typed(mut item: Value, (version, kind): &(String, String)) -> Value {
    if let Value::Object(fields) = &mut item
        && !kind.is_empty()
        && !fields.contains_key("apiVersion")
        && !fields.contains_key("kind")
    {
        fields.insert("apiVersion".to_owned(), Value::String(version.clone()));
        fields.insert("kind".to_owned(), Value::String(kind.clone()));
    }
    item
}

/// Fails with the path of the first number that is beyond a float of 64 bits, and its literal.
pub(super) fn serve_numbers(value: &mut Value, at: &At<'_>) -> Result<(), (FieldPath, String)> {
    match value {
        Value::Number(literal) => {
            if !literal.as_f64().is_some_and(f64::is_finite) {
                return Err((at.path(), literal.to_string()));
            }
            if let Ok(served) = number::api_server(literal.as_str()).parse() {
                *literal = served;
            }
            Ok(())
        }
        Value::Array(elements) => {
            let mut elements = elements.iter_mut().enumerate();
            elements.try_for_each(|(index, element)| serve_numbers(element, &At::Index(at, index)))
        }
        Value::Object(fields) => {
            let mut fields = fields.iter_mut();
            fields.try_for_each(|(field, value)| serve_numbers(value, &At::Key(at, field)))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// Gives an object that names no namespace this one.
pub(super) fn set_namespace(object: &mut Value, namespace: &str) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        let own = metadata.entry("namespace").or_insert(Value::Null);
        if own.is_null() {
            *own = Value::String(namespace.to_owned());
        }
    }
}
