//! The output of one command.

use std::io::{self, Write};

use reelyard_api::Page;
use reelyard_console::{Viewer, format};
use reelyard_core::clock::Millis;
use reelyard_core::display_text::misleads;
use serde::Serialize;

use super::csv;
use super::style::{OutputForm, PrintStyle};
use super::table::ListTable;
use super::table::{PartLook, ShownLine};
use crate::cli::support::failure::CommandFailure;

/// Writes tables, lines and JSON in the form that the command line names.
pub struct Printer<'a> {
    out: &'a mut dyn Write,
    style: PrintStyle,
}

impl<'a> Printer<'a> {
    /// A printer in this style.
    pub fn new(out: &'a mut dyn Write, style: PrintStyle) -> Self {
        Printer { out, style }
    }

    /// The style of the output.
    pub fn style(&self) -> &PrintStyle {
        &self.style
    }

    /// The reader of the output, for the formats of times.
    pub fn viewer(&self) -> &Viewer {
        &self.style.viewer
    }

    /// The present instant.
    pub fn now(&self) -> Millis {
        self.style.instant()
    }

    /// Whether the output is JSON.
    pub fn is_json(&self) -> bool {
        self.style.form == OutputForm::Json
    }

    /// An instant as a sentence has it: "14:02:11", or with the day.
    pub fn clock(&self, at: Millis) -> String {
        self.style.clock(at)
    }

    /// An instant with its offset to UTC.
    pub fn exact(&self, at: Millis) -> String {
        self.style.exact(at)
    }

    /// Refuses CSV, for a command that prints no list.
    ///
    /// # Errors
    /// The command line asks for CSV.
    pub fn refuse_csv(&self) -> Result<(), CommandFailure> {
        if self.style.form != OutputForm::Csv {
            return Ok(());
        }
        let detail = "-o csv: this command does not print one list: use -o json".to_owned();
        Err(CommandFailure::Usage(detail))
    }

    /// Prints a value as indented JSON. Characters that control a terminal are escaped.
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CommandFailure> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        writeln!(self.out, "{}", without_controls(&text))?;
        Ok(())
    }

    /// Prints a value as one line of JSON.
    pub fn json_line<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CommandFailure> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        writeln!(self.out, "{}", without_controls(&text))?;
        Ok(())
    }

    /// Prints a table.
    pub fn table(&mut self, table: &ListTable) -> io::Result<()> {
        match self.style.form {
            OutputForm::Csv => self.out.write_all(csv::text(table, &self.style.viewer).as_bytes()),
            _ => self.out.write_all(table.text(&self.style).as_bytes()),
        }
    }

    /// Prints a list: the page as JSON, or its table and how the list continues.
    pub fn list<T: Serialize>(
        &mut self,
        page: &Page<T>,
        table: impl FnOnce(&[T], &PrintStyle) -> ListTable,
    ) -> Result<(), CommandFailure> {
        if self.is_json() {
            return self.json(page);
        }
        let table = table(&page.items, &self.style);
        self.table(&table)?;
        Ok(self.more(page)?)
    }

    /// Prints how to continue a list, if it has more pages.
    pub fn more<T>(&mut self, page: &Page<T>) -> io::Result<()> {
        match &page.next {
            Some(next) => self.remark(&format!("there are more: use --all, or --cursor {next}")),
            None => Ok(()),
        }
    }

    /// Prints how many things a list leaves out, if it does.
    pub fn left_out(&mut self, shown: usize, total: u64) -> io::Result<()> {
        match total.saturating_sub(shown as u64) {
            0 => Ok(()),
            more => self.remark(&format!("and {} more: --all lists them", format::count(more))),
        }
    }

    /// Prints a line beside a table. CSV has only its rows, so there the line goes to standard error.
    pub fn remark(&mut self, text: &str) -> io::Result<()> {
        match self.style.form {
            OutputForm::Csv => writeln!(io::stderr(), "{text}"),
            _ => writeln!(self.out, "{text}"),
        }
    }

    /// The text as a heading, if the output has colours.
    pub fn strong(&self, text: &str) -> String {
        let line = ShownLine::of(text, PartLook::Strong).printed(&self.style);
        line.trim_end_matches('\n').to_owned()
    }
}

impl Write for Printer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The same JSON, with escapes for characters that could control a terminal or change the direction of writing.
/// Such characters are only inside of texts.
fn without_controls(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter != '\n' && misleads(letter) {
            safe.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            safe.push(letter);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::super::style;
    use super::*;

    #[test]
    fn json_steers_no_terminal_and_keeps_its_value() {
        let value = serde_json::json!({ "name": "a\u{9b}31m\u{202e}b\n\u{7f}" });
        let text = without_controls(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|c| c != '\n' && misleads(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_list_that_is_cut_says_so() {
        let style = PrintStyle {
            form: OutputForm::Table,
            width: None,
            has_colors: false,
            has_shapes: false,
            viewer: style::viewer(TimeZone::UTC, Millis(0)),
        };
        let text = |next: Option<&str>| {
            let next = next.map(|next| reelyard_api::Cursor(next.to_owned()));
            let mut out = Vec::new();
            let page = Page::<u8> { items: Vec::new(), next };
            Printer::new(&mut out, style.clone()).more(&page).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(None), "");
        assert_eq!(text(Some("100")), "there are more: use --all, or --cursor 100\n");
    }
}
