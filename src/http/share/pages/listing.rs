//! What a page shows of what is shared. Blocks on the disk.

use std::fs::{File, Metadata};
use std::io;

use reelyard_actors::share_expiry::ShareKind;
use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::http::share::roots::Opened;

/// Entries of a directory that are shown.
const MOST_SHOWN: usize = 500;

/// What is shared, as its page shows it.
pub(super) enum Contents {
    /// A file of so many bytes.
    File(u64),
    /// A directory.
    Directory(Listing),
}

/// The entries of a directory.
#[derive(Default)]
pub(super) struct Listing {
    /// The first of them, directories before files, each by name.
    pub(super) shown: Vec<Entry>,
    /// How many there are besides.
    pub(super) others: usize,
}

/// One entry of a directory.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    is_file: bool,
    /// Its name.
    pub(super) name: String,
    /// Of a file, its bytes.
    pub(super) size: Option<u64>,
}

/// Looks at what was opened.
pub(super) fn contents(opened: &Opened) -> io::Result<Contents> {
    match opened.kind {
        ShareKind::File => Ok(Contents::File(Metadata::len(&opened.metadata))),
        ShareKind::Directory => listing(&opened.file).map(Contents::Directory),
    }
}

fn listing(dir: &File) -> io::Result<Listing> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let raw = entry.file_name();
        if matches!(raw.to_bytes(), b"." | b"..") {
            continue;
        }
        // Where a symlink leads is for the archive to see.
        let Ok(stat) = statat(dir, raw, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_file = kind == FileType::RegularFile;
        if is_file || kind == FileType::Directory {
            let name = String::from_utf8_lossy(raw.to_bytes()).into_owned();
            let size = is_file.then(|| u64::try_from(stat.st_size).unwrap_or(0));
            entries.push(Entry { is_file, name, size });
        }
    }
    entries.sort_unstable();
    let others = entries.len().saturating_sub(MOST_SHOWN);
    entries.truncate(MOST_SHOWN);
    Ok(Listing { shown: entries, others })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_come_first_and_what_is_neither_is_not_shown() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a"), b"xyz").unwrap();
        std::fs::create_dir(place.path().join("z")).unwrap();
        std::os::unix::fs::symlink("a", place.path().join("link")).unwrap();
        let listing = listing(&File::open(place.path()).unwrap()).unwrap();
        let shown: Vec<_> = listing.shown.iter().map(|entry| (&*entry.name, entry.size)).collect();
        assert_eq!(shown, [("z", None), ("a", Some(3))]);
        assert_eq!(listing.others, 0);
    }
}
