//! The stored form of a row: one line of JSON that ends with its hash. Pure.

use std::borrow::Cow;
use std::net::IpAddr;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chain::{AuditPosition, ChainHash};
use crate::audit::record::{AuditActor, AuditActorKind, AuditRecord};

/// The version of rows and of the first line of a segment.
pub(in crate::audit) const ROW_VERSION: u32 = 1;

/// The text between the hashed part of a row and its hash.
const BEFORE_HASH: &[u8] = b",\"chain\":\"";
/// The text behind the hash.
const BEHIND_HASH: &[u8] = b"\"}";
/// Length of a hash in hexadecimal digits.
const HASH_DIGITS: usize = 64;

/// A stored act with its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Number of the row.
    pub seq: u64,
    /// Hash of the row and of everything before it.
    pub chain: ChainHash,
    /// The audited act.
    pub record: AuditRecord,
}

/// Why a line is not a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAuditRow {
    /// The line has another form.
    #[error("the line is not a row")]
    Form,
    /// The line has a version that this program does not know.
    #[error("the row has version {0}, and this program reads only version 1: use a newer program")]
    Version(u32),
    /// The hash is not that of the row behind the previous one.
    #[error("the hash does not match: this row was changed, or a row before it was removed")]
    Hash,
    /// The number does not follow the number of the previous row.
    #[error("the row has number {0}, and {1} was expected")]
    Number(u64, u64),
}

/// Version 1 of a row. Its members never change.
#[derive(Serialize, Deserialize)]
struct StoredAuditRow<'a> {
    v: u32,
    seq: u64,
    at: i64,
    #[serde(borrow)]
    actor: StoredAuditActor<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<IpAddr>,
    #[serde(borrow)]
    operation: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Cow<'a, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Cow<'a, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct StoredAuditActor<'a> {
    kind: AuditActorKind,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    name: Cow<'a, str>,
}

/// The version of a line, whatever else it has.
#[derive(Deserialize)]
struct StoredVersion {
    v: u32,
}

/// Appends the row behind `last` to `lines`, and returns its position.
pub(in crate::audit) fn write_row(
    record: &AuditRecord,
    last: AuditPosition,
    lines: &mut Vec<u8>,
) -> serde_json::Result<AuditPosition> {
    let seq = last.seq + 1;
    let stored = StoredAuditRow {
        v: ROW_VERSION,
        seq,
        at: record.at.0,
        actor: StoredAuditActor {
            kind: record.actor.kind,
            name: Cow::Borrowed(&record.actor.name),
        },
        from: record.from,
        operation: Cow::Borrowed(&record.operation),
        subject: record.subject.as_deref().map(Cow::Borrowed),
        status: record.status,
        problem: record.problem.as_deref().map(Cow::Borrowed),
        request_id: record.request_id.as_deref().map(Cow::Borrowed),
        reason: record.reason.as_deref().map(Cow::Borrowed),
        before: record.before.as_ref().map(Cow::Borrowed),
        after: record.after.as_ref().map(Cow::Borrowed),
        count: record.count,
    };
    let start = lines.len();
    serde_json::to_writer(&mut *lines, &stored)?;
    // The hash takes the place of the closing brace.
    lines.pop();
    let hash = last.hash.next(&lines[start..]);
    lines.extend_from_slice(BEFORE_HASH);
    lines.extend_from_slice(hash.to_string().as_bytes());
    lines.extend_from_slice(BEHIND_HASH);
    lines.push(b'\n');
    Ok(AuditPosition { seq, hash })
}

/// The hashed part of a line, and its hash.
fn split(line: &[u8]) -> Option<(&[u8], ChainHash)> {
    let rest = line.strip_suffix(BEHIND_HASH)?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(HASH_DIGITS)?)?;
    let hash = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((rest.strip_suffix(BEFORE_HASH)?, hash))
}

/// How each row begins, before its number.
const BEFORE_NUMBER: &[u8] = b"{\"v\":1,\"seq\":";

/// The number of a row, without reading the rest of the line. None for another line.
pub(in crate::audit) fn number(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(BEFORE_NUMBER)?;
    let end = rest.iter().position(|byte| *byte == b',')?;
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

/// Reads a line without its end, and does not check its hash.
///
/// # Errors
///
/// The line has another form or an unknown version.
pub(in crate::audit) fn read_row(line: &[u8]) -> Result<AuditRow, BadAuditRow> {
    let (_, chain) = split(line).ok_or(BadAuditRow::Form)?;
    let stored = serde_json::from_slice::<StoredAuditRow<'_>>(line);
    match stored {
        Ok(stored) if stored.v == ROW_VERSION => Ok(stored.into_row(chain)),
        _ => match serde_json::from_slice::<StoredVersion>(line) {
            Ok(StoredVersion { v }) if v != ROW_VERSION => Err(BadAuditRow::Version(v)),
            _ => Err(BadAuditRow::Form),
        },
    }
}

/// Reads a line without its end, and checks that it follows `last`.
///
/// # Errors
///
/// The line is not the row behind `last`.
pub(in crate::audit) fn read_next_row(
    line: &[u8],
    last: AuditPosition,
) -> Result<AuditRow, BadAuditRow> {
    let (hashed, hash) = split(line).ok_or(BadAuditRow::Form)?;
    if last.hash.next(hashed) != hash {
        // A readable number says more.
        return Err(match read_row(line) {
            Ok(row) if row.seq != last.seq + 1 => BadAuditRow::Number(row.seq, last.seq + 1),
            _ => BadAuditRow::Hash,
        });
    }
    let row = read_row(line)?;
    if row.seq == last.seq + 1 { Ok(row) } else { Err(BadAuditRow::Number(row.seq, last.seq + 1)) }
}

impl AuditRow {
    /// The place of the row in the chain.
    pub fn position(&self) -> AuditPosition {
        AuditPosition { seq: self.seq, hash: self.chain }
    }
}

impl StoredAuditRow<'_> {
    fn into_row(self, chain: ChainHash) -> AuditRow {
        let text = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
        let record = AuditRecord {
            at: Millis(self.at),
            actor: AuditActor { kind: self.actor.kind, name: self.actor.name.into_owned() },
            from: self.from,
            operation: self.operation.into_owned(),
            subject: text(self.subject),
            status: self.status,
            problem: text(self.problem),
            request_id: text(self.request_id),
            reason: text(self.reason),
            before: self.before.map(Cow::into_owned),
            after: self.after.map(Cow::into_owned),
            count: self.count,
        };
        AuditRow { seq: self.seq, chain, record }
    }
}
