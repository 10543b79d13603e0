//! `/api/v1/files`: every ranked or hot file, and where it is.

use std::collections::HashMap;

use actix_web::web;
use reelyard_actors::host::HostKind;
use reelyard_actors::names::{FileId, FileName};
use reelyard_actors::task_manager::plan::Skip;
use reelyard_actors::task_manager::{Blamed, PlannedHost, Task};
use reelyard_actors::wire::api::{BackOffView, Cursor, FileState, FileView, Page};
use reelyard_actors::wire::cfm;
use serde::Deserialize;

use super::paging::PageQuery;
use super::standing::Standing;
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
struct Shelf {
    standing: Standing,
    /// Hot files that have no grade; they come first.
    ungraded: Vec<FileId>,
    hits: HashMap<FileId, u32>,
    copying: HashMap<FileName, std::sync::Arc<Task>>,
    /// Whether every destination that told what it is, is an old cfw.
    all_old: bool,
}

impl Shelf {
    fn new(state: &NodeState) -> Self {
        let standing = Standing::new(state);
        let Standing { catalog, tasks, .. } = &standing;
        let ranked = |file: &FileId| catalog.ranking.as_ref().and_then(|all| all.rank(*file));
        let hot = catalog.rising.hot().iter();
        let ungraded = hot.map(|(file, _)| *file).filter(|file| ranked(file).is_none()).collect();
        let takes_copies = |host: &&PlannedHost| host.role.is_destination();
        let kinds = || tasks.hosts.iter().filter(takes_copies).map(|host| host.kind);
        let all_old = kinds().any(|kind| kind == HostKind::Cfw)
            && !kinds().any(|kind| matches!(kind, HostKind::Reelyard { .. }));
        let open = tasks.open.values().map(|task| (task.name.clone(), task.clone()));
        Shelf {
            ungraded,
            hits: catalog.rising.hot().iter().copied().collect(),
            copying: open.collect(),
            all_old,
            standing,
        }
    }

    fn ranked(&self) -> &[FileId] {
        self.standing.catalog.ranking.as_ref().map_or(&[], |ranking| ranking.files())
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
        let ranking = self.standing.catalog.ranking.as_ref();
        let task = self.copying.get(name);
        // What hitcount.history tells is only a hint.
        let seen = self.standing.catalog.master_sizes.get(file);
        let size = seen.or_else(|| ranking.and_then(|ranking| ranking.size(file)));
        let placements = self.standing.tasks.placements.iter();
        let placed_on: Vec<_> =
            placements.filter(|(_, files)| files.contains(file.0)).map(|(host, _)| *host).collect();
        let back_off = self.back_off(name);
        let rank = ranking.and_then(|ranking| ranking.rank(file));
        let state = match () {
            () if !placed_on.is_empty() => FileState::Placed,
            () if task.is_some() => FileState::Copying,
            () => self.waits(file, name, back_off.is_some()),
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

    /// Why a file has no copy and gets none at present.
    fn waits(&self, file: FileId, name: &FileName, backs_off: bool) -> FileState {
        match self.standing.why_not(file, name) {
            Some(Skip::Ignored) => FileState::Ignored,
            Some(Skip::NoMaster) => FileState::NoMaster,
            Some(Skip::Ungraded) => FileState::Ungraded,
            Some(Skip::MasterAbsent) => FileState::MasterAbsent,
            Some(Skip::Listed) => FileState::Listed,
            Some(Skip::TooBig) => FileState::TooBig,
            Some(Skip::NameNotCarried) => FileState::NameNotCarried,
            _ if self.all_old && !cfm::carries(name) => FileState::NameNotCarried,
            _ if backs_off => FileState::BackingOff,
            Some(Skip::NoRoom) => FileState::NoRoom,
            _ => FileState::Waiting,
        }
    }

    fn back_off(&self, name: &FileName) -> Option<BackOffView> {
        let held = self.standing.tasks.back_offs.get(&Blamed::File(name.clone()))?;
        held.holds(self.standing.tasks.at).then(|| super::plan::back_off(held))
    }
}
