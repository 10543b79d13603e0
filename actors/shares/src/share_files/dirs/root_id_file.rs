//! The file in a share root that has the id of the root.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fsync, linkat, openat, unlinkat};
use rustix::io::Errno;

use crate::share_expiry::RootId;

/// Name of the file in the root. Links do not give it out.
pub const ROOT_ID_FILE: &str = ".reelyard-root";

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

/// Writes the file of a root, unless it has one. It is durable, and complete under its name. Answers the id that the
/// root has then: another node may have been quicker.
///
/// # Errors
/// When the root cannot be written, or has a file of this name without an id.
pub(super) fn write(root: impl AsFd, id: RootId) -> Result<RootId, Errno> {
    // No other writer has this name.
    let new = format!("{ROOT_ID_FILE}.{id}");
    let linked = write_new(&root, &new, id).and_then(|()| {
        match linkat(&root, new.as_str(), &root, ROOT_ID_FILE, AtFlags::empty()) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno),
        }
    });
    let unlinked = match unlinkat(&root, new.as_str(), AtFlags::empty()) {
        Err(Errno::NOENT) | Ok(()) => Ok(()),
        Err(errno) => Err(errno),
    };
    linked.and(unlinked)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fsync(openat(&root, ".", flags, Mode::empty())?)?;
    read(root)?.ok_or(Errno::EXIST)
}

fn write_new(root: impl AsFd, name: &str, id: RootId) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let mut file = File::from(openat(root, name, flags, mode)?);
    // Nodes that only read the root need it, too.
    fchmod(&file, mode)?;
    let written = writeln!(file, "{id}").and_then(|()| file.sync_all());
    written.map_err(|error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))
}

/// Whether an entry of a directory is the file with the id of a root, or a part of one that was never completed.
pub fn is_root_id_file(name: &[u8]) -> bool {
    name.strip_prefix(ROOT_ID_FILE.as_bytes())
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'.')))
}
