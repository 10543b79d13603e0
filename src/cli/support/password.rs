//! Reads a password for a command.

use std::io::{self, IsTerminal, Write};

use reelyard_api::Password;
use rustix::termios::LocalModes;

use super::failure::CommandFailure;
use crate::terminal::ModesOff;

/// Reads the first line of standard input, because other users can see command lines. On a terminal
/// it hides the input and then prompts. The crate `rpassword` prompts first, so the terminal shows what is
/// typed before it is hidden.
pub fn ask() -> Result<Password, CommandFailure> {
    let mut line = String::new();
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // First, because this discards earlier input.
        let hidden = ModesOff::of_stdin(LocalModes::ECHO)?;
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
