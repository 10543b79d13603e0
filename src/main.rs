//! `reelyard`: one binary, several roles.

fn main() -> std::process::ExitCode {
    reelyard::cli::main()
}
