//! The `bayplan` command.

use std::process::ExitCode;

/// Watches make objects on one thread and the loop frees them on another, which the C library's
/// allocator is slow at: docs/performance.md, "What was tried".
#[cfg(feature = "live")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    bayplan::cli::main(std::env::args_os())
}
