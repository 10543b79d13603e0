//! A backup of each version so far is restored, and none is written in another form.

use std::fs;
use std::path::Path;

use reelyard_core::event::PieceId;

use super::backup::{MAGIC, RestoredMembers, VERSION, back_up, restore};
use super::report::Condition;
use super::upkeep;
use crate::store::database::head::{LogEnd, Purged, StoreHead};
use crate::store::database::new_database::{NewDatabase, StoreItem};
use crate::store::database::sled_database::SLED;
use crate::store::database::snapshot_chunks::chunk_link;
use crate::store::database::snapshot_manifest::SnapshotManifest;
use crate::store::disk::durability_mark::MarkFile;
use crate::store::record::frame_linked;
use crate::stream::StreamWriter;

/// Each line is `<version> <hex>`: the same store as a backup of this version. A line never changes.
const KEPT: &str = include_str!("kept_backups.txt");

fn kept() -> Vec<(u8, Vec<u8>)> {
    let lines = KEPT.lines().map(|line| line.split_once(' ').unwrap());
    let bytes = |hex: &str| {
        let digits = hex.as_bytes().chunks(2).map(|two| str::from_utf8(two).unwrap());
        digits.map(|two| u8::from_str_radix(two, 16).unwrap()).collect()
    };
    lines.map(|(version, hex)| (version.parse().unwrap(), bytes(hex))).collect()
}

/// A snapshot of the entries up to 6, and the entries 7 and 8.
fn make_store(dir: &Path) {
    let mut writer = StreamWriter::new();
    writer.begin(PieceId::Tasks);
    writer.row(b"row");
    make_store_of(dir, writer);
}

/// The same with this snapshot.
fn make_store_of(dir: &Path, writer: StreamWriter) {
    let (stream, parts) = writer.finish();
    let mut fresh = NewDatabase::create(&dir.join(SLED)).unwrap();
    let (record, _) = frame_linked(chunk_link(2, 0), &stream);
    fresh.add(StoreItem::Chunk { number: 2, chunk: 0, record }).unwrap();
    let mut link = 0;
    for (index, entry) in [(7, &[3, 1, 7, 1, 2, 1, 0][..]), (8, &[3, 1, 8, 0])] {
        let (record, next) = frame_linked(link, entry);
        link = next;
        fresh.add(StoreItem::Row { index, record }).unwrap();
    }
    let meta = [&[1, 3, 1, 6, 0, 1, 1, 1, 1, 1, 0], &b"\x033-6"[..]].concat();
    let bytes = stream.len() as u64;
    let head = StoreHead {
        sequence: 5,
        node: Some(1),
        vote: Some(vec![3, 1, 1]),
        purged: Some(Purged { index: 6, log_id: vec![3, 1, 6] }),
        snapshot: Some(SnapshotManifest { number: 2, index: 6, meta, bytes, parts }),
        log: Some(LogEnd { end: 9, link }),
    };
    fresh.finish(&head).unwrap();
    MarkFile::create(dir, &head.mark()).unwrap();
}

#[test]
fn stored_bytes_of_a_backup_stay() {
    let dir = tempfile::tempdir().unwrap();
    make_store(dir.path());
    let file = dir.path().join("backup");
    back_up(dir.path(), &file, None).unwrap();
    let written = fs::read(&file).unwrap();
    let hex: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
    let is_kept = kept().contains(&(VERSION, written));
    assert!(is_kept, "raise VERSION, read the earlier one, and add: {VERSION} {hex}");
}

/// A node that has always run alone has no settings on record.
#[test]
fn a_piece_without_rows_is_no_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = StreamWriter::new();
    writer.begin(PieceId::Settings);
    writer.begin(PieceId::Tasks);
    writer.row(b"row");
    writer.begin(PieceId::Shares);
    make_store_of(dir.path(), writer);
    let (file, restored) = (dir.path().join("backup"), dir.path().join("restored"));
    back_up(dir.path(), &file, None).unwrap();
    restore(&file, &restored, RestoredMembers::Kept).unwrap();
    for store in [dir.path(), &restored] {
        let report = upkeep::check(store, None).unwrap();
        assert_eq!(report.condition, Condition::Whole, "{:?}", report.faults);
        let pieces = report.snapshot.unwrap().pieces;
        let rows: Vec<(&str, u64)> =
            pieces.iter().map(|piece| (piece.piece.as_str(), piece.rows)).collect();
        assert_eq!(rows, [("settings", 0), ("tasks", 1), ("shares", 0)]);
    }
}

#[test]
fn a_backup_of_each_version_is_restored() {
    for (version, bytes) in kept() {
        let dir = tempfile::tempdir().unwrap();
        let (file, store) = (dir.path().join("backup"), dir.path().join("store"));
        fs::write(&file, bytes).unwrap();
        restore(&file, &store, RestoredMembers::Kept).unwrap();
        let report = upkeep::check(&store, None).unwrap();
        assert_eq!(report.condition, Condition::Whole, "{version}: {:?}", report.faults);
        let snapshot = report.snapshot.map(|snapshot| (snapshot.index, snapshot.pieces[0].rows));
        assert_eq!((report.last_log, snapshot), (Some(8), Some((6, 1))), "{version}");
    }
}

#[test]
fn a_backup_of_a_later_version_is_refused_with_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    fs::write(&file, [MAGIC, &[9]].concat()).unwrap();
    let error =
        restore(&file, &dir.path().join("store"), RestoredMembers::Kept).unwrap_err().to_string();
    assert!(error.contains("version 9") && error.contains("restore it with"), "{error}");
}
