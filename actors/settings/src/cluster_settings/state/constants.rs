//! The limits of the record.

/// The longest text of a version, in bytes. A list of 20,000 hosts needs a third of it. Part of the event version.
pub const LONGEST_TEXT: usize = 1_000_000;

/// The longest reason of a change, in bytes. Part of the event version.
pub const LONGEST_REASON_OF_CHANGE: usize = 2_000;

/// The largest number of versions that are kept. Part of the event version.
pub const MOST_VERSIONS: usize = 100;

/// The largest number of bytes of the versions that are kept, besides the newest one. Part of the event version.
pub const MOST_KEPT_BYTES: usize = 4_000_000;

/// The bytes of one part of a text, so that its event fits into an entry of the journal. No event depends on it.
pub const PART_BYTES: usize = 16 * 1024;
