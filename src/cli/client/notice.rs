//! Lines on standard error about the node in use.

use std::io::{self, Write};

use crate::cli::output::plain;

/// Prints that another node is used now, or is looked for.
pub fn print_notice(line: &str) {
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "reelyard: {}", plain(line));
}
