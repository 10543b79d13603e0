//! The terminal of the process: its colours, and its local modes.

use std::io::{self, IsTerminal, Stdin};

use rustix::termios::{self, LocalModes, OptionalActions, Termios};

/// Whether a stream gets colours: it is a terminal that can show them, and the variable `NO_COLOR` is empty or missing.
pub fn may_have_colors(stream: &impl IsTerminal) -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !no_color && !is_dumb()
}

/// Whether the terminal shows only plain text.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether standard input is a terminal whose keys go to this process, not to another one in the foreground.
pub fn has_keys() -> bool {
    let stdin = io::stdin();
    let foreground = termios::tcgetpgrp(&stdin);
    foreground.is_ok_and(|group| group == rustix::process::getpgrp())
}

/// The terminal of standard input without some local modes, until this is dropped.
pub struct ModesOff {
    terminal: Stdin,
    before: Termios,
}

impl ModesOff {
    /// Switches `modes` off, and discards earlier input.
    ///
    /// # Errors
    /// Standard input is no terminal.
    pub fn of_stdin(modes: LocalModes) -> io::Result<Self> {
        let terminal = io::stdin();
        let before = termios::tcgetattr(&terminal)?;
        let mut changed = before.clone();
        changed.local_modes.remove(modes);
        termios::tcsetattr(&terminal, OptionalActions::Flush, &changed)?;
        Ok(ModesOff { terminal, before })
    }
}

impl Drop for ModesOff {
    fn drop(&mut self) {
        // In the background the shell has its own modes, and a change would stop this process.
        if !has_keys() {
            return;
        }
        // This fails only if the terminal no longer exists.
        let _ = termios::tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
