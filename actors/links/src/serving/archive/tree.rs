//! Selects the entries of a directory for its archive, and their names.
//!
//! Files and directories are included. A symlink to a file in the same shared directory is included
//! as that file. All other symlinks, devices, sockets and pipes are left out.
//!
//! The archive has the state at its start. All entries are listed first, at a moment without
//! changes, and a missing entry later aborts the walk. If entries were listed during the walk, a
//! file that moves from an unvisited to a visited directory would be missing without notice. Later
//! additions are left out.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use reelyard_shares::share_expiry::ShareKind;
use reelyard_shares::share_files::is_root_id_file;
use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use super::listed::ListedDirectory;
use crate::access::roots::{NotOpened, OpenedShare, open_beneath};

/// Largest nesting of directories. Each level needs a file descriptor while its entries are read.
const DEEPEST: usize = 128;

/// Largest length of a path in an archive, in bytes: ZIP stores the length in 16 bits.
const LONGEST_PATH: usize = u16::MAX as usize;

/// Largest number of listings if entries change meanwhile.
const LISTINGS: usize = 8;

/// Receives the entries of an archive: each directory before its contents.
pub(super) trait ArchiveVisitor {
    /// Called during the listing, before any entry is visited.
    ///
    /// # Errors
    ///
    /// The client has left.
    fn goes_on(&self) -> io::Result<()>;

    /// Visits a directory with this name in the archive.
    fn directory(&mut self, dir: &File, name: &str) -> io::Result<()>;

    /// Visits a file with this name in the archive.
    fn file(&mut self, opened: &OpenedShare, name: &str) -> io::Result<()>;
}

/// Why no archive of a directory is possible.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoArchive {
    /// An entry cannot be read. An archive without it would look complete.
    #[error("\"{name}\" cannot be read: {why}")]
    Unreadable {
        /// Path of the entry in the archive.
        name: String,
        /// Why it was not opened.
        why: NotOpened,
    },
    /// An entry was moved or removed meanwhile. The archive would have a state that never existed.
    #[error("\"{name}\" was changed, moved or removed during the download")]
    Changed {
        /// Path of the entry in the archive.
        name: String,
    },
    /// The nesting exceeds [`DEEPEST`].
    #[error("the directories are nested too deeply")]
    TooDeep,
    /// A path exceeds [`LONGEST_PATH`].
    #[error("a path in it is too long")]
    TooLong,
    /// The visitor failed, for example because the client has left.
    #[error(transparent)]
    Failed(#[from] io::Error),
}

impl NoArchive {
    /// The text for visitors of the link, without details of the system.
    pub(crate) fn in_words(&self) -> String {
        match self {
            NoArchive::Unreadable { name, .. } => format!("\"{name}\" cannot be read"),
            NoArchive::Changed { .. } | NoArchive::TooDeep | NoArchive::TooLong => self.to_string(),
            NoArchive::Failed(_) => "the directory cannot be read".to_owned(),
        }
    }
}

/// One entry of the archive.
struct ArchiveEntry {
    /// Name on disk, as bytes.
    raw: Vec<u8>,
    /// Name in the archive.
    name: String,
    kind: ArchiveEntryKind,
}

/// The kind of an entry when it was listed.
enum ArchiveEntryKind {
    File,
    Symlink,
    /// A directory with its entries for the archive.
    Directory(Vec<ArchiveEntry>),
}

/// Visits everything that belongs into the archive of the directory `top` with the name `name`.
pub(super) fn walk(
    top: &File,
    name: &str,
    visitor: &mut impl ArchiveVisitor,
) -> Result<(), NoArchive> {
    let name = archive_name(name.as_bytes());
    let entries = list(top, &name, visitor)?;
    Walk { top, visitor }.directory(top, b"", &name, &entries)
}

/// Lists everything below `top` at one consistent moment.
fn list(
    top: &File,
    name: &str,
    visitor: &impl ArchiveVisitor,
) -> Result<Vec<ArchiveEntry>, NoArchive> {
    let mut again = 1..LISTINGS;
    loop {
        let mut listing = ArchiveListing { visitor, listed: Vec::new() };
        let listed = listing.directory(top, b"", name, 0);
        let changed = match &listed {
            Ok(_) => listing.listed.iter().find(|listed| listed.has_changed(top)),
            Err(NoArchive::Changed { .. }) if again.next().is_some() => continue,
            Err(_) => None,
        };
        match changed {
            None => return listed,
            Some(_) if again.next().is_some() => {}
            Some(changed) => {
                let below = archive_name(&changed.path);
                return Err(NoArchive::Changed { name: format!("{name}/{below}") });
            }
        }
    }
}

struct ArchiveListing<'l, V> {
    visitor: &'l V,
    listed: Vec<ListedDirectory>,
}

impl<V: ArchiveVisitor> ArchiveListing<'_, V> {
    /// Lists a directory recursively. It is at `path` below the top directory and is called `name`
    /// in the archive.
    fn directory(
        &mut self,
        dir: &File,
        path: &[u8],
        name: &str,
        depth: usize,
    ) -> Result<Vec<ArchiveEntry>, NoArchive> {
        if depth > DEEPEST {
            return Err(NoArchive::TooDeep);
        }
        // The archive adds a slash to it.
        if name.len() >= LONGEST_PATH {
            return Err(NoArchive::TooLong);
        }
        self.visitor.goes_on()?;
        let failed = |error| unreadable(name, NotOpened::Failed(error));
        self.listed.push(ListedDirectory::now(dir, path).map_err(failed)?);
        let mut entries = entries(dir).map_err(failed)?;
        for entry in &mut entries {
            let path = below(path, entry);
            let ArchiveEntryKind::Directory(within) = &mut entry.kind else { continue };
            let name = format!("{name}/{}", entry.name);
            *within = match open_beneath(dir, &entry.raw) {
                Ok(opened) if opened.kind == ShareKind::Directory => {
                    self.directory(&opened.file, &path, &name, depth + 1)?
                }
                Ok(_) | Err(NotOpened::Absent) => return Err(NoArchive::Changed { name }),
                Err(why) => return Err(unreadable(&name, why)),
            };
        }
        Ok(entries)
    }
}

fn unreadable(name: &str, why: NotOpened) -> NoArchive {
    NoArchive::Unreadable { name: name.to_owned(), why }
}

struct Walk<'w, V> {
    top: &'w File,
    visitor: &'w mut V,
}

impl<V: ArchiveVisitor> Walk<'_, V> {
    /// Visits the listed entries of a directory.
    fn directory(
        &mut self,
        dir: &File,
        path: &[u8],
        name: &str,
        entries: &[ArchiveEntry],
    ) -> Result<(), NoArchive> {
        self.visitor.directory(dir, name)?;
        for entry in entries {
            let name = format!("{name}/{}", entry.name);
            let opened = match open(self.top, dir, path, entry) {
                Ok(Some(opened)) => opened,
                Ok(None) => continue,
                Err(NotOpened::Absent) => return Err(NoArchive::Changed { name }),
                Err(why) => return Err(unreadable(&name, why)),
            };
            match (opened.kind, &entry.kind) {
                (ShareKind::Directory, ArchiveEntryKind::Directory(within)) => {
                    self.directory(&opened.file, &below(path, entry), &name, within)?;
                }
                (ShareKind::File, ArchiveEntryKind::File | ArchiveEntryKind::Symlink)
                    if name.len() > LONGEST_PATH =>
                {
                    return Err(NoArchive::TooLong);
                }
                (ShareKind::File, ArchiveEntryKind::File | ArchiveEntryKind::Symlink) => {
                    self.visitor.file(&opened, &name)?;
                }
                _ => return Err(NoArchive::Changed { name }),
            }
        }
        Ok(())
    }
}

/// The entries of `dir`, sorted by name.
fn entries(dir: &File) -> io::Result<Vec<ArchiveEntry>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let raw = entry.file_name().to_bytes();
        if matches!(raw, b"." | b"..") || is_root_id_file(raw) {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not report the type here.
            FileType::Unknown => match statat(dir, raw, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                // The entry no longer exists. Opening it later reports that.
                Err(Errno::NOENT) => FileType::RegularFile,
                Err(error) => return Err(error.into()),
            },
            kind => kind,
        };
        let kind = match kind {
            FileType::RegularFile => ArchiveEntryKind::File,
            FileType::Symlink => ArchiveEntryKind::Symlink,
            FileType::Directory => ArchiveEntryKind::Directory(Vec::new()),
            _ => continue,
        };
        found.push((raw.to_vec(), kind));
    }
    found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    let mut names = HashSet::new();
    let entry = |(raw, kind): (Vec<u8>, ArchiveEntryKind)| {
        let name = unique(archive_name(&raw), &mut names);
        ArchiveEntry { raw, name, kind }
    };
    Ok(found.into_iter().map(entry).collect())
}

/// Opens an entry of `dir`, which is at `path` below `top`. None if it does not belong into the
/// archive.
fn open(
    top: &File,
    dir: &File,
    path: &[u8],
    entry: &ArchiveEntry,
) -> Result<Option<OpenedShare>, NotOpened> {
    let is_symlink = matches!(entry.kind, ArchiveEntryKind::Symlink);
    let opened = if is_symlink {
        open_beneath(top, &below(path, entry))
    } else {
        open_beneath(dir, &entry.raw)
    };
    match opened {
        // A symlink to a directory could form a loop.
        Ok(opened) if is_symlink && opened.kind == ShareKind::Directory => Ok(None),
        Ok(opened) => Ok(Some(opened)),
        // The symlink is broken, or no longer exists.
        Err(NotOpened::Absent) if is_symlink => Ok(None),
        Err(NotOpened::Outside | NotOpened::Special) => Ok(None),
        Err(why) => Err(why),
    }
}

/// The path on disk of an entry of the directory at `path`.
fn below(path: &[u8], entry: &ArchiveEntry) -> Vec<u8> {
    let mut below = path.to_vec();
    if !below.is_empty() {
        below.push(b'/');
    }
    below.extend_from_slice(&entry.raw);
    below
}

/// Makes a name valid on every system: UTF-8, without characters that a system reads as a
/// separator, a drive or a command.
fn archive_name(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let is_safe = |c: char| !c.is_control() && !matches!(c, '\\' | ':');
    text.chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
}

/// Makes a name unique, because different names on disk must stay different in the archive.
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
    fn symlinks_out_of_the_directory_are_left_out() {
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
