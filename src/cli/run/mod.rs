//! `streaming-operator run`: the operator itself. Must never start with flags that cannot work.

mod args;
mod settings;

use std::process::ExitCode;

use clap::Parser;

pub(super) use args::RunArgs;

use crate::operator::{self, Ending, Settings};
use crate::telemetry;

/// The flags of `run` alone, as a Deployment has them.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "run")]
struct Flags {
    #[command(flatten)]
    args: RunArgs,
}

/// What an operator with these flags does; all faults, each beginning with its flag.
pub(super) fn settings_of(flags: &[String]) -> Result<Settings, Vec<String>> {
    let flags = Flags::try_parse_from(flags).map_err(|error| vec![error.to_string().trim_end().to_owned()])?;
    settings::read(&flags.args)
}

/// Runs until told to stop. Exit codes: 0 after SIGTERM or SIGINT, 2 for bad flags, 4 when the API server may not be
/// asked for something that is needed, 5 when the lease was lost and the work could not be stopped in time, 130 at a
/// second signal.
pub(super) fn run(args: &RunArgs) -> ExitCode {
    let settings = match settings::read(args) {
        Ok(settings) => settings,
        Err(faults) => {
            for fault in faults {
                eprintln!("streaming-operator: {fault}");
            }
            return ExitCode::from(2);
        }
    };
    telemetry::init_logging(settings.log_format);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("streaming-operator: cannot start its threads: {error}");
            return ExitCode::from(2);
        }
    };
    let ending = runtime.block_on(operator::run(settings));
    // What still runs is a request nobody waits for.
    runtime.shutdown_background();
    match ending {
        Ending::Stopped => ExitCode::SUCCESS,
        Ending::Unusable(why) => {
            eprintln!("streaming-operator: {why}");
            ExitCode::from(2)
        }
        Ending::Refused(faults) => {
            for fault in faults {
                eprintln!("streaming-operator: {fault}");
            }
            ExitCode::from(4)
        }
        Ending::LostLease => {
            eprintln!("streaming-operator: lost the lease and could not stop its work in time");
            ExitCode::from(5)
        }
        Ending::SecondSignal => ExitCode::from(130),
    }
}
