//! JSON text with sorted keys, in the two styles on which digests depend.
//!
//! Must never give two texts for one value.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

use crate::api::streaming_pipeline::OpenObject;

use super::number;

/// How values are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    comma: &'static str,
    colon: &'static str,
    /// Whether whatever is not printable ASCII is escaped, as UTF-16.
    ascii: bool,
    number: fn(&str) -> Cow<'_, str>,
}

/// Python's `json.dumps(value, sort_keys=True)`.
pub(super) const PYTHON: Style = Style {
    comma: ", ",
    colon: ": ",
    ascii: true,
    number: number::python,
};

/// Without white space, with the numbers that the API server hands out.
pub(super) const CANONICAL: Style = Style {
    comma: ",",
    colon: ":",
    ascii: false,
    number: number::api_server,
};

impl Style {
    /// Appends an object.
    pub(super) fn write_object(&self, out: &mut String, object: &OpenObject) {
        // Order of UTF-8 bytes is order of code points.
        let mut entries: Vec<_> = object.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| key.as_str());
        out.push('{');
        for (position, (key, value)) in entries.into_iter().enumerate() {
            if position > 0 {
                out.push_str(self.comma);
            }
            self.write_text(out, key);
            out.push_str(self.colon);
            self.write_value(out, value);
        }
        out.push('}');
    }

    fn write_value(&self, out: &mut String, value: &Value) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(literal) => out.push_str(&(self.number)(literal.as_str())),
            Value::String(text) => self.write_text(out, text),
            Value::Array(elements) => {
                out.push('[');
                for (position, element) in elements.iter().enumerate() {
                    if position > 0 {
                        out.push_str(self.comma);
                    }
                    self.write_value(out, element);
                }
                out.push(']');
            }
            Value::Object(object) => self.write_object(out, object),
        }
    }

    /// Appends a string with its quotes.
    pub(super) fn write_text(&self, out: &mut String, text: &str) {
        out.push('"');
        // Nearly all text needs no escape, and is taken over as a whole.
        let mut start = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| self.escapes(*c)) {
            out.push_str(text.get(start..at).unwrap_or_default());
            write_escape(out, c);
            start = at + c.len_utf8();
        }
        out.push_str(text.get(start..).unwrap_or_default());
        out.push('"');
    }

    fn escapes(&self, c: char) -> bool {
        match c {
            '"' | '\\' => true,
            ' '..='~' => false,
            _ => c < ' ' || self.ascii,
        }
    }
}

fn write_escape(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}
