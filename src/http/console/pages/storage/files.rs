//! `/console/files`: every ranked or hot file, found by part of its name.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, web};
use memchr::memmem::Finder;
use reelyard_access::rights::AccessScope;
use reelyard_api::FileState;
use reelyard_console::Viewer;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::files::{
    self, FileCondition, FileLine, FileStateFilter, FileTotals, FilesPageModel, FilesPageQuery,
};
use reelyard_console::parts::panel::page_sentence;
use reelyard_console::parts::table::RowPage;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, NameTable};
use reelyard_yard::task_manager::plan::Skip;

use super::file_dialogs;
use super::why;
use crate::http::api::yard_calls::files::FileListSnapshot;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::page_work::computed;
use crate::http::console::pages::host_choices::host_choices;
use crate::http::console::pages::reasons::passed;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::{PlacedFiles, listed_files};

/// Rows of a page.
const ROWS: usize = 50;

/// How many names are read under one lock of the name table.
const NAMES_AT_ONCE: usize = 10_000;

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
    vec![
        ("page-sentence".to_owned(), page_sentence(&files::files_sentence(viewer, &model))),
        ("rows".to_owned(), files::file_rows(viewer, &query, &model)),
    ]
}

fn model(state: &NodeHttpState, query: &FilesPageQuery) -> FilesPageModel {
    let files = FileListSnapshot::new(state);
    let beats = state.actors.heartbeat_view.load();
    let placed = PlacedFiles::new(&files.snapshot.tasks, &beats);
    let removals = state.actors.remover_views.load();
    let matching = Search { state, files: &files, placed: &placed, query }.matching();
    let first = query.after.parse().unwrap_or(0_usize).min(matching.len());
    let ordered = first_in_order(&matching, first + ROWS, &files, query, &state.names);
    let shown = ordered.get(first..).unwrap_or_default();
    let at = |after: usize| {
        let after = if after == 0 { String::new() } else { after.to_string() };
        FilesPageQuery { after, pick: Vec::new(), ..query.clone() }.address()
    };
    let end = first + shown.len();
    FilesPageModel {
        totals: totals(&files, &placed),
        matching: Some(matching.len() as u64),
        rows: shown
            .iter()
            .map(|file| line(state, &files, &placed, *file, removals.pins.contains_key(file)))
            .collect(),
        page: RowPage {
            first: if shown.is_empty() { 0 } else { first as u64 + 1 },
            shown: shown.len() as u64,
            total: Some(matching.len() as u64),
            previous: (first > 0).then(|| at(first.saturating_sub(ROWS))),
            next: (end < matching.len()).then(|| at(end)),
        },
        hosts: host_choices(files.snapshot.tasks.placements.keys(), &query.host),
        is_set_up: files.snapshot.catalog.ranking.is_some(),
        ask: None,
        why: None,
    }
}

/// All files that match the filter of a page, in the order of the list.
pub fn matching_files(state: &NodeHttpState, query: &FilesPageQuery) -> Vec<FileId> {
    let files = FileListSnapshot::new(state);
    let beats = state.actors.heartbeat_view.load();
    let placed = PlacedFiles::new(&files.snapshot.tasks, &beats);
    Search { state, files: &files, placed: &placed, query }.matching()
}

/// A search over all files.
struct Search<'a> {
    state: &'a NodeHttpState,
    files: &'a FileListSnapshot,
    placed: &'a PlacedFiles,
    query: &'a FilesPageQuery,
}

impl Search<'_> {
    /// The files that match, in the order of the list: hot files without a grade, then all others, best first.
    fn matching(&self) -> Vec<FileId> {
        let all = (0..self.files.len()).map(|position| self.files.file(position));
        let by_id: Vec<FileId> = all.filter(|file| self.is_wanted_by_id(*file)).collect();
        let by_name = self.with_part_of_name(by_id);
        by_name.into_iter().filter(|file| self.is_wanted_by_reason(*file)).collect()
    }

    fn with_part_of_name(&self, files: Vec<FileId>) -> Vec<FileId> {
        let sought = self.query.q.trim();
        if sought.is_empty() {
            return files;
        }
        let finder = Finder::new(sought.as_bytes());
        let mut found = Vec::new();
        for chunk in files.chunks(NAMES_AT_ONCE) {
            let names = self.state.names.lookup();
            let has_part = |file: &&FileId| finder.find(names.bytes(**file)).is_some();
            found.extend(chunk.iter().filter(has_part));
        }
        found
    }

    /// A cheap check by sets of ids.
    fn is_wanted_by_id(&self, file: FileId) -> bool {
        let over = &self.files.snapshot.tasks.plan.passed_over;
        let is_placed = self.placed.all.contains(file.0);
        let on_host = || {
            let host = self.query.host.parse::<HostAddr>().ok();
            let held = host.and_then(|host| self.files.snapshot.tasks.placements.get(&host));
            held.is_some_and(|held| held.contains(file.0))
        };
        let state = match self.query.state {
            None => true,
            Some(FileStateFilter::Placed) => is_placed,
            Some(FileStateFilter::Hot) => self.files.hits.contains_key(&file),
            Some(FileStateFilter::OutOfReach) => self.placed.out_of_reach.contains(file.0),
            Some(FileStateFilter::Ignored) => over.ignored().contains(file.0),
            Some(
                FileStateFilter::Waiting | FileStateFilter::Copying | FileStateFilter::Problem,
            ) => !is_placed,
        };
        state && (self.query.host.is_empty() || on_host())
    }

    /// The checks that need the reason of the planner.
    fn is_wanted_by_reason(&self, file: FileId) -> bool {
        let needs_state = matches!(
            self.query.state,
            Some(FileStateFilter::Waiting | FileStateFilter::Copying | FileStateFilter::Problem)
        );
        if !needs_state && self.query.reason.is_empty() {
            return true;
        }
        let name = self.state.names.name(file);
        let condition = self.files.file_view(file, &name).state;
        let is_in_line = matches!(condition, FileState::Waiting | FileState::BackingOff);
        let state = match self.query.state {
            Some(FileStateFilter::Copying) => condition == FileState::Copying,
            Some(FileStateFilter::Waiting) => is_in_line,
            Some(FileStateFilter::Problem) => {
                !is_in_line && !matches!(condition, FileState::Copying | FileState::Ignored)
            }
            _ => true,
        };
        state && (self.query.reason.is_empty() || self.has_reason(file))
    }

    fn has_reason(&self, file: FileId) -> bool {
        let name = self.state.names.name(file);
        let why = match self.placed.all.contains(file.0) {
            true => Some(Skip::Placed),
            false => self.files.snapshot.why_not(file, &name),
        };
        why.and_then(passed).is_some_and(|why| why.api_word() == self.query.reason)
    }
}

/// The first `upto` files in the order of the page, from files in the order of the list.
fn first_in_order(
    files: &[FileId],
    upto: usize,
    list: &FileListSnapshot,
    query: &FilesPageQuery,
    names: &NameTable,
) -> Vec<FileId> {
    let catalog = &list.snapshot.catalog;
    let ranking = catalog.ranking.as_ref();
    let size = |file: FileId| {
        let size = catalog.master_sizes.get(file);
        size.or_else(|| ranking.and_then(|ranking| ranking.size(file))).map_or(0, |size| size + 1)
    };
    let rank = |file: FileId| ranking.and_then(|ranking| ranking.rank(file)).unwrap_or(u32::MAX);
    let hits = |file: FileId| list.hits.get(&file).copied().unwrap_or(0);
    let milli = |file: FileId| list.requests_a_day(file).map_or(0, |day| (day * 1000.0) as u64 + 1);
    let by = |key: &dyn Fn(FileId) -> u64| first_by_number(files, upto, query.sort.descending, key);
    match query.sort.key.as_str() {
        "rank" => by(&|file| u64::from(rank(file))),
        "size" => by(&size),
        "hits" => by(&|file| u64::from(hits(file))),
        "requests" => by(&milli),
        "state" => by(&|file| u64::from(!list.hits.contains_key(&file))),
        "name" => first_by_name(files, upto, query.sort.descending, names),
        _ => files.iter().take(upto).copied().collect(),
    }
}

/// Sorts only what is shown: a whole sort of a million files takes longer than the rest of the page.
fn first_by_number(
    files: &[FileId],
    upto: usize,
    descending: bool,
    key: &dyn Fn(FileId) -> u64,
) -> Vec<FileId> {
    let mut keyed: Vec<(u64, usize, FileId)> = Vec::with_capacity(files.len());
    for (position, file) in files.iter().enumerate() {
        let key = key(*file);
        keyed.push((if descending { u64::MAX - key } else { key }, position, *file));
    }
    if upto < keyed.len() {
        keyed.select_nth_unstable(upto);
        keyed.truncate(upto);
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, file)| file).collect()
}

/// Keeps copies of the first names, so that the name table is never locked for long.
fn first_by_name(
    files: &[FileId],
    upto: usize,
    descending: bool,
    names: &NameTable,
) -> Vec<FileId> {
    let mut first: BTreeMap<Vec<u8>, FileId> = BTreeMap::new();
    for chunk in files.chunks(NAMES_AT_ONCE) {
        let names = names.lookup();
        for file in chunk {
            let name = names.bytes(*file);
            let last = if descending { first.first_key_value() } else { first.last_key_value() };
            let is_behind = last.is_none_or(|(last, _)| (name > last.as_slice()) != descending);
            if first.len() < upto || !is_behind {
                first.insert(name.to_vec(), *file);
            }
            if first.len() > upto {
                if descending {
                    first.pop_first()
                } else {
                    first.pop_last()
                };
            }
        }
    }
    let mut files: Vec<FileId> = first.into_values().collect();
    if descending {
        files.reverse();
    }
    files
}

fn totals(files: &FileListSnapshot, placed: &PlacedFiles) -> FileTotals {
    let tasks = &files.snapshot.tasks;
    let listed = listed_files(&files.snapshot.catalog);
    FileTotals {
        all: files.len() as u64,
        placed: listed.intersection_len(&placed.all),
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
    placed: &PlacedFiles,
    file: FileId,
    is_pinned: bool,
) -> FileLine {
    let view = files.file_view(file, &state.names.name(file));
    let hosts = view.placed_on.iter().take(HOSTS);
    FileLine {
        rank: view.rank.map(u64::from),
        condition: match placed.out_of_reach.contains(file.0) {
            true => FileCondition::OutOfReach,
            false => condition(view.state),
        },
        is_hot: view.hits > 0,
        is_pinned,
        hosts: hosts.map(|host| (host.to_string(), placed.down.contains(host))).collect(),
        hits: u64::from(view.hits),
        curve: Vec::new(),
        requests_a_day: view.requests_a_day,
        size: view.size,
        name: why::shown(&view.name),
    }
}

fn condition(state: FileState) -> FileCondition {
    let word = serde_json::to_value(state).ok();
    let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or_default();
    FileCondition::of_api(word).unwrap_or(FileCondition::Waiting)
}
