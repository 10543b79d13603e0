//! The stored bytes of the audit. Never change a kept line: a new version adds lines.

use reelyard_core::clock::Millis;
use serde_json::json;

use super::chain::{AuditPosition, ChainHash};
use super::head::AuditHead;
use super::row::{BadAuditRow, read_next_row, write_row};
use super::segment::SegmentStart;
use crate::audit::record::{AuditActor, AuditActorKind, AuditRecord};

/// Lines of version 1: the start of a segment, two rows and a head.
const KEPT: &str = include_str!("kept_rows.txt");

fn samples() -> [AuditRecord; 2] {
    let full = AuditRecord {
        at: Millis(1_800_000_000_123),
        actor: AuditActor { kind: AuditActorKind::User, name: "alice".to_owned() },
        from: Some("2001:db8::1".parse().unwrap()),
        operation: "changeShare".to_owned(),
        subject: Some("share ABC".to_owned()),
        status: Some(409),
        problem: Some("changed-meanwhile".to_owned()),
        request_id: Some("0000000a-1".to_owned()),
        reason: Some("고객 \"7\"".to_owned()),
        before: Some(json!({ "expires_at": "2027-01-15T08:00:00Z" })),
        after: Some(json!({ "expires_at": "2027-01-16T08:00:00Z", "b": [1, 2] })),
        count: Some(3),
    };
    [full, AuditRecord::of_node(Millis(1_800_000_000_124), "node.started")]
}

fn stored() -> String {
    let before = AuditPosition { seq: 41, hash: ChainHash::START };
    let start = SegmentStart { before, at: Millis(1_800_000_000_000) };
    let mut lines = start.line().unwrap();
    let mut last = start.position().unwrap();
    for record in samples() {
        last = write_row(&record, last, &mut lines).unwrap();
    }
    let head = AuditHead { before_oldest: before, last };
    lines.extend(head.bytes().unwrap());
    String::from_utf8(lines).unwrap()
}

#[test]
fn stored_bytes_of_the_audit_stay_the_same() {
    assert_eq!(stored(), KEPT, "\n{}", stored());
}

#[test]
fn kept_rows_are_read_as_they_were_written() {
    let start = SegmentStart::read(KEPT.lines().next().unwrap().as_bytes()).unwrap();
    let mut last = start.position().unwrap();
    for (line, record) in KEPT.lines().skip(1).zip(samples()) {
        let row = read_next_row(line.as_bytes(), last).unwrap();
        assert_eq!(row.record, record);
        last = row.position();
    }
}

#[test]
fn a_row_of_another_version_is_named() {
    let line = KEPT.lines().nth(1).unwrap().replacen("\"v\":1", "\"v\":2", 1);
    let refused = super::row::read_row(line.as_bytes());
    assert_eq!(refused, Err(BadAuditRow::Version(2)));
}
