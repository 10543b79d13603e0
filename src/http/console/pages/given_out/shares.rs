//! `/console/shares`: links with their ends, and the form of a new link.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::ShareInfo;
use reelyard_console::address::SortBy;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::shares::{
    self, NewLink, ShareCondition, ShareLine, ShareStateFilter, ShareTotals, SharesPageModel,
    SharesPageQuery,
};
use reelyard_console::parts::panel::page_sentence;
use reelyard_console::parts::table::RowPage;
use reelyard_console::parts::timeline::EndColumn;
use reelyard_console::{Moment, Viewer};
use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::{Share, ShareId, ShareKind, ShareLookup, ShareState};

use super::{new_link, share_dialogs};
use crate::http::api::share_calls::shares::{knows_its_shares, share_info, share_time};
use crate::http::console::answer;
use crate::http::console::chosen::ChosenRows;
use crate::http::console::live_part::LivePart;
use crate::http::console::page_work::computed;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::share_counts::{ShareCounts, span_of_column};
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Rows of a page.
const ROWS: usize = 50;
/// Links that are looked at for one page. The rows of a page are sorted among them.
const LOOKED_AT: usize = 100_000;
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
    if query.new && visitor.viewer.rights.shares {
        let found = new_link::found(&state, &query.path).await;
        let empty = NewLink { path: query.path.clone(), found, ..NewLink::default() };
        model.new = Some(NewLink { commands: share_dialogs::create_commands(&empty), ..empty });
    }
    let parts = parts(&query, &model, &visitor.viewer);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "shares"))
}

/// The parts of the page that follow changes. None while the node reads its journal, or stops.
pub async fn live_parts(
    state: &web::Data<NodeHttpState>,
    query: &str,
    viewer: &Viewer,
) -> Option<Vec<LivePart>> {
    // A dialog stays as it was opened.
    let query = SharesPageQuery { ask: String::new(), ..SharesPageQuery::parse(query) };
    let model = model(state, &query, viewer).await.ok()?;
    Some(vec![
        ("page-sentence".to_owned(), page_sentence(&shares::sentence(viewer, &model))),
        ("shares-timeline".to_owned(), shares::timeline(viewer, &model)),
        ("rows".to_owned(), shares::share_rows(viewer, &query, &model)),
    ])
}

/// The page around this model.
pub fn parts(query: &SharesPageQuery, model: &SharesPageModel, viewer: &Viewer) -> PageParts {
    let content = shares::render(query, model, viewer);
    PageParts::new(NavPage::Shares, NavPage::Shares.title().of(viewer.language), content)
}

/// The rows of this state of the page.
///
/// # Errors
/// The node is still reading its journal, or stops.
pub async fn model(
    state: &web::Data<NodeHttpState>,
    query: &SharesPageQuery,
    viewer: &Viewer,
) -> Result<SharesPageModel, ProblemResponse> {
    knows_its_shares(state)?;
    let views = state.actors.share_views.clone();
    let counts = state.share_counts.counts(views, share_time(state)).await?;
    let hooks = state.actors.hooks.views();
    let failing = hooks.iter().filter(|hook| hook.trouble.is_some());
    let totals = ShareTotals {
        working: counts.working,
        due: counts.due,
        ended: counts.ended,
        hooks: hooks.len() as u64,
        failing_hooks: failing.count() as u64,
    };
    let closed = SharesPageQuery { ask: String::new(), ..query.clone() }.address();
    let (of_ask, of_viewer) = (query.clone(), viewer.clone());
    let ask = match (query.ask.as_str(), query.all) {
        ("", _) => None,
        (_, false) => share_dialogs::of_word(&query.ask, &picked(state, query), &closed, viewer),
        (_, true) => {
            let dialog = move |state: &NodeHttpState| {
                let chosen = matching(state, &of_ask);
                share_dialogs::of_matching(&of_ask, chosen, &closed, &of_viewer)
            };
            computed(state, dialog).await?
        }
    };
    let (of_rows, of_query) = (Arc::clone(&counts), query.clone());
    let (rows, page) = computed(state, move |state| rows(state, &of_query, &of_rows)).await?;
    Ok(SharesPageModel {
        totals,
        next_due: counts.next_due.map(|at| Moment(at.0)),
        columns: columns(&counts, query),
        peak: counts.peak.map(|(at, links)| (Moment(at.0), links)),
        rows,
        page,
        new: None,
        ask,
    })
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

/// The picked links that have not ended.
fn picked(state: &NodeHttpState, query: &SharesPageQuery) -> Vec<ShareLine> {
    let mut lines = Vec::new();
    for id in query.pick.iter().filter_map(|id| id.parse().ok()) {
        if let ShareLookup::Live(share) = state.actors.share_views.find(id) {
            lines.push(line(&share_info(state, &share, share_time(state))));
        }
    }
    lines
}

/// The links that match the filter of a page, and have not ended.
pub fn matching(state: &NodeHttpState, query: &SharesPageQuery) -> ChosenRows<ShareLine> {
    let now = share_time(state);
    let (found, _) = looked_at(state, query, SharePosition::default(), now);
    let chosen = ChosenRows::of(found, |share| share.state(now) == ShareState::Live);
    let rows = chosen.rows.iter().map(|share| line(&share_info(state, share, now))).collect();
    ChosenRows { rows, unsuited: chosen.unsuited, beyond: chosen.beyond }
}

/// The position of a page: the first link that is looked at, and the rows before it among these links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SharePosition {
    from: Option<ShareId>,
    skipped: usize,
}

impl SharePosition {
    fn parse(text: &str) -> Self {
        let (from, skipped) = text.split_once('.').unwrap_or(("", "0"));
        SharePosition { from: from.parse().ok(), skipped: skipped.parse().unwrap_or(0) }
    }

    fn text(self) -> String {
        let from = self.from.map(|id| id.to_string()).unwrap_or_default();
        if from.is_empty() && self.skipped == 0 {
            return String::new();
        }
        format!("{from}.{}", self.skipped)
    }
}

fn rows(
    state: &NodeHttpState,
    query: &SharesPageQuery,
    counts: &ShareCounts,
) -> (Vec<ShareLine>, RowPage) {
    let now = share_time(state);
    let position = SharePosition::parse(&query.after);
    let (matching, rest) = if is_what_ends_next(query, counts) && position.from.is_none() {
        ends_next(state, query, counts, now)
    } else {
        looked_at(state, query, position, now)
    };
    let shown = matching.iter().skip(position.skipped).take(ROWS);
    let rows: Vec<ShareLine> = shown.map(|share| line(&share_info(state, share, now))).collect();
    let at = |position: SharePosition| {
        SharesPageQuery { after: position.text(), pick: Vec::new(), ..query.clone() }.address()
    };
    let end = position.skipped + rows.len();
    let next = if end < matching.len() {
        Some(SharePosition { skipped: end, ..position })
    } else {
        rest.map(|from| SharePosition { from: Some(from), skipped: 0 })
    };
    let skipped = position.skipped.saturating_sub(ROWS);
    let previous = (position.skipped > 0).then_some(SharePosition { skipped, ..position });
    let is_whole = position.from.is_none() && rest.is_none();
    let is_first_known = position.from.is_none() && !rows.is_empty();
    let page = RowPage {
        first: if is_first_known { position.skipped as u64 + 1 } else { 0 },
        shown: rows.len() as u64,
        total: is_whole.then_some(matching.len() as u64),
        previous: previous.map(at),
        next: next.map(at),
    };
    (rows, page)
}

/// Whether the page begins with the links that end next, of more links than one page looks at.
fn is_what_ends_next(query: &SharesPageQuery, counts: &ShareCounts) -> bool {
    let is_by_end = query.sort.key.is_empty() || query.sort == SortBy::ascending("ends");
    let is_working = query.state != Some(ShareStateFilter::Ended);
    let is_unfiltered = query.q.trim().is_empty() && query.due.is_none();
    let is_large = counts.working + counts.ended > LOOKED_AT as u64;
    is_large && is_by_end && is_working && is_unfiltered
}

/// The links that end next, and the first link of the rest.
fn ends_next(
    state: &NodeHttpState,
    query: &SharesPageQuery,
    counts: &ShareCounts,
    now: Millis,
) -> (Vec<Arc<Share>>, Option<ShareId>) {
    let wanted = WantedLinks::of(query, now);
    let mut matching = Vec::new();
    for id in &counts.soonest {
        if let ShareLookup::Live(share) = state.actors.share_views.find(*id)
            && wanted.has(&share)
        {
            matching.push(share);
        }
    }
    (matching, Some(ShareId(0)))
}

/// The matching links among those that one page looks at, sorted, and the first link of the rest.
fn looked_at(
    state: &NodeHttpState,
    query: &SharesPageQuery,
    position: SharePosition,
    now: Millis,
) -> (Vec<Arc<Share>>, Option<ShareId>) {
    let wanted = WantedLinks::of(query, now);
    let mut keyed: Vec<(ShareSortKey, ShareId, Arc<Share>)> = Vec::new();
    let rest = state.actors.share_views.visit(position.from, LOOKED_AT, |share| {
        if wanted.has(share) {
            keyed.push((ShareSortKey::of(share, &query.sort), share.id(), Arc::clone(share)));
        }
    });
    keyed.sort_unstable_by(|a, b| {
        let ascending = a.0.cmp(&b.0);
        let ordered = if query.sort.descending { ascending.reverse() } else { ascending };
        ordered.then(a.1.cmp(&b.1))
    });
    (keyed.into_iter().map(|(_, _, share)| share).collect(), rest)
}

/// The place of a link in the order of a column. Without a column, the link that ends next comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ShareSortKey {
    /// An instant or a count.
    Number(i64),
    /// A path or an owner.
    Text(String),
}

impl ShareSortKey {
    fn of(share: &Share, sort: &SortBy) -> Self {
        match sort.key.as_str() {
            "path" => {
                ShareSortKey::Text(format!("{}/{}", share.root().as_str(), share.path().as_str()))
            }
            "downloads" => ShareSortKey::Number(i64::from(downloads(share))),
            "owner" => {
                let owner = share.owner().map(|owner| owner.as_str().to_owned());
                ShareSortKey::Text(owner.unwrap_or_default())
            }
            _ => {
                let due = share.due().instant();
                ShareSortKey::Number(due.map_or(i64::MAX, |due| due.0))
            }
        }
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

    fn has(&self, share: &Share) -> bool {
        let is_live = share.state(self.now) == ShareState::Live;
        let due = share.due().instant();
        let state = match self.state {
            None => is_live,
            Some(ShareStateFilter::Due) => {
                is_live && due.is_some_and(|due| due.0 - self.now.0 < DAY_MILLIS)
            }
            Some(ShareStateFilter::Ended) => !is_live,
        };
        let is_in_span = |(begin, end)| due.is_some_and(|due| begin <= due && due < end);
        state && self.due.is_none_or(is_in_span) && self.has_text(share)
    }

    fn has_text(&self, share: &Share) -> bool {
        if self.text.is_empty() {
            return true;
        }
        let (root, path) = (share.root().as_str(), share.path().as_str());
        let owner = share.owner().is_some_and(|owner| owner.as_str().contains(self.text));
        // Only a text with a slash can reach from the root into the path.
        let whole = || self.text.contains('/') && format!("{root}/{path}").contains(self.text);
        owner || path.contains(self.text) || root.contains(self.text) || whole()
    }
}

fn downloads(share: &Share) -> u32 {
    share.downloads().map_or_else(|| share.uses(), |limit| limit.taken())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_gives_back_its_text() {
        let id: ShareId = "AAAAAAAAAAAAAAAAAAAAAA".parse().unwrap();
        for position in [
            SharePosition::default(),
            SharePosition { from: None, skipped: 50 },
            SharePosition { from: Some(id), skipped: 100 },
        ] {
            assert_eq!(SharePosition::parse(&position.text()), position);
        }
        assert_eq!(SharePosition::parse("?"), SharePosition::default());
    }
}
