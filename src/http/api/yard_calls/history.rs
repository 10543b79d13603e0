//! `/api/v1/history`: ended copies and removals, newest first.

use std::str::FromStr;

use actix_web::web;
use memchr::memmem;
use reelyard_api::{Cursor, HistoryEntry, HistoryLine, Page};
use reelyard_core::clock::Millis;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_yard::remover::{Ending, RemovalRecord};
use reelyard_yard::task_manager::{CopyRecord, TaskState};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::http::api::audit_calls::row_filter::instant;
use crate::http::api::call_parts::PageQuery;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// The requester that is shown for tasks of the planner.
pub(super) const PLANNER: &str = "planner";

/// Filter of the history.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// Only lines about this file; the name as lists show it.
    file: Option<String>,
    /// Only lines about files with this text in their names.
    contains: Option<String>,
    /// Only copies to or from this host, and removals from it.
    host: Option<HostAddr>,
    /// Only copies, or only removals.
    #[param(inline)]
    what: Option<Kind>,
    /// Only what ended without success.
    #[serde(default)]
    failed: bool,
    /// Only lines whose requester has this text in its name; the planner is "planner".
    by: Option<String>,
    /// Only what ended at or after this time, in RFC 3339.
    since: Option<String>,
    /// Only what ended before this time, in RFC 3339.
    until: Option<String>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    cursor: Option<String>,
}

/// The kind of a history line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An ended copy of a file.
    Copy,
    /// An ended removal of a copy.
    Removal,
}

/// Position in both histories: the numbers of the last returned lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPosition {
    copies: u64,
    removals: u64,
}

impl HistoryPosition {
    /// Before the newest line.
    pub const NEWEST: HistoryPosition = HistoryPosition { copies: u64::MAX, removals: u64::MAX };
}

impl FromStr for HistoryPosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (copies, removals) = text.split_once('-').ok_or(())?;
        let number = |text: &str| text.parse().map_err(|_| ());
        Ok(HistoryPosition { copies: number(copies)?, removals: number(removals)? })
    }
}

/// `GET /history`.
#[utoipa::path(
    get,
    path = "/history",
    tag = "history",
    operation_id = "listHistory",
    summary = "Lists ended copies and removals, newest first",
    params(HistoryQuery),
    responses((status = 200, description = "A page of history lines", body = Page<HistoryLine>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<HistoryQuery>,
) -> Result<web::Json<Page<HistoryLine>>, Refusal<()>> {
    let HistoryQuery { file, contains, host, what, failed, by, since, until, limit, cursor } =
        query.into_inner();
    let paging = PageQuery { limit, cursor };
    let from = paging.position::<HistoryPosition>()?.unwrap_or(HistoryPosition::NEWEST);
    let limit = paging.limit()?;
    let file = match file {
        Some(text) => {
            let name = FileName::new(text.clone())
                .map_err(|bad| ProblemResponse::bad_request(format!("file: \"{text}\": {bad}")))?;
            match state.names.find(name.as_bytes()) {
                Some(file) => Some(file),
                None => return Ok(web::Json(Page { items: Vec::new(), next: None })),
            }
        }
        None => None,
    };
    let wanted = HistoryFilter {
        file,
        host,
        what,
        part: contains.unwrap_or_default(),
        failed,
        by: by.unwrap_or_default(),
        since: instant("since", since.as_deref())?,
        until: instant("until", until.as_deref())?,
    };
    Ok(web::Json(history_page(&state, &wanted, from, limit)))
}

/// A page of the history as it is now.
pub fn history_page(
    state: &NodeHttpState,
    wanted: &HistoryFilter,
    from: HistoryPosition,
    limit: usize,
) -> Page<HistoryLine> {
    let copies = state.actors.task_views.load().history.clone();
    let removals = state.actors.remover_views.load().history.clone();
    wanted.page(&copies, &removals, from, limit, &state.names)
}

/// Selects lines of the history. Each member that is set must match.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// About this file.
    pub file: Option<FileId>,
    /// Copies to this host, and removals from it.
    pub host: Option<HostAddr>,
    /// Only copies, or only removals.
    pub what: Option<Kind>,
    /// Bytes within the name of the file. Empty for any name.
    pub part: String,
    /// Only what ended without success.
    pub failed: bool,
    /// Text within the name of the requester. Empty for any requester.
    pub by: String,
    /// Ended then or later.
    pub since: Option<Millis>,
    /// Ended before then.
    pub until: Option<Millis>,
}

impl HistoryFilter {
    /// Whether the filter matches the requester and the end of a line.
    fn takes_end(&self, by: &str, at: Millis) -> bool {
        by.contains(&self.by)
            && self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at < until)
    }

    /// Whether the filter matches a line of this kind about this copy.
    fn takes(&self, kind: Kind, file: FileId, host: HostAddr, names: &NameTable) -> bool {
        self.what.is_none_or(|what| what == kind)
            && self.file.is_none_or(|wanted| wanted == file)
            && self.host.is_none_or(|wanted| wanted == host)
            && (self.part.is_empty()
                || memmem::find(names.name(file).as_bytes(), self.part.as_bytes()).is_some())
    }

    /// Whether the filter matches a copy.
    pub(super) fn takes_copy(&self, line: &CopyRecord, names: &NameTable) -> bool {
        (!self.failed || line.state != TaskState::Done)
            && self.takes_end(line.asked_by.as_deref().unwrap_or(PLANNER), line.at)
            && self.takes(Kind::Copy, line.file, line.destination, names)
    }

    /// Whether the filter matches a removal.
    pub(super) fn takes_removal(&self, line: &RemovalRecord, names: &NameTable) -> bool {
        (!self.failed || !matches!(line.ending, Ending::Removed | Ending::Absent))
            && self.takes_end(&line.asked_by, line.at)
            && self.takes(Kind::Removal, line.file, line.host, names)
    }

    /// Merges both histories, newest first.
    fn page(
        &self,
        copies: &BoundedLog<CopyRecord>,
        removals: &BoundedLog<RemovalRecord>,
        from: HistoryPosition,
        limit: usize,
        names: &NameTable,
    ) -> Page<HistoryLine> {
        let copied = copies.newest_before(from.copies);
        let mut copied = copied.filter(|(_, line)| self.takes_copy(line, names)).peekable();
        let removed = removals.newest_before(from.removals);
        let mut removed = removed.filter(|(_, line)| self.takes_removal(line, names)).peekable();
        let (mut items, mut read) = (Vec::new(), from);
        while items.len() < limit {
            let copy_is_newer = match (copied.peek(), removed.peek()) {
                (None, None) => return Page { items, next: None },
                (Some((_, copy)), Some((_, removal))) => copy.at >= removal.at,
                (copy, _) => copy.is_some(),
            };
            if copy_is_newer {
                let Some((number, line)) = copied.next() else { continue };
                read.copies = number;
                items.push(of_copy(line, names));
            } else {
                let Some((number, line)) = removed.next() else { continue };
                read.removals = number;
                items.push(of_removal(line, names));
            }
        }
        let more = copied.peek().is_some() || removed.peek().is_some();
        let next = more.then(|| Cursor(format!("{}-{}", read.copies, read.removals)));
        Page { items, next }
    }
}

/// A copy as the list shows it.
pub(super) fn of_copy(line: &CopyRecord, names: &NameTable) -> HistoryLine {
    HistoryLine {
        at: line.at,
        name: names.name(line.file).to_text(),
        host: line.destination,
        size: Some(line.size),
        decided: line.planned,
        asked_by: line.asked_by.clone().unwrap_or_else(|| PLANNER.to_owned()),
        what: HistoryEntry::Copy {
            task: line.task,
            source: line.source,
            state: line.state,
            rank: Some(line.grade).filter(|grade| *grade > 0),
            hits: line.hits,
            detail: line.reason_in_words(),
            blame: line.blame,
        },
    }
}

/// A removal as the list shows it.
pub(super) fn of_removal(line: &RemovalRecord, names: &NameTable) -> HistoryLine {
    HistoryLine {
        at: line.at,
        name: names.name(line.file).to_text(),
        host: line.host,
        size: line.size,
        decided: line.decided,
        asked_by: line.asked_by.clone(),
        what: HistoryEntry::Removal {
            why: line.reason.words(),
            reason: line.reason.clone(),
            keeper: line.keeper,
            ending: line.ending.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::worker::TaskId;
    use reelyard_yard::remover::Reason;

    use super::*;

    fn host(last: u8) -> HostAddr {
        format!("10.0.0.{last}:80").parse().unwrap_or_else(|bad| panic!("{bad}"))
    }

    fn copy(at: i64, file: u32) -> CopyRecord {
        CopyRecord {
            task: TaskId(at),
            file: FileId(file),
            source: host(1),
            destination: host(2),
            grade: 1,
            hits: 0,
            size: 7,
            state: TaskState::Done,
            reason: None,
            is_unverified: false,
            blame: None,
            asked_by: None,
            planned: Millis(at - 1),
            at: Millis(at),
        }
    }

    fn removal(at: i64, file: u32) -> RemovalRecord {
        RemovalRecord {
            host: host(3),
            file: FileId(file),
            size: None,
            reason: Reason::Draining { elsewhere: 1 },
            keeper: Some(host(2)),
            asked_by: "remover".to_owned(),
            decided: Millis(at - 1),
            at: Millis(at),
            ending: Ending::Removed,
        }
    }

    /// Reads everything in pages of `limit`. Returns the times at which the lines ended.
    fn read(wanted: &HistoryFilter, limit: usize) -> Vec<i64> {
        let names = NameTable::new();
        for name in ["a", "b", "c"] {
            names.intern(&FileName::new(name).unwrap_or_else(|bad| panic!("{bad}")));
        }
        let (mut copies, mut removals) = (BoundedLog::default(), BoundedLog::default());
        for at in [1, 3, 4, 8] {
            copies.push(copy(at, u32::from(at == 4)));
        }
        for at in [2, 5, 6, 7, 9] {
            removals.push(removal(at, u32::from(at > 6)));
        }
        let (mut reported, mut cursor) = (Vec::new(), None::<Cursor>);
        loop {
            let from = cursor.map_or(Ok(HistoryPosition::NEWEST), |at| at.0.parse());
            let from = from.unwrap_or_else(|()| panic!("a cursor is read as it is written"));
            let page = wanted.page(&copies, &removals, from, limit, &names);
            assert!(page.items.len() <= limit);
            reported.extend(page.items.iter().map(|line| line.at.0));
            cursor = page.next;
            if cursor.is_none() {
                return reported;
            }
        }
    }

    #[test]
    fn both_histories_are_listed_as_one_page_by_page() {
        let all = |what, file, host| HistoryFilter { file, host, what, ..HistoryFilter::default() };
        let part = |part: &str| HistoryFilter { part: part.to_owned(), ..HistoryFilter::default() };
        let failed = HistoryFilter { failed: true, ..HistoryFilter::default() };
        let by = |by: &str| HistoryFilter { by: by.to_owned(), ..HistoryFilter::default() };
        let ended = |since, until| HistoryFilter {
            since: Some(Millis(since)),
            until: Some(Millis(until)),
            ..HistoryFilter::default()
        };
        for limit in [1, 2, 4, 9, 100] {
            assert_eq!(read(&all(None, None, None), limit), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
            assert_eq!(read(&all(Some(Kind::Copy), None, None), limit), [8, 4, 3, 1]);
            assert_eq!(read(&all(None, Some(FileId(1)), None), limit), [9, 7, 4]);
            assert_eq!(read(&all(None, None, Some(host(3))), limit), [9, 7, 6, 5, 2]);
            assert!(read(&all(None, Some(FileId(2)), None), limit).is_empty());
            assert_eq!(read(&part("b"), limit), [9, 7, 4]);
            assert!(read(&failed, limit).is_empty());
            assert_eq!(read(&by("plan"), limit), [8, 4, 3, 1]);
            assert_eq!(read(&by("remover"), limit), [9, 7, 6, 5, 2]);
            assert_eq!(read(&ended(3, 7), limit), [6, 5, 4, 3]);
        }
    }
}
