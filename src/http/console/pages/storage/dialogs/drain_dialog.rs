//! The facts in the dialog of a drain: the files that are only there, and missing room or sources.

use std::collections::BTreeSet;

use reelyard_console::Viewer;
use reelyard_console::format::{bytes, counted};
use reelyard_console::pages::hosts::HostLine;
use reelyard_console::parts::dialog::{AskDialog, NAMES_LISTED, NamedThings};
use reelyard_console::text::{Text, common, hosts as words};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::task_manager::TaskManagerView;
use roaring::RoaringBitmap;

use crate::http::console::pages::storage::most_asked::most_asked;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::recent::shown_name;

/// The dialog of a drain of these hosts, with the facts of this moment.
pub fn with_facts(
    state: &NodeHttpState,
    ask: AskDialog,
    lines: &[HostLine],
    viewer: &Viewer,
) -> AskDialog {
    let drained: BTreeSet<HostAddr> =
        lines.iter().filter_map(|line| line.host.parse().ok()).collect();
    let (tasks, catalog) = (state.actors.task_views.load(), state.actors.catalog_view.load());
    let mut hosts = tasks.hosts.iter().filter(|host| drained.contains(&host.host));
    let is_destination = hosts.clone().any(|host| host.role.is_destination());
    let files = FilesOfDrained::new(&tasks, &drained);
    let mut consequence = Vec::new();
    if is_destination {
        consequence.push(ask.consequence.clone());
    }
    if hosts.any(|host| host.role.is_source()) {
        consequence.push(words::DRAIN_SOURCE.of(viewer.language).to_owned());
    }
    let warnings = [files.no_room(&catalog, viewer), no_source(&tasks, &drained, viewer)];
    let warnings: Vec<String> = warnings.into_iter().flatten().collect();
    AskDialog {
        consequence: consequence.join(" "),
        only_there: is_destination.then(|| files.only_there(state, &tasks, &catalog, viewer)),
        warning: (!warnings.is_empty()).then(|| warnings.join(" ")),
        ..ask
    }
}

/// The files of hosts that are drained.
struct FilesOfDrained {
    /// The files that no other host keeps.
    only: RoaringBitmap,
    /// The room of the other destinations, in bytes.
    room: u64,
    /// Drained destinations whose files were never read.
    unread: u64,
}

impl FilesOfDrained {
    fn new(tasks: &TaskManagerView, drained: &BTreeSet<HostAddr>) -> Self {
        let (mut only, mut kept) = (RoaringBitmap::new(), RoaringBitmap::new());
        let (mut room, mut unread) = (0_u64, 0);
        for host in tasks.hosts.iter().filter(|host| host.role.is_destination()) {
            let held = tasks.placements.get(&host.host);
            if drained.contains(&host.host) {
                match held {
                    Some(held) => only |= &**held,
                    None => unread += 1,
                }
            } else if host.record.counts() {
                if let Some(held) = held {
                    kept |= &**held;
                }
                room += host.room.filter(|_| host.record.takes_copies()).unwrap_or(0);
            }
        }
        only -= kept;
        FilesOfDrained { only, room, unread }
    }

    /// A warning if the files have no room elsewhere.
    fn no_room(&self, catalog: &CatalogView, viewer: &Viewer) -> Option<String> {
        let sizes = &catalog.master_sizes;
        let moved: u64 = self.only.iter().filter_map(|file| sizes.get(FileId(file))).sum();
        let rest = moved.checked_sub(self.room).filter(|rest| *rest > 0)?;
        let values = [("need", bytes(moved)), ("room", bytes(self.room)), ("rest", bytes(rest))];
        let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
        Some(words::NO_ROOM_WARNING.fill(viewer.language, &values))
    }

    /// How many files are only there, the first names, and the consequence for them.
    fn only_there(
        &self,
        state: &NodeHttpState,
        tasks: &TaskManagerView,
        catalog: &CatalogView,
        viewer: &Viewer,
    ) -> NamedThings {
        let language = viewer.language;
        let stay = self.that_stay(state, tasks, catalog);
        let mut sentences = Vec::new();
        if self.unread > 0 {
            sentences.push(counted(language, words::FILES_UNREAD, self.unread));
        }
        match self.only.len() {
            0 if self.unread > 0 => {}
            0 => sentences.push(words::NOTHING_ONLY_THERE.of(language).to_owned()),
            only => sentences.push(counted(language, words::ONLY_THERE, only)),
        }
        for (files, why) in stay.iter().filter(|(files, _)| !files.is_empty()) {
            let files = counted(language, common::FILES, files.len());
            let values = [("files", files.as_str()), ("why", why.of(language))];
            sentences.push(words::CANNOT_LEAVE.fill(language, &values));
        }
        let remark = |file: FileId| {
            let stays = stay.iter().find(|(files, _)| files.contains(file.0));
            let size = || catalog.master_sizes.get(file).map(bytes);
            stays.map(|(_, why)| why.of(language).to_owned()).or_else(size).unwrap_or_default()
        };
        let names = most_asked(catalog, &self.only, NAMES_LISTED).into_iter();
        NamedThings {
            sentence: sentences.join(" "),
            names: names.map(|file| (shown_name(&state.names, file).text, remark(file))).collect(),
            things: self.only.len(),
        }
    }

    /// The files of these that no round copies elsewhere, with the reason of each.
    fn that_stay(
        &self,
        state: &NodeHttpState,
        tasks: &TaskManagerView,
        catalog: &CatalogView,
    ) -> [(RoaringBitmap, Text); 3] {
        let ignored = &self.only & tasks.plan.passed_over.ignored();
        let mut left = &self.only - &ignored;
        let masterless = match &catalog.masters {
            Some(masters) => &left - &masters.files,
            None => RoaringBitmap::new(),
        };
        left -= &masterless;
        let pins = &state.actors.remover_views.load().pins;
        let pinned = left & pins.keys().map(|file| file.0).collect::<RoaringBitmap>();
        [
            (ignored, words::STAYS_IGNORED),
            (masterless, words::STAYS_NO_MASTER),
            (pinned, words::STAYS_PINNED),
        ]
    }
}

/// A warning if no other source can serve copies.
fn no_source(
    tasks: &TaskManagerView,
    drained: &BTreeSet<HostAddr>,
    viewer: &Viewer,
) -> Option<String> {
    let mut sources = tasks.hosts.iter().filter(|host| host.role.is_source());
    let is_drained = sources.clone().any(|host| drained.contains(&host.host));
    let is_other = sources.any(|host| host.no_source.is_none() && !drained.contains(&host.host));
    let is_last = is_drained && !is_other;
    is_last.then(|| words::NO_SOURCE_WARNING.of(viewer.language).to_owned())
}
