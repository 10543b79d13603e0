//! `/api/v1/files`: every ranked or hot file, and where it is.

use std::collections::HashMap;

use actix_web::web;
use reelyard_actors::catalog::view::CatalogView;
use reelyard_actors::host::HostKind;
use reelyard_actors::names::{FileId, FileName};
use reelyard_actors::task_manager::{Blamed, PlannedHost, Task, TaskManagerView};
use reelyard_actors::wire::api::{BackOffView, Cursor, FileState, FileView, Page};
use reelyard_actors::wire::cfm;
use serde::Deserialize;

use super::paging::PageQuery;
use crate::http::node::NodeState;
use crate::http::problem::Refusal;

/// How many files are looked at for one page: with a prefix that few files have, a page may be
/// short and still have a next one.
const LOOKED_AT: usize = 100_000;

/// Which files are asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileQuery {
    /// What their names begin with.
    prefix: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

/// `GET /files`: hot files without a grade, then all others, best first.
pub async fn list(
    state: web::Data<NodeState>,
    query: web::Query<FileQuery>,
) -> Result<web::Json<Page<FileView>>, Refusal> {
    let FileQuery { prefix, limit, cursor } = query.into_inner();
    let paging = PageQuery { limit, cursor };
    let (limit, from) = (paging.limit()?, paging.position::<usize>()?.unwrap_or(0));
    let prefix = prefix.unwrap_or_default();
    let shelf = Shelf::new(&state);
    let mut page = Page { items: Vec::new(), next: None };
    for position in from..shelf.len() {
        if page.items.len() == limit || position == from.saturating_add(LOOKED_AT) {
            page.next = Some(Cursor(position.to_string()));
            break;
        }
        let file = shelf.file(position);
        let name = state.names.name(file);
        if name.as_bytes().starts_with(prefix.as_bytes()) {
            page.items.push(shelf.shown(file, &name));
        }
    }
    Ok(web::Json(page))
}

/// Everything that is known of files, as it stands while one page is made.
struct Shelf<'a> {
    state: &'a NodeState,
    catalog: arc_swap::Guard<std::sync::Arc<CatalogView>>,
    tasks: std::sync::Arc<TaskManagerView>,
    /// Hot files that have no grade; they come first.
    ungraded: Vec<FileId>,
    hits: HashMap<FileId, u32>,
    copying: HashMap<FileName, std::sync::Arc<Task>>,
    /// Whether every destination that told what it is, is an old cfw.
    all_old: bool,
}

impl<'a> Shelf<'a> {
    fn new(state: &'a NodeState) -> Self {
        let catalog = state.actors.catalog_view.load();
        let tasks = state.actors.task_board.view();
        let ranked = |file: &FileId| catalog.ranking.as_ref().and_then(|all| all.rank(*file));
        let hot = catalog.rising.hot().iter();
        let ungraded = hot.map(|(file, _)| *file).filter(|file| ranked(file).is_none()).collect();
        let takes_copies = |host: &&PlannedHost| host.role.is_destination();
        let kinds = || tasks.hosts.iter().filter(takes_copies).map(|host| host.kind);
        let all_old = kinds().any(|kind| kind == HostKind::Cfw)
            && !kinds().any(|kind| matches!(kind, HostKind::Reelyard { .. }));
        let open = tasks.open.values().map(|task| (task.name.clone(), task.clone()));
        Shelf {
            state,
            ungraded,
            hits: catalog.rising.hot().iter().copied().collect(),
            copying: open.collect(),
            all_old,
            catalog,
            tasks,
        }
    }

    fn ranked(&self) -> &[FileId] {
        self.catalog.ranking.as_ref().map_or(&[], |ranking| ranking.files())
    }

    fn len(&self) -> usize {
        self.ungraded.len() + self.ranked().len()
    }

    fn file(&self, position: usize) -> FileId {
        match self.ungraded.get(position) {
            Some(file) => *file,
            None => self.ranked()[position - self.ungraded.len()],
        }
    }

    fn shown(&self, file: FileId, name: &FileName) -> FileView {
        let ranking = self.catalog.ranking.as_ref();
        let task = self.copying.get(name);
        // What hitcount.history tells is only a hint.
        let seen = self.catalog.master_sizes.get(file);
        let size = seen.or_else(|| ranking.and_then(|ranking| ranking.size(file)));
        let placements = self.tasks.placements.iter();
        let placed_on: Vec<_> =
            placements.filter(|(_, files)| files.contains(file.0)).map(|(host, _)| *host).collect();
        let back_off = self.back_off(name);
        let rank = ranking.and_then(|ranking| ranking.rank(file));
        let ignored =
            self.state.ignore_prefixes.iter().any(|prefix| name.as_bytes().starts_with(prefix));
        let has_master =
            self.catalog.masters.as_ref().is_some_and(|masters| masters.files.contains(file.0));
        let state = match () {
            () if !placed_on.is_empty() => FileState::Placed,
            () if task.is_some() => FileState::Copying,
            () if ignored => FileState::Ignored,
            () if !has_master => FileState::NoMaster,
            () if rank.is_none() && !self.state.ungraded_hot => FileState::Ungraded,
            () if self.all_old && !cfm::carries(name) => FileState::NameNotCarried,
            () if back_off.is_some() => FileState::BackingOff,
            () => FileState::Waiting,
        };
        FileView {
            name: name.shown(),
            rank,
            hits: self.hits.get(&file).copied().unwrap_or(0),
            size: task.map(|task| task.size).or(size),
            placed_on,
            state,
            task: task.map(|task| task.id),
            back_off,
        }
    }

    fn back_off(&self, name: &FileName) -> Option<BackOffView> {
        let held = self.tasks.back_offs.get(&Blamed::File(name.clone()))?;
        held.holds(self.tasks.at).then(|| super::plan::back_off(held))
    }
}
