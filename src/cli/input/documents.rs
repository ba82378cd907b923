//! Documents of a file, each read as JSON or as YAML. Must never let one that cannot be read hide the others.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kubectl_yaml;

/// A document.
#[derive(Debug)]
pub(super) struct Read {
    /// The line it begins in, counted from 1.
    pub(super) line: usize,
    /// What it holds.
    pub(super) content: Result<Content, Fault>,
}

/// What a document holds.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The value.
    pub(super) value: Value,
    /// Paths of keys that occur twice in one mapping.
    pub(super) duplicate_keys: Vec<String>,
    /// Lines of the paths, counted in the file from 1.
    pub(super) lines: BTreeMap<String, usize>,
}

/// Why a document cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line, counted in the file from 1.
    pub(super) line: usize,
    /// What is wrong there.
    pub(super) message: String,
}

/// The documents of a text; empty ones are left out.
pub(super) fn read(text: &str) -> Vec<Read> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    split(text)
        .into_iter()
        .flat_map(|(line, text)| {
            if text.trim_start().starts_with('{') {
                json(line, text)
            } else {
                yaml(line, text).into_iter().collect()
            }
        })
        .collect()
}

/// The parts between lines of `---`, each with the number of its first line that is not blank.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut first_line = 1;
    let mut offset = 0;
    let mut line_number = 0;
    for line in text.split_inclusive('\n') {
        line_number += 1;
        if is_separator(line) {
            parts.push((first_line, text.get(start..offset).unwrap_or_default()));
            start = offset + line.len();
            first_line = line_number + 1;
        }
        offset += line.len();
    }
    parts.push((first_line, text.get(start..).unwrap_or_default()));
    parts
}

/// `---` alone on its line, but for a comment.
fn is_separator(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| {
        let rest_is_apart = rest.starts_with(char::is_whitespace) || rest.is_empty();
        let rest = rest.trim();
        rest_is_apart && (rest.is_empty() || rest.starts_with('#'))
    })
}

/// One JSON value after the other, with their numbers as they are written.
fn json(first_line: usize, text: &str) -> Vec<Read> {
    let mut documents = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let (mut line, mut counted) = (first_line, 0);
    loop {
        let start = values.byte_offset();
        let blank = text.get(start..).map_or(0, |rest| rest.len() - rest.trim_start().len());
        let start = start + blank;
        // On from the value before: a file can have as many values as lines.
        line += lines_within(text, counted, start);
        counted = start;
        let Some(value) = values.next() else { break };
        match value {
            Ok(value) => {
                let part = text.get(start..values.byte_offset()).unwrap_or_default();
                let content = Content {
                    value,
                    ..kubectl_yaml::places_of_json(line, part)
                };
                let content = Ok(content);
                documents.push(Read { line, content });
            }
            Err(error) => {
                let fault = Fault {
                    line: first_line + error.line().saturating_sub(1),
                    message: format!("invalid JSON: {error}"),
                };
                documents.push(Read {
                    line,
                    content: Err(fault),
                });
                break;
            }
        }
    }
    documents
}

fn lines_within(text: &str, start: usize, end: usize) -> usize {
    let part = text.get(start..end).unwrap_or_default();
    part.bytes().filter(|byte| *byte == b'\n').count()
}

fn yaml(first_line: usize, text: &str) -> Option<Read> {
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let blank = text.lines().take_while(|line| is_blank(line)).count();
    let content = kubectl_yaml::read(first_line, text);
    let is_empty = content.as_ref().is_ok_and(|content| content.value.is_null());
    (!is_empty).then_some(Read {
        line: first_line + blank,
        content,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(text: &str) -> Vec<(usize, Value)> {
        let read = read(text).into_iter();
        read.map(|read| (read.line, read.content.expect("a document").value))
            .collect()
    }

    #[test]
    fn documents_stand_between_lines_of_three_hyphens() {
        assert_eq!(
            values("# c\n---\na: 1\n--- # next\n\n---\n\nb: |\n  --- x\n"),
            [(3, json!({"a": 1})), (8, json!({"b": "--- x\n"}))]
        );
    }

    #[test]
    fn json_keeps_its_literals_also_between_yaml_documents_and_several_in_a_row() {
        let read = values(
            "a: 1.0\n---\n{\"n\": 1.0, \"m\": 100000000000000000000,\n \"t\": \"\\ud83d\\ude00\"}\n{\"x\": 1}\n",
        );
        let lines: Vec<_> = read.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 3, 5]);
        let texts: Vec<_> = read.iter().map(|(_, value)| value.to_string()).collect();
        assert_eq!(
            texts,
            [
                r#"{"a":1}"#,
                r#"{"n":1.0,"m":100000000000000000000,"t":"😀"}"#,
                r#"{"x":1}"#
            ]
        );
    }

    #[test]
    fn a_file_of_very_many_values_in_a_row_is_read_in_time() {
        // With the lines of each value counted from the first one, this would take minutes.
        let text = "{\"a\":1}\n".repeat(50_000);
        let read = read(&text);
        assert_eq!(read.len(), 50_000);
        assert_eq!(read.last().map(|read| read.line), Some(50_000));
    }

    #[test]
    fn what_cannot_be_read_does_not_hide_the_others() {
        let read = read("a: [\n---\n{\"a\": 1,}\n---\nb: 1\n");
        let lines: Vec<_> = read
            .iter()
            .map(|read| read.content.as_ref().map(|_| ()).map_err(|fault| fault.line))
            .collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.first().is_some_and(Result::is_err));
        assert_eq!(lines.get(1), Some(&Err(3)));
        assert_eq!(lines.get(2), Some(&Ok(())));
    }

    #[test]
    fn a_byte_order_mark_is_no_content() {
        assert_eq!(values("\u{feff}{\"a\": 1}"), [(1, json!({"a": 1}))]);
    }
}
