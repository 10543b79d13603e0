//! The sources and destinations that a round can use.

use std::collections::HashMap;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;

use crate::task_manager::policy::hosts_in_memory::hosts::HostState;

/// By source, the destinations with which it backs off.
pub type HeldPairs = HashMap<HostAddr, Vec<HostAddr>>;

/// A source that may serve.
#[derive(Clone, Debug)]
pub(in crate::task_manager::policy::plan) struct UsableSource {
    pub(in crate::task_manager::policy::plan) addr: HostAddr,
    /// Whether it has a data port, without which only some destinations can fetch from it.
    pub(in crate::task_manager::policy::plan) ours: bool,
    /// How many more copies it may serve.
    pub(in crate::task_manager::policy::plan) free: usize,
    /// Whether a usable destination can take copies from it. For an old source there may be none, if all
    /// destinations need a data port.
    pub(super) useful: bool,
}

/// A destination that may take copies.
#[derive(Clone, Debug)]
pub(in crate::task_manager::policy::plan) struct UsableDestination {
    pub(in crate::task_manager::policy::plan) addr: HostAddr,
    pub(in crate::task_manager::policy::plan) ours: bool,
    /// Whether a source that is an old cfw will do.
    pub(in crate::task_manager::policy::plan) fetches_from_old: bool,
    /// Free bytes below its limit after all running copies have arrived: for hot files.
    pub(in crate::task_manager::policy::plan) room: u64,
    /// The same up to the low-water mark, for files that are not hot.
    pub(in crate::task_manager::policy::plan) cold_room: u64,
    /// Open tasks with this host as the destination.
    pub(in crate::task_manager::policy::plan) load: usize,
    /// How many tasks it may have.
    pub(in crate::task_manager::policy::plan) most: usize,
    /// Whether its backoff ended a moment ago: its first trial is a file that did not fail there.
    pub(in crate::task_manager::policy::plan) tries_others_first: bool,
    /// The number of turns before its own; 0 if there are no turns.
    pub(super) turns: usize,
    /// The file for which room was made there, and how many bytes of the room are reserved for it.
    pub(super) kept: Option<(FileId, u64)>,
    /// The free part of its link, in millionths; none if it is unknown.
    pub(super) free_link: Option<u64>,
}

impl UsableSource {
    /// A host as a source, regardless of its running copies.
    pub(in crate::task_manager::policy::plan) fn of(addr: HostAddr, host: &HostState) -> Self {
        UsableSource { addr, ours: host.is_ours(), free: 1, useful: true }
    }

    /// Whether copies from here can be made there at all.
    pub(in crate::task_manager::policy::plan) fn goes_with(
        &self,
        destination: &UsableDestination,
        held_pairs: &HeldPairs,
    ) -> bool {
        self.addr != destination.addr
            && (self.ours || destination.fetches_from_old)
            && !held_pairs.get(&self.addr).is_some_and(|held| held.contains(&destination.addr))
    }
}

impl UsableDestination {
    /// The room for a hot file, or for a cold one, without the part that is reserved for another file. The file
    /// for which room was made uses the disk up to its limit, because copies were removed for it.
    pub(in crate::task_manager::policy::plan) fn room_for(
        &self,
        file: Option<FileId>,
        is_hot: bool,
    ) -> u64 {
        let is_kept = file.is_some_and(|file| self.keeps_room_for(file));
        let room = if is_hot || is_kept { self.room } else { self.cold_room };
        room.saturating_sub(self.kept_from(file))
    }

    pub(super) fn keeps_room_for(&self, file: FileId) -> bool {
        self.kept.is_some_and(|(owner, _)| owner == file)
    }

    /// How many bytes of its room are reserved for another file.
    pub(super) fn kept_from(&self, file: Option<FileId>) -> u64 {
        self.kept.filter(|(owner, _)| Some(*owner) != file).map_or(0, |(_, bytes)| bytes)
    }

    /// Whether it may have one more task.
    pub(in crate::task_manager::policy::plan) fn takes(&self) -> bool {
        self.load < self.most
    }
}
