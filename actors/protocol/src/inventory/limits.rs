//! The limits of one list, and why a list is refused.

/// The largest average length of names, in bytes, in a list of the largest length.
pub const AVERAGE_NAME: u64 = 48;

/// How much one list may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// Lines: files, unreadable names, and removed names.
    pub files: u64,
    /// Bytes of all names together.
    pub name_bytes: u64,
}

impl ListLimits {
    /// The limits of a host that may list `files` files. Their names may take 48 bytes each on
    /// average.
    pub const fn of(files: u64) -> Self {
        ListLimits { files, name_bytes: files.saturating_mul(AVERAGE_NAME) }
    }
}

/// Why a list is ignored. If an incomplete list were used, existing files would seem to be
/// removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadList {
    /// Its last line has no end, or the end line is missing.
    #[error("the list is incomplete: it stops after {lines} lines without its end line")]
    Torn {
        /// Whole lines until there.
        lines: u64,
    },
    /// The number in the end line is wrong.
    #[error("the list is incomplete: it has {lines} lines, but its end line says {announced}")]
    Miscounted {
        /// Lines there are.
        lines: u64,
        /// Number of lines in the end line.
        announced: u64,
    },
    /// A line with another format.
    #[error("line {line} of the file list has the wrong format")]
    Line {
        /// Its number, from 1.
        line: u64,
    },
    /// More lines than a host may list.
    #[error("it lists more than {most} files: remove files there, or raise hosts.max_files")]
    TooMany {
        /// The limit (`hosts.max_files`).
        most: u64,
    },
    /// Its names or its body are longer than allowed.
    #[error(
        "its file list has more than {most} bytes: remove files there, or raise hosts.max_files"
    )]
    TooLong {
        /// The limit that it exceeds, in bytes.
        most: u64,
    },
    /// It adds files, and the earlier lists of the host added as many as it may add within an hour.
    #[error(
        "its lists added more files within an hour than hosts.max_files allows: repair the host and \
         reset it, or raise the setting"
    )]
    TooManyAdded,
}

impl BadList {
    /// Whether the list is refused because of its size, not because of its format.
    pub fn is_too_much(&self) -> bool {
        matches!(self, BadList::TooMany { .. } | BadList::TooLong { .. } | BadList::TooManyAdded)
    }
}
