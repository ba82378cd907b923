//! `make soak ONLY=model`: explores at length. The last line says how many states, and how many violations.

use std::process::ExitCode;

/// States of one configuration at most, where no number is given.
const LIMIT: usize = 200_000;

fn main() -> ExitCode {
    let limit = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(LIMIT);
    let report = rollout_model::explore_at_length(limit);
    for (what, (count, first)) in &report.differences {
        println!("{count:>9} times {what}; first at {first}");
    }
    println!("{}", report.summary());
    if report.violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
