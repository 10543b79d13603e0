//! What of a directory goes into its archive, and under which names.
//!
//! Files and directories do. A symlink does if it leads to a file in the same shared directory,
//! as that file; where it leads elsewhere, or to a directory, it is left out, as are devices,
//! sockets and pipes.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use reelyard_actors::share_expiry::ShareKind;
use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use crate::http::share::roots::{NotOpened, Opened, open_beneath};

/// One entry of a directory that goes into the archive.
pub(super) struct Entry {
    /// Its name as on disk.
    raw: Vec<u8>,
    /// Its name in the archive.
    pub(super) name: String,
    is_symlink: bool,
}

/// The entries of `dir` by name.
pub(super) fn entries(dir: &File) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let raw = entry.file_name().to_bytes();
        if matches!(raw, b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not tell it here.
            FileType::Unknown => match statat(dir, raw, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            },
            kind => kind,
        };
        if matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink) {
            found.push((raw.to_vec(), kind == FileType::Symlink));
        }
    }
    found.sort_unstable();
    let mut names = HashSet::new();
    let entry = |(raw, is_symlink): (Vec<u8>, bool)| {
        let name = unique(archive_name(&raw), &mut names);
        Entry { raw, name, is_symlink }
    };
    Ok(found.into_iter().map(entry).collect())
}

/// Opens an entry of `dir`, which is at `path` below `top`. None when it does not belong into the
/// archive, or is gone meanwhile.
pub(super) fn open(
    top: &File,
    dir: &File,
    path: &[u8],
    entry: &Entry,
) -> io::Result<Option<Opened>> {
    let opened = if entry.is_symlink {
        open_beneath(top, &below(path, entry))
    } else {
        open_beneath(dir, &entry.raw)
    };
    match opened {
        // A symlink to a directory could lead round in circles.
        Ok(opened) if entry.is_symlink && opened.kind == ShareKind::Directory => Ok(None),
        Ok(opened) => Ok(Some(opened)),
        Err(NotOpened::Absent | NotOpened::Outside | NotOpened::Special) => Ok(None),
        Err(NotOpened::Failed(error)) => Err(error),
        // Leaving it out would pass for an archive of all there is.
        Err(why) => Err(io::Error::other(format!("{}: {why}", entry.name))),
    }
}

/// The path of an entry of the directory at `path`, as on disk.
pub(super) fn below(path: &[u8], entry: &Entry) -> Vec<u8> {
    let mut below = path.to_vec();
    if !below.is_empty() {
        below.push(b'/');
    }
    below.extend_from_slice(&entry.raw);
    below
}

/// A name as every system that opens the archive can have it: UTF-8, and nothing that one of them
/// takes for a separator, a drive or a command.
pub(super) fn archive_name(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let is_safe = |c: char| !c.is_control() && !matches!(c, '\\' | ':');
    text.chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
}

/// Two names that differ on disk differ in the archive.
fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let mut candidate = name.clone();
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name} ({number})");
        number += 1;
    }
    candidate
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_leads_elsewhere_is_left_out() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        std::fs::create_dir_all(top.join("sub")).unwrap();
        for file in ["top/a", "top/sub/b", "secret"] {
            std::fs::write(place.path().join(file), b"x").unwrap();
        }
        symlink("../a", top.join("sub/to-a")).unwrap();
        symlink("../../secret", top.join("sub/out")).unwrap();
        symlink("..", top.join("sub/round")).unwrap();
        symlink("absent", top.join("sub/dangling")).unwrap();
        let (top, dir) = (File::open(&top).unwrap(), File::open(top.join("sub")).unwrap());
        let found = entries(&dir).unwrap();
        let opened: Vec<&str> = found
            .iter()
            .filter(|entry| open(&top, &dir, b"sub", entry).unwrap().is_some())
            .map(|entry| entry.name.as_str())
            .collect();
        assert_eq!(opened, ["b", "to-a"]);
    }

    #[test]
    fn names_that_no_archive_can_have_stay_apart() {
        let place = tempfile::tempdir().unwrap();
        for raw in [&b"a\\b"[..], b"a_b", b"a:b", b"x:", b"\xff", b"\xfe", "ü".as_bytes()] {
            std::fs::write(place.path().join(std::ffi::OsStr::from_bytes(raw)), b"").unwrap();
        }
        let found = entries(&File::open(place.path()).unwrap()).unwrap();
        let names: Vec<&str> = found.iter().map(|entry| entry.name.as_str()).collect();
        let expected = ["a_b", "a_b (2)", "a_b (3)", "x_", "ü", "\u{fffd}", "\u{fffd} (2)"];
        assert_eq!(names, expected);
    }
}
