//! `/api/v1/files`: every ranked or hot file with its hosts.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use actix_web::web;
use reelyard_api::{BackOffView, Cursor, FileState, FileView, Page};
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_protocol::legacy::cfm;
use reelyard_yard::task_manager::Skip;
use reelyard_yard::task_manager::{Blamed, PlannedHost, Task};
use roaring::RoaringBitmap;
use serde::Deserialize;
use utoipa::IntoParams;

use super::explain::{TIB, per_tib, rounded};
use super::planning_snapshot::PlanningSnapshot;
use crate::http::api::call_parts::PageQuery;
use crate::http::host_facts::back_off_view;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::{PlacedFiles, down_holders};
use crate::http::problem::Refusal;

/// Largest number of files that are examined for one page. If few files match, a page is short and
/// still has a next page.
const LOOKED_AT: usize = 100_000;

/// Filter of the files.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FileQuery {
    /// Only files whose names begin with this text.
    prefix: Option<String>,
    /// Only files with this text in their names.
    contains: Option<String>,
    /// Only files in this state.
    state: Option<FileState>,
    /// Only files on this host.
    host: Option<HostAddr>,
    /// Only hot files (true), or only others (false).
    hot: Option<bool>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    cursor: Option<String>,
}

/// `GET /files`: hot files without a grade, then all others, best first.
#[utoipa::path(
    get,
    path = "/files",
    tag = "files",
    operation_id = "listFiles",
    summary = "Lists every ranked or hot file with its hosts",
    description = "Hot files without a grade, then all others, best first. If few \
                   files match the filter, a page can be short or empty and still have a next page.",
    params(FileQuery),
    responses((status = 200, description = "A page of files", body = Page<FileView>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<FileQuery>,
) -> Result<web::Json<Page<FileView>>, Refusal<()>> {
    let query = query.into_inner();
    let paging = PageQuery { limit: query.limit.clone(), cursor: query.cursor.clone() };
    let (limit, from) = (paging.limit()?, paging.position::<usize>()?.unwrap_or(0));
    let files = FileListSnapshot::new(&state);
    let filter = Filter::new(&query, &files, &state.names);
    let mut page = Page { items: Vec::new(), next: None };
    let mut taken = Vec::new();
    for position in from..files.len() {
        if page.items.len() == limit || position == from.saturating_add(LOOKED_AT) {
            page.next = Some(Cursor(position.to_string()));
            break;
        }
        let file = files.file(position);
        if filter.may_take(file, &files) {
            let name = state.names.name(file);
            if filter.takes(file, &name, &files) {
                page.items.push(files.file_view(file, &name).shortened());
                taken.push(file);
            }
        }
    }
    files.rank_by_demand(&taken, &mut page.items);
    Ok(web::Json(page))
}

/// The filter, prepared for the check of many files.
struct Filter<'a> {
    query: &'a FileQuery,
    /// The files with `query.contains` in their names.
    containing: Option<RoaringBitmap>,
    /// The files on `query.host`.
    on_host: Option<Arc<RoaringBitmap>>,
    /// The files that hosts hold. Only set if the query filters by state.
    placed: Option<PlacedFiles>,
}

impl<'a> Filter<'a> {
    fn new(query: &'a FileQuery, files: &FileListSnapshot, names: &NameTable) -> Self {
        let placements = &files.snapshot.tasks.placements;
        let on = |host| placements.get(&host).map(Arc::clone).unwrap_or_default();
        let placed = || PlacedFiles::of(&files.snapshot.tasks, &files.down);
        Filter {
            query,
            containing: query.contains.as_ref().map(|part| names.containing(part.as_bytes())),
            on_host: query.host.map(on),
            placed: query.state.map(|_| placed()),
        }
    }

    /// A cheap check by id, before the name is looked up.
    fn may_take(&self, file: FileId, files: &FileListSnapshot) -> bool {
        let is_in_state = |state: FileState| {
            let Some(placed) = &self.placed else { return true };
            let is_out_of_reach = placed.out_of_reach.contains(file.0);
            match state {
                FileState::OutOfReach => is_out_of_reach,
                FileState::Placed => placed.all.contains(file.0) && !is_out_of_reach,
                _ => !placed.all.contains(file.0),
            }
        };
        self.on_host.as_ref().is_none_or(|held| held.contains(file.0))
            && self.containing.as_ref().is_none_or(|named| named.contains(file.0))
            && self.query.hot.is_none_or(|hot| hot == files.hits.contains_key(&file))
            && self.query.state.is_none_or(is_in_state)
    }

    /// The full check of a file that passed [`Filter::may_take`].
    fn takes(&self, file: FileId, name: &FileName, files: &FileListSnapshot) -> bool {
        let prefix = self.query.prefix.as_deref().unwrap_or_default();
        name.as_bytes().starts_with(prefix.as_bytes())
            && self.query.state.is_none_or(|state| {
                matches!(state, FileState::Placed | FileState::OutOfReach)
                    || state == files.state_unplaced(file, name)
            })
    }
}

/// A consistent snapshot of everything about files, for one page.
pub struct FileListSnapshot {
    /// The views of the planner.
    pub snapshot: PlanningSnapshot,
    /// Hot files without a grade. They come first in the list.
    ungraded: Vec<FileId>,
    /// The hits of the hot files.
    pub hits: HashMap<FileId, u32>,
    copying: HashMap<FileName, Arc<Task>>,
    /// Whether every destination with a known kind is an old cfw.
    all_old: bool,
    /// Hosts that hold files and are down.
    pub down: BTreeSet<HostAddr>,
}

impl FileListSnapshot {
    /// Reads the current views.
    pub fn new(state: &NodeHttpState) -> Self {
        let snapshot = PlanningSnapshot::new(state);
        let PlanningSnapshot { catalog, tasks, .. } = &snapshot;
        let ranked = |file: &FileId| catalog.ranking.as_ref().and_then(|all| all.rank(*file));
        let hot = catalog.rising.hot().iter();
        let ungraded = hot.map(|(file, _)| *file).filter(|file| ranked(file).is_none()).collect();
        let takes_copies = |host: &&PlannedHost| host.role.is_destination();
        let kinds = || tasks.hosts.iter().filter(takes_copies).map(|host| host.kind);
        let all_old = kinds().any(|kind| kind == HostKind::Cfw)
            && !kinds().any(|kind| matches!(kind, HostKind::Reelyard { .. }));
        let open = tasks.open.values().map(|task| (task.name.clone(), task.clone()));
        FileListSnapshot {
            ungraded,
            hits: catalog.rising.hot().iter().copied().collect(),
            copying: open.collect(),
            all_old,
            down: down_holders(tasks, &state.actors.heartbeat_view.load()),
            snapshot,
        }
    }

    fn ranked(&self) -> &[FileId] {
        self.snapshot.catalog.ranking.as_ref().map_or(&[], |ranking| ranking.files())
    }

    /// Number of ranked or hot files.
    pub fn len(&self) -> usize {
        self.ungraded.len() + self.ranked().len()
    }

    /// The file at this position, which is below the length.
    pub fn file(&self, position: usize) -> FileId {
        match self.ungraded.get(position) {
            Some(file) => *file,
            None => self.ranked()[position - self.ungraded.len()],
        }
    }

    /// Expected requests a day; none while demand is not measured, or for a file without a grade.
    pub fn requests_a_day(&self, file: FileId) -> Option<f64> {
        self.exact_requests_a_day(file).map(rounded)
    }

    /// Expected requests a day for each TiB; none without a size, and while demand is not measured.
    pub fn score(&self, file: FileId) -> Option<f64> {
        per_tib(self.exact_requests_a_day(file)?, self.size(file)?)
    }

    /// The value that decides the order by demand, of a file of this size. If its size is unknown, the file counts with
    /// the mean size. None while demand is not measured.
    pub fn order_score(&self, file: FileId, size: Option<u64>) -> Option<f64> {
        let demand = self.snapshot.catalog.ranking.as_ref()?.demand()?;
        Some(demand.for_each_byte(file, size) * TIB)
    }

    /// The size of the master, or the one in hitcount.history, which is only a hint.
    fn size(&self, file: FileId) -> Option<u64> {
        let catalog = &self.snapshot.catalog;
        let listed = || catalog.ranking.as_ref().and_then(|ranking| ranking.size(file));
        catalog.master_sizes.get(file).or_else(listed)
    }

    fn exact_requests_a_day(&self, file: FileId) -> Option<f64> {
        let demand = self.snapshot.catalog.ranking.as_ref()?.demand()?;
        Some(demand.demand(file).rate.per_day())
    }

    /// A file as the API shows it, with all its destinations and without its rank by demand.
    pub fn file_view(&self, file: FileId, name: &FileName) -> FileView {
        let ranking = self.snapshot.catalog.ranking.as_ref();
        let task = self.copying.get(name);
        let size = self.size(file);
        let placements = self.snapshot.tasks.placements.iter();
        let placed_on: Vec<_> =
            placements.filter(|(_, files)| files.contains(file.0)).map(|(host, _)| *host).collect();
        let rank = ranking.and_then(|ranking| ranking.rank(file));
        let state = match placed_on.as_slice() {
            [] => self.state_unplaced(file, name),
            on if on.iter().all(|host| self.down.contains(host)) => FileState::OutOfReach,
            _ => FileState::Placed,
        };
        FileView {
            name: name.to_text(),
            rank,
            demand_rank: None,
            requests_a_day: self.requests_a_day(file),
            score: self.score(file),
            hits: self.hits.get(&file).copied().unwrap_or(0),
            size: task.map(|task| task.size).or(size),
            placed_on,
            placed_on_left_out: 0,
            state,
            task: task.map(|task| task.id),
            back_off: self.back_off(name),
        }
    }

    /// Sets the rank by demand of these files. One pass finds the ranks of all of them.
    pub fn rank_by_demand(&self, files: &[FileId], views: &mut [FileView]) {
        let Some(demand) = &self.snapshot.catalog.demand else { return };
        let ranks = demand.ranks(&files.iter().map(|file| file.0).collect());
        for (file, view) in files.iter().zip(views) {
            view.demand_rank = ranks.get(file).copied();
        }
    }

    /// The state of a file that no host has.
    fn state_unplaced(&self, file: FileId, name: &FileName) -> FileState {
        if self.copying.contains_key(name) {
            return FileState::Copying;
        }
        self.waits(file, name, self.back_off(name).is_some())
    }

    /// Why a file has no copy and gets none now.
    fn waits(&self, file: FileId, name: &FileName, backs_off: bool) -> FileState {
        let why = self.snapshot.why_not(file, name);
        if let Some(state) = why.and_then(final_state) {
            return state;
        }
        match why {
            _ if self.all_old && !cfm::carries(name) => FileState::NameNotCarried,
            _ if backs_off => FileState::BackingOff,
            Some(Skip::NoRoom) => FileState::NoRoom,
            _ => FileState::Waiting,
        }
    }

    /// The states of many files without a copy, each with its files. A state may come more than once.
    pub fn states_unplaced(
        &self,
        files: RoaringBitmap,
        names: &NameTable,
    ) -> Vec<(FileState, RoaringBitmap)> {
        let ids = |name: &FileName| names.find(name.as_bytes()).map(|file| file.0);
        let copied: RoaringBitmap = self.copying.keys().filter_map(ids).collect();
        let copying = &files & &copied;
        let (reasons, waiting) = self.snapshot.reasons_of(files - copied, names);
        let mut states = vec![(FileState::Copying, copying)];
        let mut others = waiting;
        let mut without_room = RoaringBitmap::new();
        for (why, of_reason) in reasons {
            match (final_state(why), why) {
                (Some(state), _) => states.push((state, of_reason)),
                (None, Skip::NoRoom) => without_room |= of_reason,
                (None, _) => others |= of_reason,
            }
        }
        let mut left = &others | &without_room;
        if self.all_old {
            let carried = names.selected(&left, cfm::carries_bytes);
            states.push((FileState::NameNotCarried, &left - &carried));
            left = carried;
        }
        let blamed =
            self.snapshot.tasks.back_offs.iter().filter_map(|(blamed, held)| match blamed {
                Blamed::File(name) if held.holds(self.snapshot.tasks.at) => ids(name),
                _ => None,
            });
        let backing_off = blamed.collect::<RoaringBitmap>() & &left;
        left -= &backing_off;
        states.push((FileState::BackingOff, backing_off));
        states.push((FileState::NoRoom, &left & without_room));
        states.push((FileState::Waiting, left & others));
        states
    }

    fn back_off(&self, name: &FileName) -> Option<BackOffView> {
        let held = self.snapshot.tasks.back_offs.get(&Blamed::File(name.clone()))?;
        held.holds(self.snapshot.tasks.at).then(|| back_off_view(held))
    }
}

/// The state of a file that no round copies for this reason. None if it depends on more than the reason.
const fn final_state(why: Skip) -> Option<FileState> {
    match why {
        Skip::Ignored => Some(FileState::Ignored),
        Skip::NoMaster => Some(FileState::NoMaster),
        Skip::Ungraded => Some(FileState::Ungraded),
        Skip::MasterAbsent => Some(FileState::MasterAbsent),
        Skip::Listed => Some(FileState::Listed),
        Skip::TooBig => Some(FileState::TooBig),
        Skip::NameNotCarried => Some(FileState::NameNotCarried),
        _ => None,
    }
}
