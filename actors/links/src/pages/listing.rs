//! What a page shows of what is shared. Blocks on the disk.

use std::ffi::{CStr, CString};
use std::fs::{File, Metadata};
use std::io;

use reelyard_shares::share_expiry::ShareKind;
use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::roots::{OpenedShare, open_beneath};

/// Entries of a directory that are shown.
const MOST_SHOWN: usize = 500;

/// Entries that are read of it: of a larger directory some are shown, and not counted how many more
/// there are.
const MOST_READ: usize = 10_000;

/// What is shared, as its page shows it.
pub(super) enum Contents {
    /// A file of so many bytes.
    File(u64),
    /// A directory.
    Directory(DirectoryListing),
}

/// The entries of a directory.
#[derive(Default)]
pub(super) struct DirectoryListing {
    /// The first of them, directories before files, each by name.
    pub(super) shown: Vec<DirectoryEntry>,
    /// How many there are besides, as far as they were read.
    pub(super) others: usize,
    /// Whether there are more than were read.
    pub(super) goes_on: bool,
}

/// One entry of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DirectoryEntry {
    /// Its name.
    pub(super) name: String,
    /// Of a file, its bytes.
    pub(super) size: Option<u64>,
}

/// Looks at what was opened.
pub(super) fn contents(opened: &OpenedShare) -> io::Result<Contents> {
    match opened.kind {
        ShareKind::File => Ok(Contents::File(Metadata::len(&opened.metadata))),
        ShareKind::Directory => listing(&opened.file, MOST_READ).map(Contents::Directory),
    }
}

fn listing(dir: &File, most_read: usize) -> io::Result<DirectoryListing> {
    let (mut names, mut read, mut goes_on) = (Vec::new(), 0, false);
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let raw = entry.file_name();
        if matches!(raw.to_bytes(), b"." | b"..") {
            continue;
        }
        if read == most_read {
            goes_on = true;
            break;
        }
        read += 1;
        let kind = match entry.file_type() {
            // Some file systems do not tell it here.
            FileType::Unknown => match statat(dir, raw, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        if let Some((is_file, size)) = shown_as(dir, raw, kind) {
            names.push((is_file, raw.to_owned(), size));
        }
    }
    names.sort_unstable();
    let others = names.len().saturating_sub(MOST_SHOWN);
    names.truncate(MOST_SHOWN);
    let entry = |(is_file, raw, size): (_, CString, _)| entry(dir, is_file, &raw, size);
    Ok(DirectoryListing { shown: names.into_iter().filter_map(entry).collect(), others, goes_on })
}

/// Whether an entry is shown as a file, and how many bytes it has where that was found out. None when
/// it is not shown.
fn shown_as(dir: &File, raw: &CStr, kind: FileType) -> Option<(bool, Option<u64>)> {
    match kind {
        FileType::Directory => Some((false, None)),
        FileType::RegularFile => Some((true, None)),
        // As in the archive: as the file of the same directory that it leads to, if it does.
        FileType::Symlink => {
            let opened = open_beneath(dir, raw.to_bytes()).ok()?;
            (opened.kind == ShareKind::File).then_some((true, Some(opened.metadata.len())))
        }
        _ => None,
    }
}

/// An entry as it is shown. None when it is gone meanwhile.
fn entry(dir: &File, is_file: bool, raw: &CStr, size: Option<u64>) -> Option<DirectoryEntry> {
    let name = raw.to_string_lossy().into_owned();
    if !is_file || size.is_some() {
        return Some(DirectoryEntry { name, size });
    }
    let stat = statat(dir, raw, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(DirectoryEntry { name, size: Some(u64::try_from(stat.st_size).unwrap_or(0)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_come_first_and_what_is_neither_is_not_shown() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a"), b"xyz").unwrap();
        std::fs::create_dir(place.path().join("z")).unwrap();
        for (to, from) in [("a", "link"), ("z", "to-z"), ("absent", "nowhere"), ("/", "out")] {
            std::os::unix::fs::symlink(to, place.path().join(from)).unwrap();
        }
        let dir = File::open(place.path()).unwrap();
        let listing = listing(&dir, 6).unwrap();
        let shown: Vec<_> = listing.shown.iter().map(|entry| (&*entry.name, entry.size)).collect();
        assert_eq!(shown, [("z", None), ("a", Some(3)), ("link", Some(3))]);
        assert_eq!((listing.others, listing.goes_on), (0, false));
    }

    #[test]
    fn no_more_is_read_than_is_of_use() {
        let place = tempfile::tempdir().unwrap();
        for number in 0..20 {
            std::fs::write(place.path().join(number.to_string()), b"x").unwrap();
        }
        let dir = || File::open(place.path()).unwrap();
        let some = listing(&dir(), 19).unwrap();
        assert_eq!((some.shown.len(), some.goes_on), (19, true));
        let all = listing(&dir(), 20).unwrap();
        assert_eq!((all.shown.len(), all.goes_on), (20, false));
    }
}
