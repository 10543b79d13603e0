//! The operator's settings for the audit.

use std::time::Duration;

use bytesize::ByteSize;
use reelyard_core::settings;

settings! {
    /// The audit: every change, and every refused one, with its caller.
    pub struct AuditConfig [node] {
        /// Rows are kept for this long.
        keep: Duration = Default "400d",
        /// Largest size of the audit on disk. Beyond it, the oldest rows are removed.
        max_size: ByteSize = Default "1GiB",
    }
}

/// A segment is at most about this large.
const SEGMENT: u64 = 8 << 20;

/// No segment is full before this size, however small the log may be.
const SMALLEST_SEGMENT: u64 = 64 << 10;

/// A segment is at most this old when it gets a row.
const SEGMENT_AGE: Duration = Duration::from_secs(24 * 3600);

/// No segment is full before this age by its age alone.
const SHORTEST_SEGMENT: Duration = Duration::from_secs(60);

/// The limits of the audit of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    /// Rows are kept for this long.
    pub keep: Duration,
    /// Largest size on disk, in bytes.
    pub max_size: u64,
}

impl AuditSettings {
    /// The settings of an operator.
    pub fn of(config: &AuditConfig) -> Self {
        AuditSettings { keep: config.keep, max_size: config.max_size.as_u64() }
    }

    /// Size at which a segment is full, in bytes. Only whole segments are removed, so a small log has small ones.
    pub(super) fn segment_size(&self) -> u64 {
        (self.max_size / 8).clamp(SMALLEST_SEGMENT, SEGMENT)
    }

    /// Age at which a segment is full.
    pub(super) fn segment_age(&self) -> Duration {
        (self.keep / 8).clamp(SHORTEST_SEGMENT, SEGMENT_AGE)
    }
}

impl Default for AuditSettings {
    fn default() -> Self {
        AuditSettings::of(&AuditConfig::default())
    }
}
