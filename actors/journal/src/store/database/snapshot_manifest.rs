//! A snapshot without its content: its number, its size, and the position of its pieces.

use serde::{Deserialize, Serialize};

use crate::stream::StreamPart;

/// Body bytes of one chunk: small enough that no page of chunks outgrows a quarter of a segment.
pub(crate) const CHUNK_BYTES: usize = 16 * 1024;

/// Description of a snapshot, readable without the snapshot itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotManifest {
    /// Number of the snapshot, which names its tree.
    pub(crate) number: u64,
    /// Log index of the last entry in it.
    pub(crate) index: u64,
    /// Metadata of the raft layer, in its encoding.
    pub(crate) meta: Vec<u8>,
    /// Length of the stream in bytes.
    pub(crate) bytes: u64,
    /// Position of each piece in the stream.
    pub(crate) parts: Vec<StreamPart>,
}

impl SnapshotManifest {
    /// How many chunks it has.
    pub(crate) fn chunks(&self) -> u64 {
        self.bytes.div_ceil(CHUNK_BYTES as u64)
    }
}
