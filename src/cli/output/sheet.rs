//! The details of one thing, one property a line.

use std::io::{self, Write};

use super::cell::ListCell;
use super::printer::Printer;
use super::shown_text::{padded, width};

/// Properties with their values.
#[derive(Clone, Debug, Default)]
pub struct DetailSheet(Vec<(String, ListCell)>);

impl DetailSheet {
    /// Adds a property.
    pub fn row(&mut self, what: &str, value: ListCell) {
        self.0.push((what.to_owned(), value));
    }

    /// Adds a property, if it has a value.
    pub fn maybe<T>(&mut self, what: &str, value: Option<T>, shown: impl FnOnce(T) -> ListCell) {
        if let Some(value) = value {
            self.row(what, shown(value));
        }
    }

    /// Prints the properties. Instants are exact.
    pub fn print(&self, out: &mut Printer<'_>) -> io::Result<()> {
        let widest = self.0.iter().map(|(what, _)| width(what)).max().unwrap_or_default();
        for (what, value) in &self.0 {
            let value = value.full(out.viewer());
            writeln!(out, "{}  {value}", padded(what, widest, false))?;
        }
        Ok(())
    }
}
