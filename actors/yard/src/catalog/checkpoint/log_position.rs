//! The read position in a log, in a form that another process can use.

/// The part of a log whose rows were counted. It identifies the log by its bytes, because a log keeps
/// neither its path nor, as a mirrored copy, its inode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// The inode: it finds a log that was renamed.
    pub inode: u64,
    /// The read position in bytes.
    pub offset: u64,
    /// The first bytes of the log.
    pub head: Vec<u8>,
    /// The bytes before the read position.
    pub tail: Vec<u8>,
    /// How many complete lines were counted, from the beginning of the log.
    pub lines: u64,
}

/// Whether a file is the log of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameLog {
    /// It begins with the bytes that were read. It may also be an older copy that ends before them.
    Yes,
    /// It is another log.
    No,
    /// It is too short to say, and what it has agrees.
    TooShort,
}
