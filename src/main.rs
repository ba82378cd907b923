//! The binary: all it does stands in the library. It chooses the allocator, which a library must not.

use std::process::ExitCode;

/// Reviews and objects are trees of small values that come and go on all threads. Measured by `make bench
/// ONLY=admission`: a review costs half the CPU it costs with glibc's allocator, in the same memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    streaming_operator::cli::main()
}
