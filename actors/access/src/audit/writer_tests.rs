//! Tests of the writer thread: trouble with the disk, lost records, and settings.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;

use super::reading::filter::AuditRowFilter;
use super::reading::reader::AuditOrder;
use super::reading::verification::verify;
use super::record::AuditRecord;
use super::settings::AuditSettings;
use super::writer::{AuditRecorder, LOST};

fn start(dir: &Path) -> AuditRecorder {
    AuditRecorder::start(dir, AuditSettings::default(), Clock::system()).unwrap()
}

fn record(recorder: &AuditRecorder, operation: &str) {
    recorder.record(AuditRecord::of_node(Clock::system().now(), operation));
}

fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_true() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn rows(recorder: &AuditRecorder) -> Vec<AuditRecord> {
    let filter = AuditRowFilter::default();
    let page = recorder.reader().page(&filter, AuditOrder::OldestFirst, None, 100_000).unwrap();
    page.rows.into_iter().map(|row| row.record).collect()
}

#[test]
fn records_wait_until_the_log_can_be_opened() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("audit");
    fs::write(&dir, "a file, not a directory").unwrap();
    let recorder = start(&dir);
    record(&recorder, "first");
    until("the trouble is shown", || recorder.status().trouble.is_some());
    record(&recorder, "second");
    fs::remove_file(&dir).unwrap();
    until("the rows are written", || recorder.status().written == 2);
    let operations: Vec<_> = rows(&recorder).into_iter().map(|row| row.operation).collect();
    assert_eq!(operations, ["first", "second"]);
    let status = recorder.status();
    assert_eq!((status.lost, status.trouble), (0, None));
}

#[test]
fn lost_records_are_counted_by_the_next_row() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("audit");
    fs::write(&dir, "a file, not a directory").unwrap();
    let recorder = start(&dir);
    until("the trouble is shown", || recorder.status().trouble.is_some());
    for _ in 0..100_000 {
        record(&recorder, "many");
    }
    let lost = recorder.status().lost;
    assert!((100_000 - 65_536 - 4096 - 100..100_000).contains(&lost), "{lost}");
    fs::remove_file(&dir).unwrap();
    until("the rows are written", || recorder.status().written >= 100_000 - lost);
    record(&recorder, "after");
    recorder.stop();
    let counted: u64 = rows(&recorder)
        .iter()
        .filter(|row| row.operation == LOST)
        .filter_map(|row| row.count)
        .sum();
    assert_eq!(counted, lost);
    let report = verify(&dir, None).unwrap();
    assert!(report.is_whole() && report.lost == lost, "{report:?}");
}

#[test]
fn a_stopped_writer_has_written_everything() {
    let place = tempfile::tempdir().unwrap();
    let recorder = start(place.path());
    for number in 0..5000 {
        record(&recorder, &format!("operation{number}"));
    }
    recorder.stop();
    let report = verify(place.path(), None).unwrap();
    assert!(report.is_whole() && report.rows == 5000, "{report:?}");
    let again = start(place.path());
    until("the last row is known", || *again.last_row().borrow() == 5000);
    record(&again, "more");
    again.sync();
    assert_eq!(verify(place.path(), None).unwrap().last, Some(5001));
}
