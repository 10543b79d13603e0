//! Tests of the log on disk: its chain, the recovery of its end, and the removal of old rows.

use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use reelyard_core::clock::Millis;

use super::format::{head, segment};
use super::log::{AuditLog, DAMAGED, REPAIRED};
use super::reading::filter::AuditRowFilter;
use super::reading::reader::{AuditOrder, AuditReader};
use super::reading::verification::{AuditReport, verify};
use super::record::AuditRecord;
use super::settings::AuditSettings;

const NOW: Millis = Millis(1_800_000_000_000);

fn record(number: u64) -> AuditRecord {
    let operation = format!("operation{number}");
    AuditRecord {
        subject: Some("share \u{e9}\n\"".to_owned()),
        ..AuditRecord::of_node(NOW, &operation)
    }
}

fn open(dir: &Path) -> AuditLog {
    AuditLog::open(dir, AuditSettings::default(), NOW).unwrap()
}

/// A log with rows 1 to `rows`, in segments that begin with the rows in `starts`.
fn log_with(dir: &Path, rows: u64, starts: &[u64]) {
    let mut log = open(dir);
    let mut now = NOW;
    for row in 1..=rows {
        if starts.contains(&row) {
            // A segment is full after a day.
            now = now.after(Duration::from_secs(25 * 3600));
        }
        log.append(&[record(row)], now).unwrap();
    }
    log.sync().unwrap();
    let firsts = segment::list(dir).unwrap();
    assert_eq!(firsts.len(), starts.len() + 1, "{firsts:?}");
}

fn checked(dir: &Path) -> AuditReport {
    verify(dir, None).unwrap()
}

fn operations(dir: &Path) -> Vec<String> {
    let reader = AuditReader::new(dir);
    let page =
        reader.page(&AuditRowFilter::default(), AuditOrder::OldestFirst, None, 1000).unwrap();
    page.rows.into_iter().map(|row| row.record.operation).collect()
}

#[test]
fn a_log_that_nobody_touched_is_whole() {
    let place = tempfile::tempdir().unwrap();
    log_with(place.path(), 10, &[4, 8]);
    let report = checked(place.path());
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.rows, report.first, report.last), (10, Some(1), Some(10)));
    let reader = AuditReader::new(place.path());
    let all = reader.page(&AuditRowFilter::default(), AuditOrder::OldestFirst, None, 100).unwrap();
    let known = all.rows[4].position();
    assert!(verify(place.path(), Some(known)).unwrap().is_whole());
    let other = super::format::chain::AuditPosition { seq: 4, ..known };
    assert!(!verify(place.path(), Some(other)).unwrap().is_whole());
    drop(open(place.path()));
    assert_eq!(checked(place.path()), report, "opening changes nothing");
}

#[test]
fn every_changed_byte_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    log_with(place.path(), 4, &[3, 4]);
    let mut files: Vec<_> = segment::list(place.path()).unwrap();
    let mut paths: Vec<_> =
        files.drain(..).map(|first| segment::path(place.path(), first)).collect();
    paths.push(head::path(place.path()));
    for path in paths {
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for change in [1, 0x20, 0x80] {
                let mut changed = whole.clone();
                changed[at] ^= change;
                fs::write(&path, &changed).unwrap();
                let report = checked(place.path());
                assert!(!report.is_whole(), "byte {at} of {path:?} changed by {change}");
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(checked(place.path()).is_whole());
}

#[test]
fn every_removed_row_segment_and_tail_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    log_with(place.path(), 9, &[4, 7]);
    for first in segment::list(place.path()).unwrap() {
        let path = segment::path(place.path(), first);
        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        for removed in 0..lines.len() {
            let mut rest = lines.clone();
            rest.remove(removed);
            fs::write(&path, rest.concat()).unwrap();
            assert!(!checked(place.path()).is_whole(), "line {removed} of {path:?}");
            let mut swapped = lines.clone();
            swapped.swap(removed, (removed + 1) % lines.len());
            fs::write(&path, swapped.concat()).unwrap();
            assert!(!checked(place.path()).is_whole(), "line {removed} of {path:?} is elsewhere");
        }
        for end in 0..whole.len() {
            fs::write(&path, &whole.as_bytes()[..end]).unwrap();
            assert!(!checked(place.path()).is_whole(), "the tail from byte {end} of {path:?}");
        }
        fs::remove_file(&path).unwrap();
        assert!(!checked(place.path()).is_whole(), "{path:?}");
        fs::write(&path, &whole).unwrap();
    }
    fs::remove_file(head::path(place.path())).unwrap();
    assert!(!checked(place.path()).is_whole());
}

#[test]
fn half_a_row_is_cut_off_and_recorded() {
    let place = tempfile::tempdir().unwrap();
    let mut log = open(place.path());
    log.append(&[record(1)], NOW).unwrap();
    log.sync().unwrap();
    log.append(&[record(2), record(3)], NOW).unwrap();
    drop(log);
    let path = segment::path(place.path(), 1);
    let whole = fs::read(&path).unwrap();
    let head = fs::read(head::path(place.path())).unwrap();
    let ends: Vec<usize> =
        (0..whole.len()).filter(|at| whole[*at] == b'\n').map(|at| at + 1).collect();
    for end in ends[1]..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        fs::write(head::path(place.path()), &head).unwrap();
        drop(open(place.path()));
        let report = checked(place.path());
        assert!(report.is_whole(), "cut at {end}: {report:?}");
        let last = operations(place.path()).pop().unwrap();
        assert_eq!(last == REPAIRED, !ends.contains(&end), "cut at {end}: {last}");
    }
}

#[test]
fn a_removed_end_is_recorded_and_stays_a_fault() {
    let place = tempfile::tempdir().unwrap();
    log_with(place.path(), 5, &[]);
    let path = segment::path(place.path(), 1);
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    fs::write(&path, lines[..4].concat()).unwrap();
    let mut log = open(place.path());
    log.append(&[record(7)], NOW).unwrap();
    log.sync().unwrap();
    drop(log);
    assert_eq!(operations(place.path())[3..], [DAMAGED, "operation7"]);
    let report = checked(place.path());
    assert!(!report.is_whole());
    assert!(report.findings[0].what.contains("rows 4 to 5 are missing"), "{report:?}");
    assert_eq!(report.last, Some(7));
}

#[test]
fn a_changed_row_and_a_missing_head_do_not_stop_the_log() {
    for (removes_head, at) in [(false, 1), (false, 5), (true, 1), (true, 5)] {
        let place = tempfile::tempdir().unwrap();
        log_with(place.path(), 5, &[]);
        let path = segment::path(place.path(), 1);
        let changed = fs::read_to_string(&path).unwrap();
        let changed = changed.replace(&format!("operation{at}"), "operationX");
        fs::write(&path, changed).unwrap();
        if removes_head {
            fs::remove_file(head::path(place.path())).unwrap();
        }
        let mut log = open(place.path());
        log.append(&[record(7)], NOW).unwrap();
        log.sync().unwrap();
        let rows = operations(place.path());
        assert_eq!(rows[rows.len() - 2..], [DAMAGED, "operation7"], "{rows:?}");
        assert_eq!(rows.len(), 7);
        let report = checked(place.path());
        assert!(!report.is_whole() && report.last == Some(7), "{report:?}");
    }
}

#[test]
fn a_removed_head_is_recorded() {
    let place = tempfile::tempdir().unwrap();
    log_with(place.path(), 3, &[]);
    fs::remove_file(head::path(place.path())).unwrap();
    drop(open(place.path()));
    assert_eq!(operations(place.path())[3..], [DAMAGED]);
    let report = checked(place.path());
    assert_eq!(report.notices.len(), 1, "{report:?}");
}

#[test]
fn a_new_segment_without_its_first_line_is_created_again() {
    let place = tempfile::tempdir().unwrap();
    log_with(place.path(), 3, &[3]);
    let mut log = open(place.path());
    let day = NOW.after(Duration::from_secs(100 * 3600));
    log.append(&[], day).unwrap();
    drop(log);
    let path = segment::path(place.path(), 4);
    let line = fs::read(&path).unwrap();
    let head = fs::read(head::path(place.path())).unwrap();
    for end in 0..line.len() {
        fs::write(&path, &line[..end]).unwrap();
        fs::write(head::path(place.path()), &head).unwrap();
        let mut log = open(place.path());
        log.append(&[record(4)], NOW).unwrap();
        drop(log);
        let report = checked(place.path());
        assert!(report.is_whole() && report.last >= Some(4), "{report:?}");
    }
}

#[test]
fn old_segments_go_by_age_and_by_size() {
    let place = tempfile::tempdir().unwrap();
    let settings = AuditSettings { keep: Duration::from_secs(3 * 24 * 3600), max_size: 1 << 30 };
    let mut log = AuditLog::open(place.path(), settings.clone(), NOW).unwrap();
    let mut now = NOW;
    for row in 0..100 {
        now = now.after(Duration::from_secs(3 * 3600));
        log.append(&[record(row)], now).unwrap();
    }
    log.sync().unwrap();
    let report = checked(place.path());
    assert!(report.is_whole(), "{report:?}");
    assert!((24..40).contains(&report.rows), "{report:?}");
    assert_eq!(report.last, Some(100));

    log.change_settings(AuditSettings { max_size: 512 << 10, ..settings });
    for row in 0..5000 {
        log.append(&[record(row)], now).unwrap();
    }
    log.sync().unwrap();
    let size: u64 = segment::list(place.path())
        .unwrap()
        .into_iter()
        .map(|first| fs::metadata(segment::path(place.path(), first)).unwrap().len())
        .sum();
    assert!((400 << 10..(512 << 10) + (65 << 10)).contains(&size), "{size}");
    assert!(checked(place.path()).is_whole());
    drop(log);
    drop(open(place.path()));
    let first = segment::list(place.path()).unwrap()[0];
    fs::remove_file(segment::path(place.path(), first)).unwrap();
    assert!(!checked(place.path()).is_whole(), "a segment that retention did not remove");
}

#[test]
fn pages_have_all_rows_in_both_orders() {
    let place = tempfile::tempdir().unwrap();
    log_with(place.path(), 25, &[7, 8, 20]);
    let reader = AuditReader::new(place.path());
    for limit in [1, 3, 24, 25, 100] {
        for order in [AuditOrder::OldestFirst, AuditOrder::NewestFirst] {
            let (mut from, mut rows) = (None, Vec::new());
            loop {
                let page = reader.page(&AuditRowFilter::default(), order, from, limit).unwrap();
                assert!(page.rows.len() <= limit);
                rows.extend(page.rows.iter().map(|row| row.seq));
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
            if order == AuditOrder::NewestFirst {
                rows.reverse();
            }
            assert_eq!(rows, (1..=25).collect::<Vec<u64>>(), "{limit} {order:?}");
        }
    }
    let filter =
        AuditRowFilter { operation: Some("operation9".to_owned()), ..AuditRowFilter::default() };
    let page = reader.page(&filter, AuditOrder::NewestFirst, None, 1).unwrap();
    assert_eq!(page.rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [9]);
    assert!(AuditReader::new(&place.path().join("none")).segments().unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_log_survives_any_crash_after_a_sync(
        batches in proptest::collection::vec(1_u64..4, 1..6),
        synced in 0_usize..6,
        end in 0_f64..1.0,
        garbage in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let place = tempfile::tempdir().unwrap();
        let mut log = open(place.path());
        let mut safe = 0;
        for (number, rows) in batches.iter().enumerate() {
            let rows: Vec<_> = (0..*rows).map(record).collect();
            log.append(&rows, NOW).unwrap();
            if number < synced {
                log.sync().unwrap();
                safe = log.last().seq;
            }
        }
        drop(log);
        // Everything after the last sync can be lost, or can be garbage.
        let path = segment::path(place.path(), 1);
        let whole = fs::read(&path).unwrap();
        let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let begin = ends.clone().nth(usize::try_from(safe).unwrap()).unwrap();
        let cut = begin + ((whole.len() - begin) as f64 * end) as usize;
        let mut left = whole[..cut].to_vec();
        left.extend(garbage);
        fs::write(&path, left).unwrap();
        let mut log = open(place.path());
        prop_assert!(log.last().seq >= safe);
        log.append(&[record(1)], NOW).unwrap();
        log.sync().unwrap();
        let report = checked(place.path());
        prop_assert!(report.is_whole(), "{:?}", report);
    }
}
