//! The contents of a share for its page. Blocks on the disk.

use std::ffi::{CStr, CString};
use std::fs::{File, Metadata};
use std::io;

use reelyard_protocol::cluster::shared_files::{DirectoryEntry, DirectoryListing, SharedContents};
use reelyard_shares::share_expiry::ShareKind;
use reelyard_shares::share_files::is_root_id_file;
use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::access::roots::{OpenedShare, open_beneath};

/// Largest number of listed entries.
const MOST_ENTRIES: usize = 500;

/// Largest number of entries that are read. Of a larger directory the rest is not counted.
const MOST_READ: usize = 10_000;

/// Reads the contents of an opened share.
pub(crate) fn contents(opened: &OpenedShare) -> io::Result<SharedContents> {
    match opened.kind {
        ShareKind::File => Ok(SharedContents::File(Metadata::len(&opened.metadata))),
        ShareKind::Directory => listing(&opened.file, MOST_READ).map(SharedContents::Directory),
    }
}

fn listing(dir: &File, most_read: usize) -> io::Result<DirectoryListing> {
    let (mut names, mut read, mut goes_on) = (Vec::new(), 0, false);
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let raw = entry.file_name();
        if matches!(raw.to_bytes(), b"." | b"..") || is_root_id_file(raw.to_bytes()) {
            continue;
        }
        if read == most_read {
            goes_on = true;
            break;
        }
        read += 1;
        let kind = match entry.file_type() {
            // Some file systems do not report the type here.
            FileType::Unknown => match statat(dir, raw, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        if let Some((is_file, size)) = listed_as(dir, raw, kind) {
            names.push((is_file, raw.to_owned(), size));
        }
    }
    names.sort_unstable();
    let others = names.len().saturating_sub(MOST_ENTRIES);
    names.truncate(MOST_ENTRIES);
    let entry = |(is_file, raw, size): (_, CString, _)| entry(dir, is_file, &raw, size);
    Ok(DirectoryListing { entries: names.into_iter().filter_map(entry).collect(), others, goes_on })
}

/// Whether an entry is shown as a file, and its size if it is known. None if it is not shown.
fn listed_as(dir: &File, raw: &CStr, kind: FileType) -> Option<(bool, Option<u64>)> {
    match kind {
        FileType::Directory => Some((false, None)),
        FileType::RegularFile => Some((true, None)),
        // As in the archive: a symlink to a file of the same directory is shown as that file.
        FileType::Symlink => {
            let opened = open_beneath(dir, raw.to_bytes()).ok()?;
            (opened.kind == ShareKind::File).then_some((true, Some(opened.metadata.len())))
        }
        _ => None,
    }
}

/// An entry for display. None if it no longer exists.
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
    fn directories_come_first_and_only_files_follow() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a"), b"xyz").unwrap();
        std::fs::create_dir(place.path().join("z")).unwrap();
        for (to, from) in [("a", "link"), ("z", "to-z"), ("absent", "nowhere"), ("/", "out")] {
            std::os::unix::fs::symlink(to, place.path().join(from)).unwrap();
        }
        let dir = File::open(place.path()).unwrap();
        let listing = listing(&dir, 6).unwrap();
        let entries: Vec<_> =
            listing.entries.iter().map(|entry| (&*entry.name, entry.size)).collect();
        assert_eq!(entries, [("z", None), ("a", Some(3)), ("link", Some(3))]);
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
        assert_eq!((some.entries.len(), some.goes_on), (19, true));
        let all = listing(&dir(), 20).unwrap();
        assert_eq!((all.entries.len(), all.goes_on), (20, false));
    }
}
