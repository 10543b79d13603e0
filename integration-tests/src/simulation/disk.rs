//! A host's disk: a plain map with a capacity.

use std::collections::BTreeMap;

use reelyard_core::names::FileName;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_protocol::worker::{ContentHash, TaskId};

/// A file under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedCopy {
    /// What it holds; a content that no master ever had when its bytes are a mixture or cut short.
    pub content: u64,
    /// Bytes.
    pub size: u64,
    /// The task that brought it; none when it was there or was put there by hand.
    pub task: Option<TaskId>,
}

/// The disk of one host. Survives every end of its worker.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    /// Bytes it takes.
    pub capacity: u64,
    /// Bytes that others have written there.
    pub other: u64,
    /// The copies.
    pub files: BTreeMap<FileName, SimulatedCopy>,
    /// Bytes of copies under way, by task.
    pub partial: BTreeMap<TaskId, u64>,
}

impl SimulatedDisk {
    /// Bytes in use.
    pub fn used(&self) -> u64 {
        let files: u64 = self.files.values().map(|copy| copy.size).sum();
        files + self.partial.values().sum::<u64>() + self.other
    }

    /// Bytes that can still be written.
    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.used())
    }

    /// As `GET /df` tells it.
    pub fn figures(&self) -> DiskFigures {
        let used = self.used().min(self.capacity);
        let free = self.capacity - used;
        DiskFigures {
            total: self.capacity,
            used,
            avail: free,
            free,
            used_percent: u32::try_from((200 * used + self.capacity) / (2 * self.capacity.max(1)))
                .unwrap_or(100),
        }
    }

    /// Writes `bytes` more of a copy under way; false when the disk is full.
    pub fn write(&mut self, task: TaskId, bytes: u64) -> bool {
        let fits = bytes <= self.free();
        if fits {
            *self.partial.entry(task).or_default() += bytes;
        }
        fits
    }
}

/// The hash of a content: a function of it.
pub fn hash_of(content: u64) -> ContentHash {
    let mut hash = [0x5a; 32];
    hash[..8].copy_from_slice(&content.to_le_bytes());
    ContentHash(hash)
}

/// What bytes are that were read in pieces: the content they all come from, or something that is
/// no content of any master.
pub fn joined(pieces: &[u64]) -> u64 {
    match pieces {
        [] => 0,
        [first, rest @ ..] if rest.iter().all(|piece| piece == first) => *first,
        _ => {
            pieces
                .iter()
                .fold(1 << 63, |mixed, piece| mixed ^ piece.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                | 1 << 63
        }
    }
}
