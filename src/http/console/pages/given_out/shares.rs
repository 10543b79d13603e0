//! `/console/shares`: links with their ends, and the form of a new link.

use std::collections::HashSet;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::ShareInfo;
use reelyard_console::address::QueryPairs;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::shares::{
    self, NewLink, ShareCondition, ShareLine, ShareStateFilter, ShareTotals, SharesPageModel,
    SharesPageQuery,
};
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::parts::table::RowPage;
use reelyard_console::parts::timeline::EndColumn;
use reelyard_console::text::outcomes;
use reelyard_console::{Moment, Viewer};
use reelyard_core::clock::Millis;
use reelyard_core::page_order::{ItemNumber, PageRange};
use reelyard_shares::share_expiry::{
    IndexedShare, ShareColumn, ShareIndex, ShareKind, ShareLookup, ShareSet, ShareState, UsesNeeded,
};

use super::{new_link, share_dialogs};
use crate::http::api::share_calls::shares::knows_its_shares;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::chosen::{self, ChosenRows};
use crate::http::console::live_part::LivePart;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::{ShareCounts, span_of_column};
use crate::http::problem::ProblemResponse;

/// Rows of a page.
const ROWS: usize = 50;
/// Failing webhooks that the page names; further ones are counted.
const HOOKS: usize = 20;
/// A day in milliseconds.
const DAY_MILLIS: i64 = 86_400_000;

/// `GET /console/shares`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::SharesRead)?;
    let query = SharesPageQuery::parse(request.query_string());
    let mut model = model(&state, &query, &visitor.viewer).await?;
    if query.new && visitor.viewer.rights.shares && !model.has_no_root {
        let found = new_link::found(&state, &query.path).await;
        let pairs = QueryPairs::parse(request.query_string());
        let typed =
            |name: &str| pairs.first(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let default_ttl = state.live.now().config.share.rules.default_ttl;
        model.new = Some(NewLink { found, ..share_dialogs::link_of(default_ttl, &typed) });
    }
    let parts = parts(&query, &model, &visitor.viewer);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "shares"))
}

/// The parts of the page that follow changes.
///
/// # Errors
/// The node is still reading its journal, is busy, or stops.
pub async fn live_parts(
    state: &web::Data<NodeHttpState>,
    query: &str,
    viewer: &Viewer,
) -> Result<Vec<LivePart>, ProblemResponse> {
    // A dialog stays as it was opened.
    let query = SharesPageQuery { ask: String::new(), ..SharesPageQuery::parse(query) };
    let model = model(state, &query, viewer).await?;
    let mut parts = shares::live_head(viewer, &query, &model);
    parts.push(("shares-hooks".to_owned(), shares::failing_hooks(viewer, &model)));
    parts.push(("shares-timeline".to_owned(), shares::timeline(viewer, &model)));
    parts.push(("rows".to_owned(), shares::share_rows(viewer, &query, &model)));
    Ok(parts)
}

/// The page around this model.
pub fn parts(query: &SharesPageQuery, model: &SharesPageModel, viewer: &Viewer) -> PageParts {
    let content = shares::render(query, model, viewer);
    // Without a link that works there is no dialog.
    let is_known = matches!(query.ask.as_str(), "revoke" | "extend");
    let is_gone = is_known && !query.all && model.ask.is_none();
    let picked = if is_gone { query.pick.as_slice() } else { &[] };
    PageParts::new(NavPage::Shares, NavPage::Shares.title().of(viewer.language), content)
        .with_gone(chosen::gone(viewer, outcomes::GONE_LINKS, picked))
}

/// The rows of this state of the page.
///
/// # Errors
/// The node is still reading its journal, is busy, or stops.
pub async fn model(
    state: &web::Data<NodeHttpState>,
    query: &SharesPageQuery,
    viewer: &Viewer,
) -> Result<SharesPageModel, ProblemResponse> {
    knows_its_shares(state)?;
    let (query, viewer) = (query.clone(), viewer.clone());
    computed(state, move |state| list(state, &query, &viewer)).await
}

fn list(state: &NodeHttpState, query: &SharesPageQuery, viewer: &Viewer) -> SharesPageModel {
    let now = state.share_time();
    let uses_needed = match column(query) {
        ShareColumn::Downloads => UsesNeeded::Latest,
        _ => UsesNeeded::Any,
    };
    let index = state.actors.share_views.index(uses_needed, state.clock.timer());
    let counts = state.share_counts.counts(&index, now);
    let hooks = state.actors.hooks.views();
    let failing = hooks.iter().filter(|hook| hook.trouble.is_some());
    let failing_hooks: Vec<(String, String)> = failing
        .clone()
        .take(HOOKS)
        .filter_map(|hook| Some((hook.name.to_string(), hook.trouble.as_ref()?.reason.clone())))
        .collect();
    let totals = ShareTotals {
        working: counts.working,
        due: counts.due,
        ended: counts.ended,
        hooks: hooks.len() as u64,
        failing_hooks: failing.count() as u64,
    };
    let closed =
        SharesPageQuery { ask: String::new(), ttl: String::new(), ..query.clone() }.address();
    let ask = match (query.ask.as_str(), query.all) {
        ("", _) => None,
        (_, false) => picks_dialog(state, query, &closed, viewer),
        (_, true) => {
            share_dialogs::of_matching(query, suited(state, query, &index, now), &closed, viewer)
        }
    };
    let (rows, page) = rows(state, query, &index, now);
    let span = WantedLinks::of(query, now).due;
    SharesPageModel {
        failing_hooks,
        has_no_root: state.live.now().config.share.rules.roots.0.is_empty(),
        totals,
        next_due: counts.next_due.map(|at| Moment(at.0)),
        columns: columns(&counts, query),
        peak: counts.peak.map(|(at, links)| (Moment(at.0), links)),
        due_span: span.map(|(begin, end)| (Moment(begin.0), Moment(end.0))),
        rows,
        page,
        new: None,
        ask,
    }
}

/// The time line. It is left out while no link ends in its time.
fn columns(counts: &ShareCounts, query: &SharesPageQuery) -> Vec<EndColumn> {
    if counts.columns.iter().all(|links| *links == 0) {
        return Vec::new();
    }
    let of_column = |(column, links): (usize, &u64)| {
        let due = Some(column as u64);
        let chosen =
            SharesPageQuery { due, sort: query.sort.clone(), ..SharesPageQuery::default() };
        EndColumn { links: *links, address: chosen.address() }
    };
    counts.columns.iter().enumerate().map(of_column).collect()
}

/// The dialog of the action of a page on the picked links. It names those that have ended or do not exist.
fn picks_dialog(
    state: &NodeHttpState,
    query: &SharesPageQuery,
    back: &str,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let picked = picked(state, query);
    let mut ask = share_dialogs::of_word(query, &picked, back, viewer)?;
    let mut absent = query.pick.clone();
    let found: HashSet<&str> = picked.iter().map(|line| line.id.as_str()).collect();
    absent.retain(|id| !found.contains(id.as_str()));
    ask.left_out.extend(chosen::gone(viewer, outcomes::GONE_LINKS, &absent));
    Some(ask)
}

/// The picked links that have not ended.
fn picked(state: &NodeHttpState, query: &SharesPageQuery) -> Vec<ShareLine> {
    let mut lines = Vec::new();
    for id in query.pick.iter().filter_map(|id| id.parse().ok()) {
        if let ShareLookup::Live(share) = state.actors.share_views.find(id) {
            lines.push(line(&state.share_info(&share, state.share_time())));
        }
    }
    lines
}

/// The links that match the filter of a page, and have not ended.
pub fn matching(state: &NodeHttpState, query: &SharesPageQuery) -> ChosenRows<ShareLine> {
    let index = state.actors.share_views.index(UsesNeeded::Any, state.clock.timer());
    suited(state, query, &index, state.share_time())
}

fn suited(
    state: &NodeHttpState,
    query: &SharesPageQuery,
    index: &ShareIndex,
    now: Millis,
) -> ChosenRows<ShareLine> {
    let mut found = Vec::new();
    WantedLinks::of(query, now).visit(index, |_, share| found.push(*share));
    let chosen = ChosenRows::of(found.iter(), |share| share.state(now) == ShareState::Live);
    let mut rows = Vec::with_capacity(chosen.rows.len());
    for share in &chosen.rows {
        // A link that ended a moment ago is left out.
        if let ShareLookup::Live(share) = state.actors.share_views.find(share.id) {
            rows.push(line(&state.share_info(&share, now)));
        }
    }
    ChosenRows { rows, unsuited: chosen.unsuited, beyond: chosen.beyond }
}

fn rows(
    state: &NodeHttpState,
    query: &SharesPageQuery,
    index: &Arc<ShareIndex>,
    now: Millis,
) -> (Vec<ShareLine>, RowPage) {
    let mut matching = ShareSet::of(index);
    WantedLinks::of(query, now).visit(index, |item, _| matching.add(item));
    let total = matching.len();
    let first = query.after.parse().unwrap_or(0_usize).min(total);
    let page = PageRange { positions: first..first + ROWS, descending: query.sort.descending };
    let order = state.actors.share_views.order(column(query), index);
    let shown = match total == index.len() {
        true => order.page(&page),
        false => order.page_of(&page, |item| matching.contains(item)),
    };
    let mut rows = Vec::with_capacity(shown.len());
    for id in shown.iter().filter_map(|item| Some(index.share(*item)?.id)) {
        // A link that ended a moment ago has no row any more.
        if let ShareLookup::Live(share) = state.actors.share_views.find(id) {
            rows.push(line(&state.share_info(&share, now)));
        }
    }
    let at = |after: usize| {
        let after = if after == 0 { String::new() } else { after.to_string() };
        SharesPageQuery { after, pick: Vec::new(), ..query.clone() }.address()
    };
    let position = RowPage::at(first, shown.len(), total, ROWS, &at);
    // A link that ended a moment ago is among those shown, but has no row.
    let page = RowPage { shown: rows.len() as u64, ..position };
    (rows, page)
}

/// The column that orders the page. Without a choice, the link that ends next comes first.
fn column(query: &SharesPageQuery) -> ShareColumn {
    match query.sort.key.as_str() {
        "path" => ShareColumn::Path,
        "owner" => ShareColumn::Owner,
        "downloads" => ShareColumn::Downloads,
        _ => ShareColumn::Due,
    }
}

/// The filter of the page.
struct WantedLinks<'a> {
    text: &'a str,
    state: Option<ShareStateFilter>,
    /// Begin and end of the time line's column.
    due: Option<(Millis, Millis)>,
    now: Millis,
}

impl<'a> WantedLinks<'a> {
    fn of(query: &'a SharesPageQuery, now: Millis) -> Self {
        let span = query.due.and_then(span_of_column);
        WantedLinks {
            text: query.q.trim(),
            state: query.state,
            due: span.map(|(begin, end)| (Millis(now.0 + begin), Millis(now.0 + end))),
            now,
        }
    }

    /// Shows the links of an index that the filter selects, in the order of their numbers.
    fn visit(&self, index: &ShareIndex, mut visit: impl FnMut(ItemNumber, &IndexedShare)) {
        let visit_wanted = |item: ItemNumber, share: &IndexedShare| {
            if self.has(share) {
                visit(item, share);
            }
        };
        match self.text {
            "" => index.visit(visit_wanted),
            text => index.visit_containing(text, visit_wanted),
        }
    }

    fn has(&self, share: &IndexedShare) -> bool {
        let is_live = share.state(self.now) == ShareState::Live;
        let due = share.due.instant();
        let state = match self.state {
            None => is_live,
            Some(ShareStateFilter::Due) => {
                is_live && due.is_some_and(|due| due.0 - self.now.0 < DAY_MILLIS)
            }
            Some(ShareStateFilter::Ended) => !is_live,
        };
        let is_in_span = |(begin, end)| due.is_some_and(|due| begin <= due && due < end);
        state && self.due.is_none_or(is_in_span)
    }
}

/// The row of a link.
pub fn line(share: &ShareInfo) -> ShareLine {
    ShareLine {
        id: share.id.to_string(),
        path: share.path.clone(),
        is_directory: share.kind == ShareKind::Directory,
        condition: match share.state {
            ShareState::Live => ShareCondition::Works,
            ShareState::Exhausted => ShareCondition::UsedUp,
            ShareState::Due => ShareCondition::Ended,
        },
        ends: share.expires_at.map(|at| Moment(at.0.0)),
        downloads: u64::from(share.downloads.unwrap_or(share.uses)),
        most: share.max_downloads.map(u64::from),
        owner: share.owner.as_ref().map(|owner| owner.as_str().to_owned()).unwrap_or_default(),
        has_password: share.has_password,
        address: Some(share.url.clone()),
    }
}
