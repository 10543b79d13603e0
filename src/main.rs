//! `reelyard`: one binary, several roles.

/// A node reads a million names on many threads and keeps them: with glibc's allocator it needs
/// half as much memory again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    reelyard::cli::main()
}
