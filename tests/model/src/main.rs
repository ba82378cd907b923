//! `make soak ONLY=model`: explores at length. The last line says how many states, and how many violations. It fails on
//! a violation, and when it explored too little to say that there is none.

use std::process::ExitCode;

/// States of one configuration at most, where no number is given.
const LIMIT: usize = 200_000;

/// With [`LIMIT`] at least so many states are explored, else the lists or the steps have lost something.
const STATES_LEAST: usize = 3_000_000;

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
    let too_few = limit >= LIMIT && report.states < STATES_LEAST;
    if too_few {
        println!("too few: at least {STATES_LEAST} states are expected with a limit of {limit}");
    }
    if report.violations.is_empty() && !too_few {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
