//! The history of boxes: ended leases and hook runs in between, as one list, newest first. Pure.

use std::str::FromStr;

use reelyard_core::history::BoundedLog;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, PoolName};

use super::event::{BoxLogEntry, BoxLogEvent};
use super::leases::lease::EndedLease;

/// One entry of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditEntry {
    /// An ended lease.
    Lease(EndedLease),
    /// A hook ran for a box, or it was taken out of use.
    BoxLog(BoxLogEntry),
}

/// Selects entries of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFilter {
    /// Entries of this pool, also of a removed one.
    pub pool: PoolName,
    /// Only entries of this box.
    pub number: Option<BoxNumber>,
    /// Entries of leases of this holder. Hook runs in between have no holder.
    pub holder: Option<Holder>,
    /// The lease of this token, and the hook runs after it.
    pub token: Option<FenceToken>,
    /// Entries of this kind, by the word for the end of a lease or for the hook.
    pub what: Option<String>,
}

/// The position in both lists: lines with lower numbers come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditCursor {
    leases: u64,
    log: u64,
}

impl AuditCursor {
    /// The start, before the newest entry.
    pub const NEWEST: AuditCursor = AuditCursor { leases: u64::MAX, log: u64::MAX };
}

impl std::fmt::Display for AuditCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.leases, self.log)
    }
}

/// A text that is no cursor of the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a cursor of the audit")]
pub struct BadAuditCursor;

impl FromStr for AuditCursor {
    type Err = BadAuditCursor;

    fn from_str(text: &str) -> Result<Self, BadAuditCursor> {
        let (leases, log) = text.split_once('-').ok_or(BadAuditCursor)?;
        let number = |text: &str| text.parse().map_err(|_| BadAuditCursor);
        Ok(AuditCursor { leases: number(leases)?, log: number(log)? })
    }
}

impl BoxLogEvent {
    /// Its stable word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            BoxLogEvent::InitFailed(_) => "init_failed",
            BoxLogEvent::Cleaned(_) => "cleaned",
            BoxLogEvent::CleanFailed { .. } => "clean_failed",
            BoxLogEvent::FoundDirty(_) => "found_dirty",
            BoxLogEvent::Quarantined { .. } => "quarantined",
            BoxLogEvent::Unquarantined { .. } => "unquarantined",
            BoxLogEvent::WrongToken { .. } => "wrong_token",
            BoxLogEvent::Adopted { .. } => "adopted",
        }
    }
}

impl AuditFilter {
    /// All entries of a pool.
    pub fn of(pool: PoolName) -> Self {
        AuditFilter { pool, number: None, holder: None, token: None, what: None }
    }

    fn takes(&self, pool: &PoolName, number: BoxNumber, token: Option<FenceToken>) -> bool {
        self.pool == *pool
            && self.number.is_none_or(|wanted| wanted == number)
            && (self.token.is_none() || self.token == token)
    }

    fn takes_word(&self, word: &str) -> bool {
        self.what.as_deref().is_none_or(|wanted| wanted == word)
    }

    fn takes_lease(&self, EndedLease { lease, how, .. }: &EndedLease) -> bool {
        self.takes(&lease.pool, lease.number, Some(lease.token))
            && self.takes_word(how.word())
            && self.holder.as_ref().is_none_or(|wanted| *wanted == lease.holder)
    }

    fn takes_box_log(&self, line: &BoxLogEntry) -> bool {
        self.takes(&line.pool, line.number, line.token)
            && self.takes_word(line.news.word())
            && self.holder.is_none()
    }
}

/// The entries that a filter selects from a cursor on, `most` at most, and where the next ones begin. At
/// most `looked_at` lines are read, so more entries may follow even if the result is short.
pub(in crate::box_lease) fn newest(
    (leases, log): (&BoundedLog<EndedLease>, &BoundedLog<BoxLogEntry>),
    filter: &AuditFilter,
    from: AuditCursor,
    most: usize,
    looked_at: usize,
) -> (Vec<AuditEntry>, Option<AuditCursor>) {
    let mut leases = leases.newest_before(from.leases).peekable();
    let mut log = log.newest_before(from.log).peekable();
    let (mut lines, mut cursor) = (Vec::new(), from);
    for _ in 0..looked_at {
        let lease_is_newer = match (leases.peek(), log.peek()) {
            (None, None) => return (lines, None),
            // The hook run for a box came after the end of the lease.
            (Some((_, ended)), Some((_, line))) => ended.at > line.at,
            (lease, _) => lease.is_some(),
        };
        if lines.len() == most {
            return (lines, Some(cursor));
        }
        if lease_is_newer {
            let Some((number, ended)) = leases.next() else { continue };
            cursor.leases = number;
            lines.extend(filter.takes_lease(ended).then(|| AuditEntry::Lease(ended.clone())));
        } else {
            let Some((number, line)) = log.next() else { continue };
            cursor.log = number;
            lines.extend(filter.takes_box_log(line).then(|| AuditEntry::BoxLog(line.clone())));
        }
    }
    (lines, Some(cursor))
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_protocol::boxes::{HookOutput, Reason};

    use super::*;
    use crate::box_lease::samples::{grant, holder, p, release, table};
    use crate::box_lease::{BoxEvent, BoxTable, PoolSpec};

    /// Two leases of box 0, one of box 1; box 1 was taken out of use in between.
    fn audited() -> BoxTable {
        let mut table = table(PoolSpec::of(0, 2));
        let mut apply = |at, event: &BoxEvent| drop(table.apply(Millis(at), event).unwrap());
        apply(1, &grant(&[(1, 0)], None));
        apply(2, &release(1, FenceToken(1)));
        let quarantined = BoxEvent::Quarantined {
            pool: p(),
            number: BoxNumber(1),
            cleaning: None,
            output: HookOutput::cut("smells"),
            by: Some("jo".to_owned()),
        };
        apply(3, &quarantined);
        apply(4, &grant(&[(2, 0)], None));
        let reason = Reason::new("a test").ok();
        let leases = vec![reelyard_protocol::boxes::LeaseId(2)];
        apply(5, &BoxEvent::Revoked { leases, by: "jo".to_owned(), reason });
        table
    }

    fn words(entries: &[AuditEntry]) -> Vec<&'static str> {
        let word = |entry: &AuditEntry| match entry {
            AuditEntry::Lease(ended) => ended.how.word(),
            AuditEntry::BoxLog(line) => line.news.word(),
        };
        entries.iter().map(word).collect()
    }

    #[test]
    fn both_lists_are_read_as_one_in_pages() {
        let table = audited();
        let lists = (table.ended(), table.box_log());
        let all = AuditFilter::of(p());
        let (lines, next) = newest(lists, &all, AuditCursor::NEWEST, 9, 100);
        assert_eq!((words(&lines), next), (vec!["revoked", "quarantined", "released"], None));
        let (mut read, mut from) = (Vec::new(), Some(AuditCursor::NEWEST));
        while let Some(cursor) = from {
            // A cursor survives being written and read.
            let (lines, next) = newest(lists, &all, cursor.to_string().parse().unwrap(), 1, 100);
            assert!(lines.len() <= 1);
            read.extend(lines);
            from = next;
        }
        assert_eq!(read, lines);
        let (none, next) = newest(lists, &all, AuditCursor::NEWEST, 9, 1);
        assert_eq!((words(&none), next.is_some()), (vec!["revoked"], true));
        assert!("7".parse::<AuditCursor>().is_err() && "a-b".parse::<AuditCursor>().is_err());
    }

    #[test]
    fn every_audit_filter_selects_its_rows() {
        let table = audited();
        let found = |change: fn(&mut AuditFilter)| {
            let mut filter = AuditFilter::of(p());
            change(&mut filter);
            let lists = (table.ended(), table.box_log());
            words(&newest(lists, &filter, AuditCursor::NEWEST, 9, 100).0)
        };
        assert_eq!(found(|f| f.number = Some(BoxNumber(0))), ["revoked", "released"]);
        assert_eq!(found(|f| f.number = Some(BoxNumber(1))), ["quarantined"]);
        assert_eq!(found(|f| f.token = Some(FenceToken(1))), ["released"]);
        assert_eq!(found(|f| f.holder = Some(holder())), ["revoked", "released"]);
        assert!(found(|f| f.holder = Holder::new("nobody").ok()).is_empty());
        assert_eq!(found(|f| f.what = Some("quarantined".to_owned())), ["quarantined"]);
        assert_eq!(found(|f| f.what = Some("released".to_owned())), ["released"]);
        assert!(found(|f| f.pool = PoolName::new("other").unwrap()).is_empty());
    }
}
