//! Values of tables. Each value knows its form for a narrow terminal, for a wide one and for programs.

use reelyard_console::{Viewer, format};
use reelyard_core::clock::Millis;
use reelyard_core::names::NameText;

use super::local_time;
use super::shown_text::{self, plain};

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum ListCell {
    /// No value.
    Nothing,
    /// Text, already safe for a terminal.
    Text(String),
    /// A word for a state. It gets a shape and a colour.
    State(String),
    /// A number of things.
    Count(u64),
    /// A size in bytes.
    Bytes(u64),
    /// A number and its unit.
    Unit(String, &'static str),
    /// An instant.
    At(Millis),
    /// An instant in the past, shown as its age.
    Since(Millis),
    /// An instant in the future, shown as the time that is left.
    Until(Millis),
}

/// A text, without characters that control a terminal.
pub fn text(value: impl ToString) -> ListCell {
    ListCell::Text(plain(&value.to_string()))
}

/// The name of a file.
pub fn name(name: &NameText) -> ListCell {
    ListCell::Text(shown_text::name(name))
}

/// A state, by its word. A remark may follow the word after a comma.
pub fn state(word: impl ToString) -> ListCell {
    ListCell::State(plain(&word.to_string()))
}

/// A number of things.
pub fn count(value: impl TryInto<u64>) -> ListCell {
    ListCell::Count(value.try_into().unwrap_or(u64::MAX))
}

/// A number with a unit, which programs get without it.
pub fn unit(number: impl ToString, unit: &'static str) -> ListCell {
    ListCell::Unit(number.to_string(), unit)
}

/// An optional value.
pub fn maybe<T>(value: Option<T>, shown: impl FnOnce(T) -> ListCell) -> ListCell {
    value.map_or(ListCell::Nothing, shown)
}

/// Texts with blanks between them; nothing for an empty list.
pub fn texts(values: impl IntoIterator<Item = impl ToString>) -> ListCell {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    if values.is_empty() { ListCell::Nothing } else { text(values.join(" ")) }
}

impl ListCell {
    /// The value in a table that fits a terminal. No value is a dash.
    pub fn short(&self, viewer: &Viewer) -> String {
        match self {
            ListCell::Nothing => "-".to_owned(),
            ListCell::Text(text) | ListCell::State(text) => text.clone(),
            ListCell::Count(value) => format::count(*value),
            ListCell::Bytes(value) => format::bytes(*value),
            ListCell::Unit(number, unit) => format!("{number}{unit}"),
            ListCell::At(at) => local_time::short(viewer, *at),
            ListCell::Since(at) => local_time::age(viewer, *at),
            ListCell::Until(at) => local_time::left(viewer, *at),
        }
    }

    /// The value in a wide table: instants to the millisecond.
    pub fn wide(&self, viewer: &Viewer) -> String {
        match self {
            ListCell::At(at) | ListCell::Since(at) | ListCell::Until(at) => {
                local_time::exact(viewer, *at)
            }
            other => other.short(viewer),
        }
    }

    /// The value in a table that a pipe reads: instants to the millisecond, and counts without commas.
    pub fn whole(&self, viewer: &Viewer) -> String {
        match self {
            ListCell::Count(value) => value.to_string(),
            other => other.wide(viewer),
        }
    }

    /// The value on the page of one thing: an instant with its age.
    pub fn full(&self, viewer: &Viewer) -> String {
        let exact = self.wide(viewer);
        match self {
            ListCell::Since(at) => format!("{exact} ({} ago)", local_time::age(viewer, *at)),
            ListCell::Until(at) => format!("{exact} ({})", remaining(viewer, *at)),
            _ => exact,
        }
    }

    /// The value for programs: numbers without units and without commas. No value is empty.
    pub fn raw(&self, viewer: &Viewer) -> String {
        match self {
            ListCell::Nothing => String::new(),
            ListCell::Count(value) | ListCell::Bytes(value) => value.to_string(),
            ListCell::At(at) | ListCell::Since(at) | ListCell::Until(at) => {
                local_time::machine(viewer, *at)
            }
            ListCell::Unit(number, _) => number.clone(),
            ListCell::Text(text) | ListCell::State(text) => text.clone(),
        }
    }
}

fn remaining(viewer: &Viewer, at: Millis) -> String {
    match local_time::left(viewer, at).as_str() {
        "due" => "due".to_owned(),
        left => format!("in {left}"),
    }
}
