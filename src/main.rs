//! The binary: all it does stands in the library. It chooses the allocator, which a library must not.

use std::process::ExitCode;

/// Reviews and objects are trees of small values that come and go on all threads. Tried with the load of `make bench
/// ONLY=admission`: a review cost half the CPU that it costs with glibc's allocator, in the same memory
/// (docs/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    streaming_operator::cli::main()
}
