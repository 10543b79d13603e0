//! The file in a share root that has the id of the root.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags, fsync, openat, renameat};
use rustix::io::Errno;

use crate::share_expiry::RootId;

/// Name of the file in the root. Links do not show it.
pub const ROOT_ID_FILE: &str = ".reelyard-root";

/// Name of the file until it is complete.
const NEW_FILE: &str = ".reelyard-root.new";

/// The length of a valid file, with room for white space.
const LONGEST: u64 = 64;

/// The id in the file of a root; none without a valid file.
///
/// # Errors
/// When the disk does not answer, or the process has no permission to read the file.
pub(super) fn read(root: impl AsFd) -> Result<Option<RootId>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(root, ROOT_ID_FILE, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let mut text = String::new();
    match file.take(LONGEST).read_to_string(&mut text) {
        Ok(_) => Ok(text.trim().parse().ok()),
        // It is no text.
        Err(error) => {
            error.raw_os_error().map_or(Ok(None), |raw| Err(Errno::from_raw_os_error(raw)))
        }
    }
}

/// Writes the file of a root. It is durable, and complete under its name.
///
/// # Errors
/// When the root cannot be written.
pub(super) fn write(root: impl AsFd, id: RootId) -> Result<(), Errno> {
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let mut file = File::from(openat(&root, NEW_FILE, flags, mode)?);
    let written = writeln!(file, "{id}").and_then(|()| file.sync_all());
    written.map_err(|error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))?;
    renameat(&root, NEW_FILE, &root, ROOT_ID_FILE)?;
    let dir =
        openat(&root, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    fsync(dir)
}
