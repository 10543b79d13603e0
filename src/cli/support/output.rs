//! Output of answers: tables for people, JSON for programs.

use std::io::{self, Write};
use std::time::Duration;

use bytesize::ByteSize;
use comfy_table::{Cell, CellAlignment, Table, presets};
use reelyard_api::Page;
use reelyard_core::clock::Millis;
use reelyard_core::durations::in_words;
use reelyard_core::names::NameText;
use serde::Serialize;

/// A table without borders, one row per object, so that tools like `cut` can process it.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table
}

/// Prints a table without trailing blanks.
pub fn print(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    for line in table.to_string().lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Prints how to continue a list, if it has more pages.
pub fn more<T>(page: &Page<T>, out: &mut dyn Write) -> io::Result<()> {
    match &page.next {
        Some(next) => writeln!(out, "there are more: use --all, or --cursor {next}"),
        None => Ok(()),
    }
}

/// Prints `value` as indented JSON.
pub fn json<T: Serialize>(value: &T, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// A right-aligned number.
pub fn number(number: impl ToString) -> Cell {
    Cell::new(number.to_string()).set_alignment(CellAlignment::Right)
}

/// A size in bytes with a unit.
pub fn size(bytes: u64) -> Cell {
    number(ByteSize::b(bytes))
}

/// An optional value, or a dash.
pub fn maybe<T>(value: Option<T>, shown: impl FnOnce(T) -> Cell) -> Cell {
    value.map_or_else(|| Cell::new("-"), shown)
}

/// The time since `at`, in its two largest units.
pub fn age(at: Millis, now: Millis) -> String {
    let since = now.since(at);
    let unit = if since < Duration::from_secs(10) { 1 } else { 1000 };
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX) / unit * unit;
    in_words(Duration::from_millis(millis))
}

/// The name of a file, escaped. The mark says that it is not UTF-8 and is shown percent-encoded.
pub fn name(name: &NameText) -> String {
    let mark = if name.percent_encoded { " (bytes)" } else { "" };
    format!("{}{mark}", plain(&name.name))
}

/// Escapes everything in a text that could control a terminal.
pub fn plain(text: &str) -> String {
    reelyard_core::display_text::escaped(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(plain("a\x1b[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(plain("gpm.\u{202e}exe"), "gpm.\\u{202e}exe");
        assert_eq!(plain("영화 100%.mpg"), "영화 100%.mpg");
    }

    #[test]
    fn a_list_that_is_cut_says_so() {
        let text = |next: Option<&str>| {
            let next = next.map(|next| reelyard_api::Cursor(next.to_owned()));
            let mut out = Vec::new();
            more(&Page::<u8> { items: Vec::new(), next }, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(None), "");
        assert_eq!(text(Some("100")), "there are more: use --all, or --cursor 100\n");
    }

    #[test]
    fn an_age_has_two_units_and_no_more_precision_than_is_wanted() {
        assert_eq!(age(Millis(0), Millis(3_725_500)), "1 h 2 min");
        assert_eq!(age(Millis(0), Millis(65_432)), "1 min 5 s");
        assert_eq!(age(Millis(0), Millis(1_250)), "1 s 250 ms");
        assert_eq!(age(Millis(5), Millis(0)), "0 s");
    }
}
