//! `/console/history`: ended copies and removals, and their export.

use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::stream::unfold;
use jiff::tz::TimeZone;
use reelyard_access::rights::AccessScope;
use reelyard_api::{HistoryEntry, HistoryLine};
use reelyard_console::Moment;
use reelyard_console::address::QueryPairs;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::history::{
    self, HistoryPageModel, HistoryPageQuery, HistoryRow, HistoryStepFilter,
};
use reelyard_console::pages::yard::{RecentLine, RecentStep};
use reelyard_console::parts::table::RowPage;
use reelyard_core::page_order::PageRange;
use reelyard_yard::remover::Ending;
use reelyard_yard::task_manager::TaskState;

use super::ended_troubles;
use super::instants::instant;
use crate::csv;
use crate::http::api::audit_calls::row_filter::instant as read_instant;
use crate::http::api::yard_calls::history::{HistoryFilter, HistoryPosition, Kind, history_page};
use crate::http::api::yard_calls::history_order::HistoryColumn;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::pages::host_choices::host_choices;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::recent::file_text;
use crate::http::problem::ProblemResponse;

/// Rows of a page.
const ROWS: usize = 100;
/// Lines that are made at a time for an export.
const EXPORTED_AT_ONCE: usize = 1000;

/// `GET /console/history`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = HistoryPageQuery::parse(request.query_string());
    let viewer = visitor.viewer.clone();
    let render = move |state: &NodeHttpState| {
        let model = match query.step {
            Some(HistoryStepFilter::Troubles) => ended_troubles::model(state, &query, &viewer)?,
            _ => model(state, &query, &viewer.zone)?,
        };
        Ok::<_, ProblemResponse>(history::render(&query, &model, &viewer))
    };
    let content = computed(&state, render).await??;
    let title = NavPage::History.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::History, title, content);
    Ok(answer::page(&request, &state, &visitor, &parts))
}

fn model(
    state: &NodeHttpState,
    query: &HistoryPageQuery,
    zone: &TimeZone,
) -> Result<HistoryPageModel, ProblemResponse> {
    let copies = state.actors.task_views.load().history.clone();
    let removals = state.actors.remover_views.load().history.clone();
    let kept = copies.len() + removals.len();
    let hosts = state.actors.hosts.present();
    let base = HistoryPageModel {
        kept,
        hosts: host_choices(hosts.keys(), &query.host),
        span: [instant(&query.from, zone), instant(&query.to, zone)],
        ..HistoryPageModel::default()
    };
    if let Some(column) = sorted_column(query) {
        let first = query.after.parse().unwrap_or(0_usize);
        let range = PageRange {
            positions: first..first.saturating_add(ROWS),
            descending: query.order().descending,
        };
        let (lines, total) =
            filter(query, zone)?.sorted_page(&copies, &removals, column, &range, &state.names);
        let at = |after: usize| {
            let after = if after == 0 { String::new() } else { after.to_string() };
            HistoryPageQuery { after, ..query.clone() }.address()
        };
        let rows: Vec<HistoryRow> = lines.into_iter().map(row).collect();
        let page = RowPage::at(first, rows.len(), total, ROWS, &at);
        return Ok(HistoryPageModel { page, rows, ..base });
    }
    // A cursor that cannot be read is the begin, as other unreadable values of an address.
    let from = query.after.parse().unwrap_or(HistoryPosition::NEWEST);
    let page = history_page(state, &filter(query, zone)?, from, ROWS);
    let rows: Vec<HistoryRow> = page.items.into_iter().map(row).collect();
    let is_first = query.after.is_empty() && !rows.is_empty();
    let next = page.next.map(|next| HistoryPageQuery { after: next.0, ..query.clone() }.address());
    let total = (is_first && next.is_none()).then_some(rows.len() as u64);
    Ok(HistoryPageModel {
        page: RowPage {
            first: u64::from(is_first),
            shown: rows.len() as u64,
            total,
            previous: None,
            next,
        },
        rows,
        ..base
    })
}

/// The column of an order other than the usual one.
fn sorted_column(query: &HistoryPageQuery) -> Option<HistoryColumn> {
    let sort = query.order();
    match sort.key.as_str() {
        "when" if !sort.descending => Some(HistoryColumn::When),
        "step" => Some(HistoryColumn::Step),
        "file" => Some(HistoryColumn::File),
        "host" => Some(HistoryColumn::Host),
        "size" => Some(HistoryColumn::Size),
        "by" => Some(HistoryColumn::By),
        _ => None,
    }
}

fn filter(query: &HistoryPageQuery, zone: &TimeZone) -> Result<HistoryFilter, ProblemResponse> {
    let host = match query.host.as_str() {
        "" => None,
        text => Some(text.parse().map_err(|error| {
            ProblemResponse::bad_request(format!("host: \"{text}\" is no host: {error}"))
        })?),
    };
    Ok(HistoryFilter {
        file: None,
        host,
        what: match query.step {
            Some(HistoryStepFilter::Copies) => Some(Kind::Copy),
            Some(HistoryStepFilter::Removals) => Some(Kind::Removal),
            Some(HistoryStepFilter::Failures | HistoryStepFilter::Troubles) | None => None,
        },
        part: query.q.trim().to_owned(),
        failed: query.step == Some(HistoryStepFilter::Failures),
        by: query.by.trim().to_owned(),
        since: read_instant("from", instant(&query.from, zone).as_deref())?,
        until: read_instant("to", instant(&query.to, zone).as_deref())?,
    })
}

fn row(line: HistoryLine) -> HistoryRow {
    let (step, source, ending, reason) = match line.what {
        HistoryEntry::Copy { source, state, detail, .. } => {
            let step = match state {
                TaskState::Done => RecentStep::Copied,
                TaskState::Cancelled => RecentStep::Cancelled,
                _ => RecentStep::Failed,
            };
            (step, Some(source.to_string()), None, detail.unwrap_or_default())
        }
        HistoryEntry::Removal { why, ending, .. } => match ending {
            Ending::Removed | Ending::Absent => (RecentStep::Removed, None, None, why),
            failed => (RecentStep::Failed, None, Some(failed.words()), why),
        },
    };
    HistoryRow {
        line: RecentLine {
            step,
            name: file_text(line.name),
            host: line.host.to_string(),
            at: Moment(line.at.0),
        },
        source,
        size: line.size,
        asked_by: line.asked_by,
        ending,
        reason,
    }
}

/// `GET /console/history/export?format=`: all kept lines that match, in the order of the page.
pub async fn export(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = HistoryPageQuery::parse(request.query_string());
    let filter = filter(&query, &visitor.viewer.zone)?;
    let pairs = QueryPairs::parse(request.query_string());
    let (is_csv, kind, name) = match pairs.first("format") {
        Some("csv") => (true, "text/csv; charset=utf-8", "history.csv"),
        _ => (false, "application/jsonl", "history.jsonl"),
    };
    let head = if is_csv { CSV_HEAD } else { "" };
    if query.step == Some(HistoryStepFilter::Troubles) {
        let text = ended_troubles::export(&state, &query, &visitor.viewer, is_csv)?;
        return Ok(HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, kind))
            .insert_header((CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
            .body(text));
    }
    if let Some(column) = sorted_column(&query) {
        let lines =
            computed(&state, move |state| all_sorted(state, &filter, &query, column)).await?;
        let begin = (Some(head.to_owned()), lines.into_iter());
        let lines = unfold(begin, move |(head, mut lines)| async move {
            let is_first = head.is_some();
            let mut text = head.unwrap_or_default();
            let before = text.len();
            text.extend(lines.by_ref().take(EXPORTED_AT_ONCE).map(line_text(is_csv)));
            let part = Ok::<Bytes, std::io::Error>(Bytes::from(text.clone()));
            (is_first || text.len() > before).then_some((part, (None, lines)))
        });
        return Ok(HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, kind))
            .insert_header((CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
            .streaming(lines));
    }
    let begin = Some((head.to_owned(), HistoryPosition::NEWEST));
    let lines = unfold((begin, filter, state), move |(at, filter, state)| async move {
        let (mut text, from) = at?;
        let page = history_page(&state, &filter, from, EXPORTED_AT_ONCE);
        for line in page.items {
            text.push_str(&line_text(is_csv)(line));
        }
        let next = page.next.and_then(|next| next.0.parse().ok());
        let next = next.map(|next: HistoryPosition| (String::new(), next));
        Some((Ok::<Bytes, std::io::Error>(Bytes::from(text)), (next, filter, state)))
    });
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, kind))
        .insert_header((CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
        .streaming(lines))
}

/// All kept lines that match, in the order of a column.
fn all_sorted(
    state: &NodeHttpState,
    filter: &HistoryFilter,
    query: &HistoryPageQuery,
    column: HistoryColumn,
) -> Vec<HistoryLine> {
    let copies = state.actors.task_views.load().history.clone();
    let removals = state.actors.remover_views.load().history.clone();
    let kept = usize::try_from(copies.len() + removals.len()).unwrap_or(usize::MAX);
    let range = PageRange { positions: 0..kept, descending: query.order().descending };
    filter.sorted_page(&copies, &removals, column, &range, &state.names).0
}

/// Writes a line with commas, or as JSON.
fn line_text(is_csv: bool) -> fn(HistoryLine) -> String {
    if is_csv { csv_row } else { json }
}

/// The first line of an export with commas.
const CSV_HEAD: &str = "at,step,name,source,host,size,asked_by,reason\r\n";

fn json(line: HistoryLine) -> String {
    // Plain data always serializes.
    let mut text = serde_json::to_string(&line).unwrap_or_default();
    text.push('\n');
    text
}

fn csv_row(line: HistoryLine) -> String {
    let at = line.at.to_string();
    let row = row(line);
    let step = match row.line.step {
        RecentStep::Copied => "copied",
        RecentStep::Failed => "failed",
        RecentStep::Removed => "removed",
        RecentStep::Cancelled => "cancelled",
    };
    let size = row.size.map(|size| size.to_string()).unwrap_or_default();
    let source = row.source.unwrap_or_default();
    let RecentLine { name, host, .. } = &row.line;
    let reason = match row.ending {
        Some(ending) => format!("{ending}. {}", row.reason),
        None => row.reason,
    };
    csv::row([at.as_str(), step, name, &source, host, &size, &row.asked_by, &reason])
}
