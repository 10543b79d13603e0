//! Lists of files. This file writes the lines of a Reelyard worker's `GET /inventory`: see
//! [`worker`](super::worker). The reader in [`listing`] reads them, and also the names of `GET /files`, the
//! only list of an old cfw.

pub mod additions;
pub mod limits;
pub mod listing;

use std::fmt::Write;

use reelyard_core::clock::Millis;
use reelyard_core::names::FileName;

/// A file that a worker has.
#[derive(Clone, Copy, Debug)]
pub struct ListedFile<'a> {
    /// Name of the file.
    pub name: &'a FileName,
    /// Size of the file in bytes.
    pub size: u64,
    /// When its contents last changed.
    pub modified: Millis,
}

/// One line, the last one excepted.
#[derive(Clone, Copy, Debug)]
pub enum InventoryLine<'a> {
    /// In a full list: a file.
    File(ListedFile<'a>),
    /// In a list of changes: a file that exists. It may have been replaced.
    Held(ListedFile<'a>),
    /// In a list of changes: a name without a file.
    Gone(&'a FileName),
}

impl std::fmt::Display for ListedFile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.size, self.modified.0, self.name.to_percent())
    }
}

impl std::fmt::Display for InventoryLine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            InventoryLine::File(file) => file.fmt(f),
            InventoryLine::Held(file) => write!(f, "+ {file}"),
            InventoryLine::Gone(name) => write!(f, "- {}", name.to_percent()),
        }
    }
}

/// The body: the lines, then their number.
pub fn write_inventory<'a>(lines: impl IntoIterator<Item = InventoryLine<'a>>) -> String {
    let mut body = String::new();
    let mut count: u64 = 0;
    // Writing to a string in memory cannot fail.
    for line in lines {
        let _ = writeln!(body, "{line}");
        count += 1;
    }
    let _ = writeln!(body, "end {count}");
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_state_of_a_name_before_the_count() {
        let (name, gone) = (FileName::new("a b%.mpg").unwrap(), FileName::new("x\ny").unwrap());
        let file = ListedFile { name: &name, size: 5, modified: Millis(-7) };
        let whole = write_inventory([InventoryLine::File(file)]);
        assert_eq!(whole, "5 -7 a%20b%25.mpg\nend 1\n");
        let changes = write_inventory([InventoryLine::Held(file), InventoryLine::Gone(&gone)]);
        assert_eq!(changes, "+ 5 -7 a%20b%25.mpg\n- x%0Ay\nend 2\n");
        assert_eq!(write_inventory([]), "end 0\n");
    }
}
