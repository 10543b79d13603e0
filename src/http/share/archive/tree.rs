//! What of a directory goes into its archive, and under which names.
//!
//! Files and directories do. A symlink does if it leads to a file in the same shared directory,
//! as that file; where it leads elsewhere, or to a directory, it is left out, as are devices,
//! sockets and pipes.
//!
//! What goes in is what was there when it was begun: all of it is listed first, at a moment at which
//! nothing came or went, and what is gone when it is opened ends the walk. Listed on the way, what is
//! moved from a directory still to come to one that was passed would silently be in no archive. What is
//! added later is in none, and disturbs none.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use reelyard_actors::share_expiry::ShareKind;
use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use super::listed::ListedDirectory;
use crate::http::share::roots::{NotOpened, OpenedShare, open_beneath};

/// Directories in one another. Each holds a descriptor while its entries are looked at.
const DEEPEST: usize = 128;

/// The longest path in an archive, in bytes: its length has 16 bits there.
const LONGEST_PATH: usize = u16::MAX as usize;

/// How often all is listed anew because something came or went meanwhile.
const LISTINGS: usize = 8;

/// Who is shown what goes into an archive: each directory, and after it what is in it.
pub(super) trait ArchiveVisitor {
    /// Asked while nothing is shown yet.
    ///
    /// # Errors
    /// Nobody wants it any more.
    fn goes_on(&self) -> io::Result<()>;

    /// A directory, called `name` in the archive.
    fn directory(&mut self, dir: &File, name: &str) -> io::Result<()>;

    /// A file, called `name` in the archive.
    fn file(&mut self, opened: &OpenedShare, name: &str) -> io::Result<()>;
}

/// Why a directory cannot be an archive.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoArchive {
    /// Something in it cannot be read. Leaving it out would pass for an archive of all there is.
    #[error("\"{name}\" cannot be read: {why}")]
    Unreadable {
        /// Its path in the archive.
        name: String,
        /// Why not.
        why: NotOpened,
    },
    /// Something in it was moved or removed meanwhile. What there was at no moment would pass for an
    /// archive of all there is.
    #[error("\"{name}\" was changed, moved or removed during the download")]
    Changed {
        /// Its path in the archive.
        name: String,
    },
    /// It goes on too far.
    #[error("the directories are nested too deeply")]
    TooDeep,
    /// A path in it is longer than an archive can have.
    #[error("a path in it is too long")]
    TooLong,
    /// Whoever was shown it cannot go on.
    #[error(transparent)]
    Failed(#[from] io::Error),
}

impl NoArchive {
    /// The same to whoever has the link: what the system says of its disks is not for them.
    pub(super) fn in_words(&self) -> String {
        match self {
            NoArchive::Unreadable { name, .. } => format!("\"{name}\" cannot be read"),
            NoArchive::Changed { .. } | NoArchive::TooDeep | NoArchive::TooLong => self.to_string(),
            NoArchive::Failed(_) => "the directory cannot be read".to_owned(),
        }
    }
}

/// One entry of a directory that goes into the archive.
struct ArchiveEntry {
    /// Its name as on disk.
    raw: Vec<u8>,
    /// Its name in the archive.
    name: String,
    kind: ArchiveEntryKind,
}

/// What an entry was when it was listed.
enum ArchiveEntryKind {
    File,
    Symlink,
    /// With what goes into the archive of it.
    Directory(Vec<ArchiveEntry>),
}

/// Shows `visitor` all that goes into the archive of the directory `top`, called `name`.
pub(super) fn walk(
    top: &File,
    name: &str,
    visitor: &mut impl ArchiveVisitor,
) -> Result<(), NoArchive> {
    let name = archive_name(name.as_bytes());
    let entries = list(top, &name, visitor)?;
    Walk { top, visitor }.directory(top, b"", &name, &entries)
}

/// All that is below `top` at one moment.
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
    /// Lists a directory and all below it, which is at `path` below the top and `name` in the archive.
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
        // In an archive it ends with a slash.
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
    /// Goes through what was listed of a directory.
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

/// The entries of `dir` by name.
fn entries(dir: &File) -> io::Result<Vec<ArchiveEntry>> {
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
                // Whoever opens it finds that it is gone.
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

/// Opens an entry of `dir`, which is at `path` below `top`. None when it does not belong into the
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
        // A symlink to a directory could lead round in circles.
        Ok(opened) if is_symlink && opened.kind == ShareKind::Directory => Ok(None),
        Ok(opened) => Ok(Some(opened)),
        // It leads nowhere, or is gone itself.
        Err(NotOpened::Absent) if is_symlink => Ok(None),
        Err(NotOpened::Outside | NotOpened::Special) => Ok(None),
        Err(why) => Err(why),
    }
}

/// The path of an entry of the directory at `path`, as on disk.
fn below(path: &[u8], entry: &ArchiveEntry) -> Vec<u8> {
    let mut below = path.to_vec();
    if !below.is_empty() {
        below.push(b'/');
    }
    below.extend_from_slice(&entry.raw);
    below
}

/// A name as every system that opens the archive can have it: UTF-8, and nothing that one of them
/// takes for a separator, a drive or a command.
fn archive_name(raw: &[u8]) -> String {
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
