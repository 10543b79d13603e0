//! A file name in the arguments of a command.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use reelyard_core::names::{BadFileName, FileName};

/// The file name of an argument, which is plain or percent-encoded.
pub(in crate::cli) fn file_name(
    file: &OsStr,
    percent_encoded: bool,
) -> Result<FileName, BadFileName> {
    if percent_encoded {
        FileName::from_percent(&file.to_string_lossy())
    } else {
        FileName::new(file.as_bytes())
    }
}
