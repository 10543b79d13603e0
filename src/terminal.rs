//! Whether a stream of the process may get colours.

use std::io::IsTerminal;

/// Whether a stream gets colours: it is a terminal that can show them, and the variable `NO_COLOR` is empty or missing.
pub fn may_have_colors(stream: &impl IsTerminal) -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !no_color && !is_dumb()
}

/// Whether the terminal shows only plain text.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
