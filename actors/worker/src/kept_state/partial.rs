//! The record of an interrupted copy.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_file_server::tree_hash::Trunk;
use reelyard_protocol::worker::TaskId;
use serde::{Deserialize, Serialize};

/// An interrupted copy: the data that are needed to resume it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partial {
    /// The name of the file.
    pub name: FileName,
    /// The task with the number of its temporary file: the one that began the copy.
    pub began: TaskId,
    /// The inode of its temporary file. Another inode means another file.
    pub inode: u64,
    /// The size of the whole file.
    pub size: u64,
    /// The source of its bytes.
    pub origin: MasterOrigin,
    /// The bytes up to here are durable. This is their part of the hash.
    pub trunk: Trunk,
    /// When it reached this position.
    pub at: Millis,
}

/// Identifies a master on a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MasterOrigin {
    /// The host that serves the master.
    pub source: HostAddr,
    /// The master's directory there.
    pub dir: String,
    /// The entity tag from the source.
    pub etag: Option<String>,
}
