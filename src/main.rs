//! `reelyard`: one binary, several roles.

/// A node reads a million names on many threads and keeps them: with glibc's allocator it needs
/// half as much memory again.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    reelyard::cli::main()
}
