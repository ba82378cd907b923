//! YAML as kubectl reads it: aliases, merge keys, tags, keys that become strings. One thing is told that kubectl keeps
//! silent about: a key that occurs twice.
//!
//! Must never grow without bounds: aliases and nesting have limits.

use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag, options};
use serde_json::{Map, Value};

use super::documents::{Content, Fault};
use super::scalar;
use crate::core::path::At;

/// Most values of a document, each alias counted with all it stands for: a few lines of aliases can mean billions.
const VALUES_MAX: usize = 1_000_000;
/// Deepest nesting; the API server takes less.
const DEPTH_MAX: usize = 128;

/// Reads one document of YAML whose first line is `first_line` of its file.
pub(super) fn read(first_line: usize, text: &str) -> Result<Content, Fault> {
    read_as(first_line, text, Escapes::OfYaml)
}

/// Lines and duplicate keys of a document of JSON; nearly all JSON is YAML. Of what is not, nothing is known.
pub(super) fn places_of_json(first_line: usize, text: &str) -> Content {
    read_as(first_line, text, Escapes::OfJson).unwrap_or_default()
}

/// Which escapes a quoted text may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// Those of YAML 1.1: neither `\/` nor halves of surrogate pairs.
    OfYaml,
    /// Those of JSON, too.
    OfJson,
}

fn read_as(first_line: usize, text: &str, escapes: Escapes) -> Result<Content, Fault> {
    let options = options! {
        emit_comments: false,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut reader = Reader {
        events: Parser::new_from_str_with_options(text, options),
        text,
        escapes,
        first_line,
        anchors: HashMap::new(),
        values: 0,
        content: Content::default(),
    };
    let mut document = None;
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd, _) => {}
            (Event::StreamEnd, _) => break,
            (event, span) if document.is_none() => document = Some(reader.node(event, &span, &At::Root, 0)?),
            (_, span) => return Err(reader.fault(&span, "a second document without a line of --- before it")),
        }
    }
    Ok(Content {
        value: document.unwrap_or_default(),
        ..reader.content
    })
}

struct Reader<'t> {
    events: Parser<'t, StrInput<'t>>,
    text: &'t str,
    escapes: Escapes,
    first_line: usize,
    anchors: HashMap<usize, Anchored>,
    values: usize,
    content: Content,
}

/// What an alias stands for.
struct Anchored {
    value: Value,
    /// How many values that is.
    values: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Fault> {
        match self.events.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(Fault {
                line: self.line(error.marker().line()),
                message: format!("invalid YAML: {}", error.info()),
            }),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn line(&self, line_of_document: usize) -> usize {
        self.first_line + line_of_document.saturating_sub(1)
    }

    fn fault(&self, span: &Span, message: impl Into<String>) -> Fault {
        Fault {
            line: self.line(span.start.line()),
            message: message.into(),
        }
    }

    fn count(&mut self, values: usize, span: &Span) -> Result<(), Fault> {
        self.values = self.values.saturating_add(values);
        if self.values > VALUES_MAX {
            return Err(self.fault(span, format!("more than {VALUES_MAX} values, aliases included")));
        }
        Ok(())
    }

    /// The value that begins with `event`.
    fn node(&mut self, event: Event<'t>, span: &Span, at: &At<'_>, depth: usize) -> Result<Value, Fault> {
        self.count(1, span)?;
        if depth > DEPTH_MAX {
            return Err(self.fault(span, format!("nested deeper than {DEPTH_MAX}")));
        }
        let before = self.values;
        let anchor = event.anchor_id();
        let value = match event {
            Event::Scalar(text, style, _, tag) => {
                let raw = span.slice(self.text).unwrap_or_default();
                if style == ScalarStyle::DoubleQuoted && self.escapes == Escapes::OfYaml && has_escape_of_json(raw) {
                    return Err(self.fault(span, "has an escape of JSON that YAML does not have"));
                }
                let resolved = scalar_value(&text, style, tag.as_deref());
                resolved.map_err(|message| self.fault(span, message))?
            }
            Event::SequenceStart(..) => self.sequence(at, depth)?,
            Event::MappingStart(..) => self.mapping(at, depth)?,
            Event::Alias(id) => {
                let Some(Anchored { value, values }) = self.anchors.get(&id) else {
                    return Err(self.fault(span, "the value of this alias contains the alias"));
                };
                let (value, values) = (value.clone(), *values);
                self.count(values, span)?;
                value
            }
            _ => return Err(self.fault(span, "a value is missing here")),
        };
        if let Some(anchor) = anchor {
            let values = self.values - before + 1;
            let anchored = Anchored {
                value: value.clone(),
                values,
            };
            self.anchors.insert(anchor, anchored);
        }
        Ok(value)
    }

    fn sequence(&mut self, at: &At<'_>, depth: usize) -> Result<Value, Fault> {
        let mut elements = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(Value::Array(elements));
            }
            let at = At::Index(at, elements.len());
            self.note_line(&at, &span);
            elements.push(self.node(event, &span, &at, depth + 1)?);
        }
    }

    fn mapping(&mut self, at: &At<'_>, depth: usize) -> Result<Value, Fault> {
        let mut fields = Map::new();
        let mut written = HashSet::new();
        loop {
            let (event, key_span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(Value::Object(fields));
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.node(event, &key_span, &At::Root, depth + 1)?;
            let key = key_text(key).map_err(|message| self.fault(&key_span, message))?;
            let at = At::Key(at, &key);
            self.note_line(&at, &key_span);
            let (event, span) = self.next()?;
            let value = self.node(event, &span, &at, depth + 1)?;
            if is_merge {
                merge(&mut fields, value).map_err(|message| self.fault(&span, message))?;
                continue;
            }
            if !written.insert(key.clone()) {
                self.content.duplicate_keys.push(at.path().to_string());
            }
            fields.insert(key, value);
        }
    }

    fn note_line(&mut self, at: &At<'_>, span: &Span) {
        let line = self.line(span.start.line());
        self.content.lines.insert(at.path().to_string(), line);
    }
}

/// Takes over the fields of an object, or of several, of which the first counts most. Like kubectl, over fields that
/// stand before the merge key, and under those that stand behind it.
fn merge(fields: &mut Map<String, Value>, value: Value) -> Result<(), String> {
    match value {
        Value::Object(merged) => fields.extend(merged),
        Value::Array(several) => {
            for merged in several.into_iter().rev() {
                let Value::Object(merged) = merged else {
                    return Err("<< takes an object, or a list of objects".to_owned());
                };
                fields.extend(merged);
            }
        }
        _ => return Err("<< takes an object, or a list of objects".to_owned()),
    }
    Ok(())
}

/// Whether a text in double quotes has an escape that YAML 1.1 does not know: `\/`, or half of a surrogate pair.
fn has_escape_of_json(raw: &str) -> bool {
    let mut rest = raw;
    while let Some((_, escape)) = rest.split_once('\\') {
        let digits = escape.strip_prefix('u').and_then(|digits| digits.get(..2));
        let is_surrogate = digits
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .is_some_and(|high| (0xd8..=0xdf).contains(&high));
        if escape.starts_with('/') || is_surrogate {
            return true;
        }
        // The escaped character may be a backslash.
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

/// A key as JSON has it.
fn key_text(key: Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null => Err("null is no key: put it in quotes".to_owned()),
        Value::Array(_) | Value::Object(_) => Err("a key must be a string, a number or a boolean".to_owned()),
    }
}

fn scalar_value(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let string = || Value::String(text.to_owned());
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain {
            scalar::resolve(text)
        } else {
            Ok(string())
        };
    };
    let wrong = |kind: &str| Err(format!("{text:?} is no {kind}, as its tag says"));
    match tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() {
        Some("null") => match scalar::resolve(text)? {
            Value::Null => Ok(Value::Null),
            _ => wrong("null"),
        },
        Some("bool") => match scalar::resolve(text)? {
            value @ Value::Bool(_) => Ok(value),
            _ => wrong("boolean"),
        },
        Some("int" | "float") => match scalar::resolve(text)? {
            value @ Value::Number(_) => Ok(value),
            _ => wrong("number"),
        },
        Some("binary") => match STANDARD
            .decode(text.replace(char::is_whitespace, ""))
            .map(String::from_utf8)
        {
            Ok(Ok(text)) => Ok(Value::String(text)),
            _ => wrong("base64 of UTF-8"),
        },
        _ => Ok(string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn spec_of(yaml: &str) -> Result<Value, String> {
        let read = read(1, yaml).map_err(|fault| fault.message)?;
        Ok(read.value)
    }

    #[test]
    fn yaml_means_what_it_means_to_kubectl() {
        let mut wrong = Vec::new();
        for line in include_str!("../../../tests/yaml/kubectl.jsonl").lines() {
            let row: Value = serde_json::from_str(line).expect("a row");
            let yaml = row["yaml"].as_str().expect("YAML");
            let expected = row["json"]
                .as_str()
                .map(|json| serde_json::from_str::<Value>(json).expect("JSON"));
            let read = spec_of(&format!("{yaml}\n"));
            if read.as_ref().ok() != expected.as_ref() {
                wrong.push(format!("{yaml:?}: is {read:?}, kubectl has {expected:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_key_that_occurs_twice_is_told_and_the_last_counts() {
        let read = read(1, "a: {b: 1, b: 2}\nc: 3\n1: x\n\"1\": z\n").expect("a document");
        assert_eq!(read.duplicate_keys, ["a.b", "1"]);
        assert_eq!(read.value.to_string(), r#"{"a":{"b":2},"c":3,"1":"z"}"#);
    }

    #[test]
    fn every_path_has_its_line() {
        let read = read(10, "a:\n  b:\n  - c\n  - d: 1\n").expect("a document");
        let lines: Vec<_> = read.lines.iter().map(|(path, line)| (path.as_str(), *line)).collect();
        assert_eq!(
            lines,
            [("a", 10), ("a.b", 11), ("a.b[0]", 12), ("a.b[1]", 13), ("a.b[1].d", 13)]
        );
    }

    #[test]
    fn a_few_lines_of_aliases_cannot_mean_billions_of_values() {
        let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = level - 1;
            let aliases = vec![format!("*a{before}"); 10].join(", ");
            writeln!(yaml, "a{level}: &a{level} [{aliases}]").expect("a String takes it");
        }
        let fault = read(1, &yaml).expect_err("too many values");
        assert_eq!((fault.line, fault.message.contains("aliases")), (6, true));
    }

    #[test]
    fn deep_nesting_is_a_fault_and_no_overflow() {
        assert!(read(1, &"[".repeat(100_000)).is_err());
        assert!(read(1, &"- ".repeat(100_000)).is_err());
    }

    #[test]
    fn two_documents_need_a_line_of_hyphens_between_them() {
        assert!(read(1, "a: 1\n...\nb: 2\n").is_err());
    }
}
