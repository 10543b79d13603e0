//! The piece as rows of a snapshot. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName, NamePin, NameTable};
use reelyard_replication::stored::{RowVersions, encode_row, read_row};
use reelyard_replication::{FrozenPiece, UnreadableEvent};
use serde::{Deserialize, Serialize};

use super::ending::Ending;
use super::event::Intent;
use super::removal_book::{CopyKey, OpenRemoval, Pin, RemovalBook, RemovalRecord};
use super::stored::ending_of_event;

/// The first byte of each row. Version 2 has exchanges.
const ROW_VERSIONS: RowVersions = 1..=2;

/// One row. Postcard numbers the variants in this order: new ones must be added at the end.
#[derive(Serialize, Deserialize)]
pub(super) enum RemoverSnapshotRow {
    Open {
        intent: Intent,
        at: Millis,
    },
    Doubt {
        host: HostAddr,
        name: FileName,
        until: Millis,
    },
    Pin {
        name: FileName,
        asked_by: String,
        at: Millis,
    },
    /// The number of the first line of the history that follows.
    HistoryFrom(u64),
    /// One line, oldest first.
    Ended {
        intent: Intent,
        decided: Millis,
        at: Millis,
        #[serde(with = "ending_of_event")]
        ending: Ending,
    },
}

/// The piece at one index: shared shards.
pub(in crate::remover) struct FrozenRemovalBook {
    names: NameTable,
    /// The live book may drop a file before its name is written.
    _pin: NamePin,
    open: Arc<BTreeMap<CopyKey, OpenRemoval>>,
    doubts: Arc<BTreeMap<CopyKey, Millis>>,
    pins: Arc<BTreeMap<FileId, Pin>>,
    history: BoundedLog<RemovalRecord>,
}

impl FrozenRemovalBook {
    pub(in crate::remover) fn of(book: &RemovalBook) -> Self {
        FrozenRemovalBook {
            names: book.names.clone(),
            _pin: book.names.pin(),
            open: Arc::clone(&book.open),
            doubts: Arc::clone(&book.doubts),
            pins: Arc::clone(&book.pins),
            history: book.history.clone(),
        }
    }
}

impl FrozenPiece for FrozenRemovalBook {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: RemoverSnapshotRow| row(&encode_row(&ROW_VERSIONS, &content));
        for OpenRemoval { intent, at } in self.open.values() {
            put(RemoverSnapshotRow::Open { intent: intent.clone(), at: *at });
        }
        for ((host, file), until) in self.doubts.iter() {
            put(RemoverSnapshotRow::Doubt {
                host: *host,
                name: self.names.name(*file),
                until: *until,
            });
        }
        for (file, Pin { asked_by, at }) in self.pins.iter() {
            put(RemoverSnapshotRow::Pin {
                name: self.names.name(*file),
                asked_by: asked_by.clone(),
                at: *at,
            });
        }
        put(RemoverSnapshotRow::HistoryFrom(self.history.first()));
        for (_, record) in self.history.oldest_first() {
            let RemovalRecord { decided, at, ref ending, .. } = *record;
            let intent = record.intent(&self.names);
            put(RemoverSnapshotRow::Ended { intent, decided, at, ending: ending.clone() });
        }
    }
}

impl RemovalRecord {
    /// The decision of the removal.
    pub fn intent(&self, names: &NameTable) -> Intent {
        Intent {
            host: self.host,
            name: names.name(self.file),
            size: self.size,
            reason: self.reason.clone(),
            keeper: self.keeper,
            asked_by: self.asked_by.clone(),
        }
    }
}

/// Restores one row that a frozen book wrote.
pub(in crate::remover) fn thaw_row(
    book: &mut RemovalBook,
    row: &[u8],
) -> Result<(), UnreadableEvent> {
    match read_row(PieceId::Removals, &ROW_VERSIONS, row)? {
        RemoverSnapshotRow::Open { intent, at } => {
            let copy = (intent.host, book.file(&intent.name));
            book.insert_open(copy, OpenRemoval { intent, at });
        }
        RemoverSnapshotRow::Doubt { host, name, until } => {
            let copy = (host, book.file(&name));
            Arc::make_mut(&mut book.doubts).insert(copy, until);
        }
        RemoverSnapshotRow::Pin { name, asked_by, at } => {
            let file = book.file(&name);
            Arc::make_mut(&mut book.pins).insert(file, Pin { asked_by, at });
        }
        RemoverSnapshotRow::HistoryFrom(first) => book.history = BoundedLog::starting_at(first),
        RemoverSnapshotRow::Ended { intent, decided, at, ending } => {
            let file = book.file(&intent.name);
            let Intent { host, size, reason, keeper, asked_by, .. } = intent;
            let record =
                RemovalRecord { host, file, size, reason, keeper, asked_by, decided, at, ending };
            book.history.push(record);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use reelyard_replication::Piece;
    use roaring::RoaringBitmap;

    use super::*;
    use crate::remover::samples::{duplicate, ended, host, name, over_limit};
    use crate::remover::state::event::RemovalEvent;

    fn rows(book: &RemovalBook) -> Vec<Vec<u8>> {
        let mut rows = Vec::new();
        book.freeze().write(&mut |row| rows.push(row.to_vec()));
        rows
    }

    /// A book with something of everything; its table has met other names before.
    fn book() -> RemovalBook {
        let names = NameTable::new();
        names.intern(&name("met before"));
        let mut book = RemovalBook::new(names);
        let mut apply = |event| book.apply(Millis(7), &event).unwrap();
        for (file, ending) in [
            ("gone", Ending::Removed),
            ("was not there", Ending::Absent),
            ("not asked", Ending::NotAsked { why: "busy".to_owned() }),
            ("doubted", Ending::StillThere { doubted_until: Millis(99) }),
        ] {
            apply(RemovalEvent::Intended(duplicate(file, 1, 2)));
            apply(ended(file, 1, ending));
        }
        apply(RemovalEvent::Forgot { history_before: 1, doubts_until: Millis(7) });
        apply(RemovalEvent::Intended(duplicate("going", 1, 2)));
        apply(RemovalEvent::Intended(over_limit("going too", 3)));
        apply(RemovalEvent::Pinned { name: name("stays"), asked_by: "me".to_owned() });
        book
    }

    #[test]
    fn a_book_comes_back_from_its_rows_in_another_process() {
        let book = book();
        let mut thawed = RemovalBook::new(NameTable::new());
        for row in rows(&book) {
            thawed.thaw(&row).unwrap();
        }
        assert_eq!(rows(&thawed), rows(&book));
        let (going, doubted) = (thawed.file(&name("going")), thawed.file(&name("doubted")));
        assert!(thawed.goes((host(1), going)) && thawed.is_keeper((host(2), going)));
        assert!(thawed.is_doubted((host(1), doubted), Millis(98)));
        assert!(thawed.is_pinned(thawed.file(&name("stays"))));
        assert_eq!((thawed.history().first(), thawed.history().len()), (1, 3));
    }

    #[test]
    fn a_frozen_book_stays_as_it_was() {
        let mut book = book();
        let frozen = book.freeze();
        let before = rows(&book);
        book.apply(Millis(8), &ended("going", 1, Ending::Removed)).unwrap();
        book.apply(Millis(8), &RemovalEvent::Unpinned { name: name("stays") }).unwrap();
        let mut after = Vec::new();
        frozen.write(&mut |row| after.push(row.to_vec()));
        assert_eq!(after, before);
    }

    #[test]
    fn names_stay_until_a_frozen_book_is_written() {
        let book = book();
        let (frozen, before) = (book.freeze(), rows(&book));
        for _ in 0..3 {
            book.names.sweep(&RoaringBitmap::new());
        }
        let mut after = Vec::new();
        frozen.write(&mut |row| after.push(row.to_vec()));
        assert!(after == before, "every name is there");
    }

    #[test]
    fn a_row_of_another_version_is_reported() {
        let result = RemovalBook::default().thaw(&[9, 0]);
        assert!(matches!(result, Err(UnreadableEvent::Version { version: 9, .. })));
    }
}
