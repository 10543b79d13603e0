//! `/console/files`: every ranked or hot file, found by part of its name.

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::FileState;
use reelyard_console::Viewer;
use reelyard_console::address::SortBy;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::files::{
    self, FileCondition, FileLine, FileTotals, FilesPageModel, FilesPageQuery,
};
use reelyard_console::parts::table::RowPage;
use reelyard_core::names::FileId;
use reelyard_yard::catalog::views::CatalogView;
use roaring::RoaringBitmap;

use super::dialogs::file_dialogs;
use super::file_search::{FileSearch, FoundFiles};
use super::why;
use crate::http::api::yard_calls::files::FileListSnapshot;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::pages::host_choices::host_choices;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::recent::file_text;
use crate::http::overview::{PlacedFiles, listed_files};

/// Rows of a page.
const ROWS: usize = 50;

/// Hosts of a file that the table names.
const HOSTS: usize = 4;

/// `GET /console/files`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = FilesPageQuery::parse(request.query_string());
    let why = why::of_file(&state, &query.why).await?;
    let viewer = visitor.viewer.clone();
    let render = move |state: &NodeHttpState| {
        let ask = {
            let matching = || matching_files(state, &query);
            file_dialogs::of_query(state, &query, &viewer, matching)
        };
        let model = FilesPageModel { why, ask, ..model(state, &query) };
        files::render(&query, &model, &viewer)
    };
    let content = computed(&state, render).await?;
    let title = NavPage::Files.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Files, title, content);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "files"))
}

/// The parts of the page that follow changes.
pub fn live_parts(state: &NodeHttpState, query: &str, viewer: &Viewer) -> Vec<LivePart> {
    let query = FilesPageQuery::parse(query);
    let model = model(state, &query);
    let mut parts = files::live_head(viewer, &query, &model);
    parts.push(("rows".to_owned(), files::file_rows(viewer, &query, &model)));
    parts
}

fn model(state: &NodeHttpState, query: &FilesPageQuery) -> FilesPageModel {
    let files = FileListSnapshot::new(state);
    let placed = PlacedFiles::of(&files.snapshot.tasks, &files.down);
    let listed = listed_files(&files.snapshot.catalog);
    let removals = state.actors.remover_views.load();
    let first = query.after.parse().unwrap_or(0);
    let search = search(state, query, &files, &placed, &listed);
    let FoundFiles { shown, matching } = search.page(first, ROWS);
    let first = first.min(matching);
    let at = |after: usize| {
        let after = if after == 0 { String::new() } else { after.to_string() };
        FilesPageQuery { after, pick: Vec::new(), ..query.clone() }.address()
    };
    let end = first + shown.len();
    FilesPageModel {
        totals: totals(&files, &placed, &listed),
        matching: Some(matching as u64),
        rows: shown
            .iter()
            .map(|file| line(state, &files, *file, removals.pins.contains_key(file)))
            .collect(),
        page: RowPage {
            first: if shown.is_empty() { 0 } else { first as u64 + 1 },
            shown: shown.len() as u64,
            total: Some(matching as u64),
            previous: (first > 0).then(|| at(first.saturating_sub(ROWS))),
            next: (end < matching).then(|| at(end)),
        },
        hosts: host_choices(files.snapshot.tasks.placements.keys(), &query.host),
        is_set_up: files.len() > 0 || has_ranking(&files.snapshot.catalog),
        ask: None,
        why: None,
    }
}

fn search<'a>(
    state: &'a NodeHttpState,
    query: &'a FilesPageQuery,
    files: &'a FileListSnapshot,
    placed: &'a PlacedFiles,
    listed: &'a RoaringBitmap,
) -> FileSearch<'a> {
    FileSearch { files, placed, names: &state.names, query, listed, by_name: &state.file_names }
}

/// Whether a ranking is set and was read. A node without one has an empty ranking.
fn has_ranking(catalog: &CatalogView) -> bool {
    catalog.grade_info.is_some() && catalog.ranking.is_some()
}

/// All files that match the filter of a page, in the order of the list.
pub fn matching_files(state: &NodeHttpState, query: &FilesPageQuery) -> Vec<FileId> {
    sorted_files(state, &FilesPageQuery { sort: SortBy::default(), ..query.clone() })
}

/// All files that match the filter of a page, in its order.
pub fn sorted_files(state: &NodeHttpState, query: &FilesPageQuery) -> Vec<FileId> {
    let files = FileListSnapshot::new(state);
    let placed = PlacedFiles::of(&files.snapshot.tasks, &files.down);
    let listed = listed_files(&files.snapshot.catalog);
    let search = search(state, query, &files, &placed, &listed);
    search.page(0, files.len()).shown
}

fn totals(files: &FileListSnapshot, placed: &PlacedFiles, listed: &RoaringBitmap) -> FileTotals {
    let tasks = &files.snapshot.tasks;
    FileTotals {
        all: files.len() as u64,
        placed: listed.intersection_len(&placed.in_reach()),
        waiting: tasks.plan.wanted.saturating_sub(tasks.open.len() as u64),
        copying: tasks.open.len() as u64,
        hot: files.hits.len() as u64,
        out_of_reach: Some(listed.intersection_len(&placed.out_of_reach)),
        problem: None,
        ignored: Some(listed.intersection_len(tasks.plan.passed_over.ignored())),
    }
}

fn line(
    state: &NodeHttpState,
    files: &FileListSnapshot,
    file: FileId,
    is_pinned: bool,
) -> FileLine {
    let view = files.file_view(file, &state.names.name(file));
    let hosts = view.placed_on.iter().take(HOSTS);
    let curve = files.snapshot.catalog.hit_curve(file);
    FileLine {
        rank: view.rank.map(u64::from),
        condition: condition(view.state),
        is_hot: view.hits > 0,
        is_pinned,
        hosts: hosts.map(|host| (host.to_string(), files.down.contains(host))).collect(),
        hosts_total: view.placed_on.len() as u64,
        hits: u64::from(view.hits),
        curve: curve.iter().map(|hits| *hits as f32).collect(),
        requests_a_day: view.requests_a_day,
        score: view.score,
        size: view.size,
        key: state.names.name(file).to_percent(),
        name: file_text(view.name),
    }
}

fn condition(state: FileState) -> FileCondition {
    let word = serde_json::to_value(state).ok();
    let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or_default();
    FileCondition::of_api(word).unwrap_or(FileCondition::Waiting)
}
