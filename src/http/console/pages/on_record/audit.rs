//! `/console/audit`: changes and refused calls.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use actix_web::{HttpRequest, HttpResponse, web};
use jiff::tz::TimeZone;
use reelyard_access::audit::{AuditOutcome, AuditReport, verify};
use reelyard_access::rights::AccessScope;
use reelyard_api::AuditRowInfo;
use reelyard_console::Moment;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::audit::{
    self, AuditLineView, AuditOutcomeFilter, AuditPageModel, AuditPageQuery,
};
use reelyard_console::parts::act::{CommandLines, list_lines_at};
use reelyard_console::parts::table::RowPage;
use serde_json::{Map, Value};

use super::instants::{given, instant};
use crate::http::api::audit_calls::audit::{AuditRowQuery, RowOrder, list};
use crate::http::api::audit_calls::row_filter::AuditFilterQuery;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// The operation by which workers report the ends of copies. A busy yard has thousands of these rows a day.
const REPORTS: &str = "takeReports";

/// Rows of a page.
const ROWS: usize = 100;

/// Longest text of changed values in characters. The export has them in full.
const LONGEST_CHANGE: usize = 300;

/// The newest rows that are sorted by a column. The audit itself is only in the order of time.
const SORTED: usize = 1000;

/// `GET /console/audit`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::AuditRead)?;
    let query = AuditPageQuery::parse(request.query_string());
    let mut model = model(&state, &query, &visitor.viewer.zone).await?;
    if query.check {
        let chain = computed(&state, |state| verify(state.audit.dir(), None)).await?;
        (model.whole_up_to, model.broken) = chain_state(chain, model.broken);
    }
    let content = audit::render(&query, &model, &visitor.viewer);
    let title = NavPage::Audit.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Audit, title, content);
    Ok(answer::page(&request, &state, &visitor, &parts))
}

/// The instant up to which the chain is whole, or why it is broken.
fn chain_state(
    chain: std::io::Result<AuditReport>,
    trouble: Option<String>,
) -> (Option<Moment>, Option<String>) {
    let fault = match &chain {
        Ok(report) => {
            report.findings.first().map(|found| format!("{}: {}", found.file, found.what))
        }
        Err(error) => Some(error.to_string()),
    };
    let whole = chain.ok().filter(AuditReport::is_whole).and_then(|report| report.until);
    (whole.map(|at| Moment(at.0)), trouble.or(fault))
}

async fn model(
    state: &web::Data<NodeHttpState>,
    query: &AuditPageQuery,
    zone: &TimeZone,
) -> Result<AuditPageModel, ProblemResponse> {
    let wanted = AuditFilterQuery { without: left_out(query), ..filter(query, zone) };
    let commands = as_command(&wanted);
    let AuditFilterQuery { actor, subject, operation, without, since, until, outcome } = wanted;
    let sort = query.order();
    let is_by_time = sort.key == "when";
    let wanted = AuditRowQuery {
        actor,
        subject,
        operation,
        without,
        since,
        until,
        outcome,
        order: (is_by_time && !sort.descending).then_some(RowOrder::Oldest),
        limit: Some(if is_by_time { ROWS } else { SORTED }.to_string()),
        cursor: given(&query.after).filter(|_| is_by_time),
    };
    let listed = list(state.clone(), web::Query(wanted)).await;
    let page = listed.map_err(Refusal::into_response)?.into_inner();
    let rows: Vec<AuditLineView> = page.items.into_iter().map(line).collect();
    let broken = state.audit.status().trouble;
    if !is_by_time {
        let sorted_among = page.next.map(|_| rows.len() as u64);
        let (rows, page) = sorted(rows, query);
        let base = AuditPageModel { sorted_among, broken, commands, ..AuditPageModel::default() };
        return Ok(AuditPageModel { rows, page, ..base });
    }
    let next = page
        .next
        .map(|next| AuditPageQuery { after: next.0, check: false, ..query.clone() }.address());
    Ok(AuditPageModel {
        page: RowPage {
            first: u64::from(query.after.is_empty() && !rows.is_empty()),
            shown: rows.len() as u64,
            total: None,
            previous: None,
            next,
        },
        rows,
        broken,
        commands,
        ..AuditPageModel::default()
    })
}

/// A page of these rows in the order of a column. Rows that are alike stay newest first.
fn sorted(mut rows: Vec<AuditLineView>, query: &AuditPageQuery) -> (Vec<AuditLineView>, RowPage) {
    let sort = query.order();
    rows.sort_by(|one, other| {
        let order = by_column(one, other, &sort.key);
        if sort.descending { order.reverse() } else { order }
    });
    let (total, first) = (rows.len(), query.after.parse().unwrap_or(0_usize));
    let shown: Vec<AuditLineView> = rows.into_iter().skip(first).take(ROWS).collect();
    let at = |after: usize| {
        let after = if after == 0 { String::new() } else { after.to_string() };
        AuditPageQuery { after, check: false, ..query.clone() }.address()
    };
    let page = RowPage::at(first, shown.len(), total, ROWS, &at);
    (shown, page)
}

fn by_column(one: &AuditLineView, other: &AuditLineView, column: &str) -> Ordering {
    match column {
        "actor" => one.actor.cmp(&other.actor),
        "address" => one.address.cmp(&other.address),
        "action" => one.action.cmp(&other.action),
        "object" => one.object.cmp(&other.object),
        "outcome" => one.is_refused.cmp(&other.is_refused),
        "reason" => one.reason.cmp(&other.reason),
        _ => Ordering::Equal,
    }
}

/// The list as a command.
fn as_command(wanted: &AuditFilterQuery) -> CommandLines {
    let outcome = wanted.outcome.map(|outcome| match outcome {
        AuditOutcome::Accepted => "accepted".to_owned(),
        AuditOutcome::Refused => "refused".to_owned(),
    });
    let parts = [
        ("actor", &wanted.actor),
        ("subject", &wanted.subject),
        ("operation", &wanted.operation),
        ("without", &wanted.without),
        ("since", &wanted.since),
        ("until", &wanted.until),
        ("outcome", &outcome),
    ];
    let given = parts.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    list_lines_at(&["audit", "list"], "/audit", &given.collect::<Vec<_>>(), None)
}

/// The operation that the page leaves out: the reports of workers, unless somebody asks for them.
fn left_out(query: &AuditPageQuery) -> Option<String> {
    let is_shown = query.reports || !query.action.trim().is_empty();
    (!is_shown).then(|| REPORTS.to_owned())
}

/// The filter of the page as the API has it. An export has the reports of workers too.
pub fn filter(query: &AuditPageQuery, zone: &TimeZone) -> AuditFilterQuery {
    AuditFilterQuery {
        actor: given(&query.actor),
        subject: given(&query.q),
        operation: given(&query.action),
        without: None,
        since: instant(&query.from, zone),
        until: instant(&query.to, zone),
        outcome: query.outcome.map(|outcome| match outcome {
            AuditOutcomeFilter::Done => AuditOutcome::Accepted,
            AuditOutcomeFilter::Refused => AuditOutcome::Refused,
        }),
    }
}

fn line(row: AuditRowInfo) -> AuditLineView {
    let is_refused = row.problem.is_some() || row.status.is_some_and(|status| status >= 400);
    AuditLineView {
        at: Moment(row.at.0.0),
        actor: row.actor.name,
        address: row.from.unwrap_or_default(),
        action: row.operation,
        object: row.subject.unwrap_or_default(),
        change: change(row.before.as_ref(), row.after.as_ref()),
        is_refused,
        reason: row.reason.or(row.problem).unwrap_or_default(),
    }
}

/// The values before and after an act in one line, such as "mode: active → draining".
fn change(before: Option<&Value>, after: Option<&Value>) -> String {
    let empty = Map::new();
    let members = |values: Option<&Value>| match values {
        Some(Value::Object(members)) => members.clone(),
        _ => empty.clone(),
    };
    let (before, after) = (members(before), members(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = |name: &String| match (before.get(name), after.get(name)) {
        (Some(from), Some(to)) => format!("{name}: {} → {}", value_words(from), value_words(to)),
        (None, Some(to)) => format!("{name}: {}", value_words(to)),
        (Some(from), None) => format!("{name}: {} →", value_words(from)),
        (None, None) => name.clone(),
    };
    let changes: Vec<String> = names.into_iter().map(changed).collect();
    let all = changes.join(", ");
    match all.char_indices().nth(LONGEST_CHANGE) {
        Some((end, _)) => format!("{}…", &all[..end]),
        None => all,
    }
}

fn value_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_names_each_value_before_and_after() {
        let (before, after) = (json!({ "mode": "active" }), json!({ "mode": "draining" }));
        assert_eq!(change(Some(&before), Some(&after)), "mode: active → draining");
        let added = json!({ "role": "admin", "n": 3 });
        assert_eq!(change(None, Some(&added)), "n: 3, role: admin");
        assert_eq!(change(Some(&added), None), "n: 3 →, role: admin →");
        assert_eq!(change(None, None), "");
        let long = change(None, Some(&json!({ "a": "x".repeat(4000) })));
        assert!(long.ends_with('…') && long.chars().count() == LONGEST_CHANGE + 1);
    }

    fn is_refused(from: &str) -> bool {
        let query = AuditPageQuery { from: from.to_owned(), ..AuditPageQuery::default() };
        filter(&query, &TimeZone::UTC).filter().is_err()
    }

    #[test]
    fn reports_of_workers_are_shown_on_request_and_always_exported() {
        let of = |address: &str| AuditPageQuery::parse(address);
        assert_eq!(left_out(&of("")).as_deref(), Some(REPORTS));
        assert_eq!(left_out(&of("reports=true")), None);
        assert_eq!(left_out(&of("action=takeReports")), None);
        assert_eq!(filter(&of(""), &TimeZone::UTC).without, None);
        let operations: Vec<String> =
            crate::http::api::operations().into_iter().map(|(_, _, name)| name).collect();
        assert!(operations.iter().any(|name| name == REPORTS), "the call has another name");
    }

    #[test]
    fn a_text_that_names_no_instant_is_refused() {
        for text in ["garbage", "2026-13-01T00:00", "0"] {
            assert!(is_refused(text), "{text}");
        }
        for text in ["", " ", "2026-11-27T10:30", "2026-11-27", "2026-11-27T10:30:00+09:00"] {
            assert!(!is_refused(text), "{text}");
        }
    }
}
