//! The disk of a host: a map with a capacity.

use std::collections::BTreeMap;

use reelyard_core::names::FileName;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_protocol::worker::{ContentHash, TaskId};

/// One complete file on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedCopy {
    /// The content. Mixed or truncated bytes have a content that no master ever had.
    pub content: u64,
    /// The size in bytes.
    pub size: u64,
    /// The task that created the copy; `None` for a copy from the start or by hand.
    pub task: Option<TaskId>,
}

/// The disk of one host. It survives every end of its worker.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    /// The capacity in bytes.
    pub capacity: u64,
    /// Bytes that other programs have written.
    pub other: u64,
    /// The complete files, by name.
    pub files: BTreeMap<FileName, SimulatedCopy>,
    /// Bytes of unfinished copies, by task.
    pub partial: BTreeMap<TaskId, u64>,
}

impl SimulatedDisk {
    /// The bytes in use by copies, partial copies and other programs.
    pub fn used(&self) -> u64 {
        let files: u64 = self.files.values().map(|copy| copy.size).sum();
        files + self.partial.values().sum::<u64>() + self.other
    }

    /// Free bytes of the capacity.
    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.used())
    }

    /// The answer to `GET /df`.
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

    /// Writes `bytes` more of a partial copy. Returns false when the disk is full.
    pub fn write(&mut self, task: TaskId, bytes: u64) -> bool {
        let fits = bytes <= self.free();
        if fits {
            *self.partial.entry(task).or_default() += bytes;
        }
        fits
    }
}

/// The hash that stands for a content.
pub fn hash_of(content: u64) -> ContentHash {
    let mut hash = [0x5a; 32];
    hash[..8].copy_from_slice(&content.to_le_bytes());
    ContentHash(hash)
}

/// The content of bytes that were read in pieces. Pieces of different contents give a content that no master
/// has.
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
