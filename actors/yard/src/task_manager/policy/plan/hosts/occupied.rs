//! The hosts and files that tasks and backoffs occupy at the beginning of a round.

use std::collections::{HashMap, HashSet};

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_protocol::worker::Blame;

use super::usable_hosts::HeldPairs;
use crate::task_manager::policy::plan::PlanningContext;
use crate::task_manager::state::backoff::Blamed;
use crate::task_manager::state::event::TaskEvent;

/// The state that is the same for all candidates of one round.
pub(in crate::task_manager::policy::plan) struct Occupied {
    pub(in crate::task_manager::policy::plan) files: HashSet<FileId>,
    pub(in crate::task_manager::policy::plan) held_files: HashSet<FileId>,
    pub(in crate::task_manager::policy::plan) held_pairs: HeldPairs,
    /// By file, the destinations where its copy failed recently.
    pub(in crate::task_manager::policy::plan) failed_at: HashMap<FileId, Vec<HostAddr>>,
}

impl Occupied {
    /// Counts the running copies in `yard`, applied or not.
    pub(in crate::task_manager::policy::plan) fn of(yard: &PlanningContext<'_>) -> Self {
        let book = yard.book;
        let open = book.open().values().map(|task| book.file(&task.name));
        let in_flight = yard.created_in_flight().map(|task| book.file(&task.name));
        // A found copy is about to be recorded, so the file needs no other copy.
        let found = yard.in_flight.events().filter_map(|event| match event {
            TaskEvent::Placed { name, .. } => Some(book.file(name)),
            _ => None,
        });
        let mut occupied = Occupied {
            files: open.chain(in_flight).chain(found).collect(),
            held_files: HashSet::new(),
            held_pairs: HashMap::new(),
            failed_at: HashMap::new(),
        };
        for failed in book.ended().values().filter(|ended| ended.has_failed()) {
            if matches!(failed.blame, Some(Blame::Destination | Blame::File)) {
                let hosts = occupied.failed_at.entry(book.file(&failed.name)).or_default();
                hosts.push(failed.destination);
            }
        }
        let held = book.back_offs().iter().filter(|(_, back_off)| back_off.holds(yard.now));
        for (blamed, _) in held {
            match blamed {
                Blamed::File(name) => {
                    occupied.held_files.insert(book.file(name));
                }
                Blamed::Pair(source, destination) => {
                    occupied.held_pairs.entry(*source).or_default().push(*destination);
                }
                Blamed::Source(_) | Blamed::Destination(_) => {}
            }
        }
        occupied
    }

    /// The destinations where the copy of a file failed recently.
    pub(in crate::task_manager::policy::plan) fn failed_at(&self, file: FileId) -> &[HostAddr] {
        self.failed_at.get(&file).map_or(&[], Vec::as_slice)
    }
}
