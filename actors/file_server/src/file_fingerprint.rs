//! The identity of the contents of a file name at some moment. A hash is remembered under it, and a change
//! during a copy is noticed by it.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

/// The coarsest resolution of times in a file system (FAT): two changes within it can look like one.
const COARSEST_TIME: Duration = Duration::from_secs(2);

/// Device, inode, size and times of a file. Any write to the file changes it, within the time resolution
/// of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileFingerprint {
    /// Number of the device (`st_dev`).
    pub device: u64,
    /// Number of the inode on that device.
    pub inode: u64,
    /// Size of the file in bytes.
    pub size: u64,
    /// When the contents last changed, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// When the inode last changed. This detects a modification time that was set back.
    pub changed: (i64, i64),
}

impl FileFingerprint {
    /// Whether every change from `now` on changes the identity: the last change is old enough to have
    /// another time stamp.
    pub fn is_stable(&self, now: Millis) -> bool {
        let changed = Millis(self.changed.0.saturating_mul(1000) + self.changed.1 / 1_000_000);
        now >= changed.after(COARSEST_TIME)
    }
}

impl From<&Metadata> for FileFingerprint {
    fn from(metadata: &Metadata) -> Self {
        FileFingerprint {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl fmt::Display for FileFingerprint {
    /// An entity tag (RFC 9110), quotes included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{:x}-{:x}-{:x}-{:x}.{:x}-{:x}.{:x}\"",
            self.device,
            self.inode,
            self.size,
            self.modified.0,
            self.modified.1,
            self.changed.0,
            self.changed.1
        )
    }
}
