//! The binary: all it does stands in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    streaming_operator::cli::main()
}
