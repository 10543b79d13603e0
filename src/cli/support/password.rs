//! Reads a password for a command.

use std::io::{self, IsTerminal};

use reelyard_api::Password;

use super::failure::CommandFailure;

/// Reads the first line of standard input, because other users can see command lines. On a terminal
/// it prompts and hides the input.
pub fn ask() -> Result<Password, CommandFailure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(Password(rpassword::prompt_password("Password: ")?));
    }
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    Ok(Password(line.trim_end_matches(['\n', '\r']).to_owned()))
}
