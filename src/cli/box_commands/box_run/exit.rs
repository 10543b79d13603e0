//! The exit codes of `box run`, and its messages on standard error.

use std::io::{self, Write};

use crate::cli::output::plain;

/// Exit code: the lease was lost before the command ended.
pub(super) const LOST: u8 = 124;

/// Exit code: there is no lease, for another reason.
pub(super) const FAILED: u8 = 125;

/// Exit code: the command cannot be executed.
pub(super) const CANNOT_RUN: u8 = 126;

/// Exit code: the command does not exist.
pub(super) const NOT_FOUND: u8 = 127;

/// Added to the number of the signal that ended the command.
pub(super) const BY_SIGNAL: i32 = 128;

/// Prints a message on standard error, which the command uses too. A failure is ignored, because
/// the exit code has the same meaning.
pub(super) fn print_message(what: &str) {
    let _ = writeln!(io::stderr(), "reelyard: {}", plain(what));
}
