//! The piece as rows of a snapshot. Pure.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_replication::stored::{RowVersions, encode_row, read_row};
use reelyard_replication::{FrozenPiece, UnreadableEvent};
use serde::{Deserialize, Serialize};

use super::settings_book::{IncompleteVersion, SettingsBook, SettingsVersion};
use super::settings_text::SettingsText;

/// The first byte of each row.
const ROW_VERSIONS: RowVersions = 1..=1;

/// One row. Postcard numbers the variants in this order: new ones must be added at the end.
#[derive(Serialize, Deserialize)]
pub(super) enum SettingsSnapshotRow {
    /// A recorded version, the oldest one first.
    Version { number: u64, text: SettingsText, at: Millis, by: String, why: String },
    /// The parts of the next version that have arrived.
    Incomplete { version: u64, parts: Vec<SettingsText> },
}

/// The piece at one index.
pub(in crate::cluster_settings) struct FrozenSettingsBook {
    versions: Vec<Arc<SettingsVersion>>,
    incomplete: Option<IncompleteVersion>,
}

impl FrozenSettingsBook {
    pub(in crate::cluster_settings) fn of(book: &SettingsBook) -> Self {
        let versions = book.versions.iter().cloned().collect();
        FrozenSettingsBook { versions, incomplete: book.incomplete.clone() }
    }
}

impl FrozenPiece for FrozenSettingsBook {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: SettingsSnapshotRow| row(&encode_row(&ROW_VERSIONS, &content));
        for version in self.versions {
            let SettingsVersion { number, text, at, by, why } = version.as_ref().clone();
            put(SettingsSnapshotRow::Version { number, text, at, by, why });
        }
        if let Some(IncompleteVersion { version, parts }) = self.incomplete {
            put(SettingsSnapshotRow::Incomplete { version, parts });
        }
    }
}

/// Restores one row that a frozen book wrote.
pub(in crate::cluster_settings) fn thaw_row(
    book: &mut SettingsBook,
    row: &[u8],
) -> Result<(), UnreadableEvent> {
    match read_row(PieceId::Settings, &ROW_VERSIONS, row)? {
        SettingsSnapshotRow::Version { number, text, at, by, why } => {
            let version = SettingsVersion { number, text, at, by, why };
            book.versions.push_back(Arc::new(version));
        }
        SettingsSnapshotRow::Incomplete { version, parts } => {
            book.incomplete = Some(IncompleteVersion { version, parts });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use reelyard_replication::Piece;

    use super::super::event::SettingsEvent;
    use super::*;

    #[test]
    fn a_book_comes_back_from_its_rows() {
        let mut book = SettingsBook::default();
        let part =
            |version, text: &str| SettingsEvent::PartAdded { version, part: 0, text: text.into() };
        let (by, why) = ("token admin".to_owned(), "more disks".to_owned());
        book.apply(Millis(1), &part(1, "a = 1\n")).unwrap();
        book.apply(Millis(2), &SettingsEvent::Recorded { version: 1, parts: 1, by, why }).unwrap();
        book.apply(Millis(3), &part(2, "a = 2\n")).unwrap();
        let mut rows = Vec::new();
        book.freeze().write(&mut |row| rows.push(row.to_vec()));
        let mut again = book.emptied();
        for row in &rows {
            again.thaw(row).unwrap();
        }
        assert_eq!(again, book);
        assert_eq!(rows.len(), 2);
        let refused = again.thaw(&[9, 0]);
        assert!(matches!(refused, Err(UnreadableEvent::Version { version: 9, .. })), "{refused:?}");
    }
}
