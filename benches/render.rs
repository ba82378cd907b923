//! Our side of `make bench ONLY=render`: renders the valid specs of the golden data, on one thread, as often as it is told.
//!
//! Takes the file of the golden data. Prints the numbers of the lines that it renders, as one JSON list; then reads from
//! stdin, a line each, how often to render them all, and answers with the seconds that took. It starts from parsed JSON
//! and ends with templates, names, labels, config text and version in memory. Must never judge: `tests/golden.rs` does.

#![allow(clippy::expect_used, reason = "a bench that cannot go on ends in a panic")]

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use serde_json::Value;
use streaming_operator::api::stored::decode_spec;
use streaming_operator::core::valid::ValidPipeline;

/// A spec of the golden data as it would come from a file or the API server.
struct Subject {
    line: usize,
    name: String,
    spec: Value,
}

/// What a spec is rendered to; `None` when it has faults.
fn render(subject: &Subject) -> Option<ValidPipeline> {
    let spec = decode_spec(&subject.spec).ok()?;
    ValidPipeline::take(&subject.name, spec).ok()
}

/// The specs that the Python operator rendered and that are valid here too.
fn subjects(golden: &str) -> Vec<Subject> {
    let lines = golden.lines().enumerate().filter_map(|(number, line)| {
        let line: Value = serde_json::from_str(line).expect("a JSON object a line");
        let subject = Subject {
            line: number,
            name: line.get("name").and_then(Value::as_str).unwrap_or("object").to_owned(),
            spec: line.get("spec")?.clone(),
        };
        let rendered_there = line.get("ok").and_then(Value::as_bool) == Some(true);
        (rendered_there && render(&subject).is_some()).then_some(subject)
    });
    lines.collect()
}

fn main() -> io::Result<()> {
    // cargo adds `--bench`.
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let golden = std::fs::read_to_string(file.expect("the file of the golden data"))?;
    let subjects = subjects(&golden);
    let mut out = io::stdout().lock();
    let lines: Vec<usize> = subjects.iter().map(|subject| subject.line).collect();
    writeln!(out, "{}", serde_json::to_string(&lines)?)?;
    for line in io::stdin().lock().lines() {
        let times: u32 = line?.trim().parse().map_err(io::Error::other)?;
        let start = Instant::now();
        for _ in 0..times {
            for subject in &subjects {
                if let Some(pipeline) = render(black_box(subject)) {
                    black_box(pipeline.rendered());
                }
            }
        }
        writeln!(out, "{}", start.elapsed().as_secs_f64())?;
        out.flush()?;
    }
    Ok(())
}
