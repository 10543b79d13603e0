//! The program under test. It is found, never built: `cargo build` comes before the tests.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// Where `reelyard` is: beside the directory of the running test's own executable.
///
/// # Panics
/// When it is not there.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let found = test.ancestors().skip(1).take(2).map(|dir| dir.join("reelyard"));
    let found = found.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!("there is no reelyard beside {}: run cargo build", test.display())
    })
}

/// The program with `arguments`, none of the environment of the tests, and its standard output
/// to be read by [`ended`].
pub fn reelyard(arguments: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.args(arguments).env_clear().stdout(Stdio::piped());
    command
}

/// How a run of the program ended.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

/// Runs the program with `arguments` to its end.
///
/// # Panics
/// When it cannot be started or writes something other than UTF-8.
pub fn run(arguments: &[&str]) -> ProgramOutput {
    ended(&mut reelyard(arguments))
}

/// Runs `command` to its end.
///
/// # Panics
/// When it cannot be started or writes something other than UTF-8.
pub fn ended(command: &mut Command) -> ProgramOutput {
    let text = |bytes| String::from_utf8(bytes).unwrap_or_else(|bad| panic!("not UTF-8: {bad}"));
    // Unlike `output`, this leaves a standard output alone that the test has set.
    match command.stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output) {
        Ok(Output { status, stdout, stderr }) => {
            ProgramOutput { code: status.code(), out: text(stdout), err: text(stderr) }
        }
        Err(error) => panic!("{command:?} cannot be run: {error}"),
    }
}
