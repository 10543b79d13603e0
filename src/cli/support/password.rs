//! Reads a password for a command.

use std::io::{self, IsTerminal, Write};

use reelyard_api::Password;
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

use super::failure::CommandFailure;

/// Reads the first line of standard input, because other users can see command lines. On a terminal
/// it hides the input and then prompts. The crate `rpassword` prompts first, so the terminal shows what is
/// typed before it is hidden.
pub fn ask() -> Result<Password, CommandFailure> {
    let mut line = String::new();
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // First, because this discards earlier input.
        let hidden = Hidden::on(&stdin)?;
        write!(io::stderr(), "Password: ")?;
        let read = stdin.read_line(&mut line);
        drop(hidden);
        writeln!(io::stderr())?;
        read?;
    } else {
        stdin.read_line(&mut line)?;
    }
    Ok(Password(line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// A terminal with hidden input, until this is dropped.
struct Hidden<'a> {
    terminal: &'a io::Stdin,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn on(terminal: &'a io::Stdin) -> Result<Self, CommandFailure> {
        let before = termios::tcgetattr(terminal).map_err(io::Error::from)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        termios::tcsetattr(terminal, OptionalActions::Flush, &quiet).map_err(io::Error::from)?;
        Ok(Hidden { terminal, before })
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // This fails only if the terminal no longer exists.
        let _ = termios::tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}
