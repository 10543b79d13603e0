//! `/console/audit`: changes and refused calls.

use actix_web::{HttpRequest, HttpResponse, web};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use reelyard_access::audit::AuditOutcome;
use reelyard_access::rights::AccessScope;
use reelyard_api::AuditRowInfo;
use reelyard_console::Moment;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::audit::{
    self, AuditLineView, AuditOutcomeFilter, AuditPageModel, AuditPageQuery,
};
use reelyard_console::parts::table::RowPage;

use crate::http::api::audit_calls::audit::{AuditRowQuery, list};
use crate::http::api::audit_calls::row_filter::AuditFilterQuery;
use crate::http::console::answer;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// Rows of a page.
const ROWS: usize = 100;

/// `GET /console/audit`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::AuditRead)?;
    let query = AuditPageQuery::parse(request.query_string());
    let model = model(&state, &query, &visitor.viewer.zone).await?;
    let content = audit::render(&query, &model, &visitor.viewer);
    let title = NavPage::Audit.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Audit, title, content);
    Ok(answer::page(&request, &state, &visitor, &parts))
}

async fn model(
    state: &web::Data<NodeHttpState>,
    query: &AuditPageQuery,
    zone: &TimeZone,
) -> Result<AuditPageModel, ProblemResponse> {
    let AuditFilterQuery { actor, subject, operation, since, until, outcome } = filter(query, zone);
    let wanted = AuditRowQuery {
        actor,
        subject,
        operation,
        since,
        until,
        outcome,
        limit: Some(ROWS.to_string()),
        cursor: given(&query.after),
        ..AuditRowQuery::default()
    };
    let listed = list(state.clone(), web::Query(wanted)).await;
    let page = listed.map_err(Refusal::into_response)?.into_inner();
    let rows: Vec<AuditLineView> = page.items.into_iter().map(line).collect();
    let next = page.next.map(|next| AuditPageQuery { after: next.0, ..query.clone() }.address());
    Ok(AuditPageModel {
        matching: None,
        page: RowPage {
            first: u64::from(query.after.is_empty() && !rows.is_empty()),
            shown: rows.len() as u64,
            total: None,
            previous: None,
            next,
        },
        rows,
        whole_up_to: None,
        broken: state.audit.status().trouble,
    })
}

/// The filter of the page as the API has it.
pub fn filter(query: &AuditPageQuery, zone: &TimeZone) -> AuditFilterQuery {
    AuditFilterQuery {
        actor: given(&query.actor),
        subject: given(&query.q),
        operation: given(&query.action),
        since: instant(&query.from, zone),
        until: instant(&query.to, zone),
        outcome: query.outcome.map(|outcome| match outcome {
            AuditOutcomeFilter::Done => AuditOutcome::Accepted,
            AuditOutcomeFilter::Refused => AuditOutcome::Refused,
        }),
    }
}

/// The instant that a field of a page names, in the form of the API. None for a text that names none.
fn instant(text: &str, zone: &TimeZone) -> Option<String> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant.to_string());
    }
    let local: DateTime = text.parse().ok()?;
    Some(local.to_zoned(zone.clone()).ok()?.timestamp().to_string())
}

fn given(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn line(row: AuditRowInfo) -> AuditLineView {
    let is_refused = row.problem.is_some() || row.status.is_some_and(|status| status >= 400);
    AuditLineView {
        at: Moment(row.at.0.0),
        actor: row.actor.name,
        address: row.from.unwrap_or_default(),
        action: row.operation,
        object: row.subject.unwrap_or_default(),
        is_refused,
        reason: row.reason.or(row.problem).unwrap_or_default(),
    }
}
