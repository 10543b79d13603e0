//! Opens regular files and nothing else.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use reelyard_core::names::FileName;
use rustix::fs::{Mode, OFlags, openat};

/// Opens `name` in `dir` for reading, if it is a regular file. Symlinks are not followed, and a
/// FIFO does not block.
pub fn open_regular(dir: impl AsFd, name: &FileName) -> io::Result<File> {
    open_regular_at(dir, name.as_bytes(), OFlags::RDONLY)
}

/// Opens `name` in `dir` with `access`, if it is a regular file, as [`open_regular`] does.
pub fn open_regular_at(dir: impl AsFd, name: &[u8], access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(dir, name, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}
