//! `apply` is deterministic: the pieces of all nodes are equal at the same log index, whether from entries or
//! from a snapshot.

use std::hash::{DefaultHasher, Hasher};

use reelyard_core::names::{FileId, FileName};
use reelyard_yard::task_manager::TaskBook;

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::judge::record::Committed;

/// The name of the invariant in a violation.
pub const NAME: &str = "same pieces";

/// Checks the same entry on two nodes.
pub fn check(index: u64, before: &Committed, now: &Committed) -> InvariantCheck {
    let verdict = if (before.term, before.payload) != (now.term, now.payload) {
        Err(format!("entry {index} is another one on another node"))
    } else if before.answers != now.answers {
        Err(format!("entry {index} has other outcomes on another node"))
    } else {
        Ok(())
    };
    (NAME, verdict)
}

/// A hash of everything in the piece, by file names: the ids of names differ from process to process.
pub fn digest(book: &TaskBook) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut add = |json: serde_json::Result<Vec<u8>>| hasher.write(&json.unwrap_or_default());
    for host in book.hosts().iter() {
        add(serde_json::to_vec(&host));
    }
    for task in book.open().values().chain(book.ended().values()) {
        add(serde_json::to_vec(&**task));
        add(serde_json::to_vec(&book.open_for(book.names().intern(&task.name))));
    }
    for (blamed, back_off) in book.back_offs().iter() {
        add(serde_json::to_vec(&(blamed, back_off)));
    }
    for (host, placement) in book.placements() {
        let mut names: Vec<FileName> =
            placement.files.iter().map(|file| book.names().name(FileId(file))).collect();
        names.sort_unstable();
        add(serde_json::to_vec(&(host, placement.complete, placement.confirmed, names)));
    }
    hasher.finish()
}
