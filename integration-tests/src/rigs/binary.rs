//! The program under test. The tests search for it and never build it: run `cargo build` first.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// The path of `reelyard`: in the directory of the running test's own executable.
///
/// # Panics
/// Panics when the program is not there.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let found = test.ancestors().skip(1).take(2).map(|dir| dir.join("reelyard"));
    let found = found.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!("there is no reelyard beside {}: run cargo build", test.display())
    })
}

/// The program with `arguments`, without the environment of the tests, and with a standard output that
/// [`ended`] reads.
pub fn reelyard(arguments: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.args(arguments).env_clear().stdout(Stdio::piped());
    command
}

/// The exit code and the output of one run of the program.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The complete standard output.
    pub out: String,
    /// The complete standard error.
    pub err: String,
}

/// Runs the program with `arguments` to its end.
///
/// # Panics
/// Panics when the program cannot be started or its output is not UTF-8.
pub fn run(arguments: &[&str]) -> ProgramOutput {
    ended(&mut reelyard(arguments))
}

/// Runs `command` to its end.
///
/// # Panics
/// Panics when the command cannot be started or its output is not UTF-8.
pub fn ended(command: &mut Command) -> ProgramOutput {
    let text = |bytes| String::from_utf8(bytes).unwrap_or_else(|bad| panic!("not UTF-8: {bad}"));
    // Unlike `output`, this does not replace a standard output that the test has set.
    match command.stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output) {
        Ok(Output { status, stdout, stderr }) => {
            ProgramOutput { code: status.code(), out: text(stdout), err: text(stderr) }
        }
        Err(error) => panic!("{command:?} cannot be run: {error}"),
    }
}
