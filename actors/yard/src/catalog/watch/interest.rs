//! The relevant changes in watched directories. Pure.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use notify::EventKind;
use notify::event::{ModifyKind, RenameMode};

/// The paths with relevant changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Entries: every change of them is relevant.
    entries: HashSet<PathBuf>,
    /// Directories: changes of their names are relevant.
    listings: HashSet<PathBuf>,
    /// Directories, each with a prefix: every change of an entry with this prefix is relevant.
    prefixed: Vec<(PathBuf, &'static str)>,
}

/// The significance of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It is of no interest.
    None,
    /// An input must be checked.
    Changed,
    /// The entry is being written, or was truncated: it may be incomplete.
    Written,
    /// The entry was renamed into place, so it is complete.
    Replaced,
}

impl Interest {
    /// Makes every change of this entry relevant.
    pub fn add_entry(&mut self, entry: PathBuf) {
        self.entries.insert(entry);
    }

    /// Makes changes of the names in `dir` relevant.
    pub fn add_listing(&mut self, dir: PathBuf) {
        self.listings.insert(dir);
    }

    /// Makes every change of entries in `dir` relevant whose names begin with `prefix`.
    pub fn add_prefixed(&mut self, dir: PathBuf, prefix: &'static str) {
        self.prefixed.push((dir, prefix));
    }

    /// The directories to be watched for all that.
    pub fn dirs(&self) -> BTreeSet<PathBuf> {
        let parents = self.entries.iter().filter_map(|entry| entry.parent());
        let prefixed = self.prefixed.iter().map(|(dir, _)| dir.as_path());
        let listings = self.listings.iter().map(PathBuf::as_path);
        parents.chain(prefixed).chain(listings).map(Path::to_owned).collect()
    }

    /// The significance of the event `kind` on `path`.
    pub fn weigh(&self, kind: &EventKind, path: &Path) -> Weight {
        let is_naming = match kind {
            // The kernel also reports reads of this process.
            EventKind::Access(_) => return Weight::None,
            EventKind::Modify(ModifyKind::Name(_)) | EventKind::Create(_) => true,
            EventKind::Remove(_) => true,
            EventKind::Modify(_) => false,
            EventKind::Any | EventKind::Other => true,
        };
        if self.entries.contains(path) {
            return match kind {
                EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Weight::Replaced,
                EventKind::Modify(ModifyKind::Name(_) | ModifyKind::Metadata(_)) => Weight::Changed,
                EventKind::Remove(_) => Weight::Changed,
                _ => Weight::Written,
            };
        }
        let Some(dir) = path.parent() else { return Weight::None };
        let is_listed = is_naming && self.listings.contains(dir);
        let is_prefixed = || {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            self.prefixed
                .iter()
                .any(|(of, prefix)| of == dir && name.starts_with(prefix.as_bytes()))
        };
        if is_listed || is_prefixed() { Weight::Changed } else { Weight::None }
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, RemoveKind};

    use super::*;

    const MOVED_ONTO: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::To));
    const MOVED_AWAY: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::From));
    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const CREATED: EventKind = EventKind::Create(CreateKind::File);
    const REMOVED: EventKind = EventKind::Remove(RemoveKind::File);
    const OPENED: EventKind = EventKind::Access(AccessKind::Open(AccessMode::Any));

    #[test]
    fn only_events_of_watched_paths_matter() {
        let mut interest = Interest::default();
        interest.add_entry("/in/grade".into());
        interest.add_listing("/masters".into());
        interest.add_prefixed("/logs".into(), "EventLog[");
        let weigh = |kind: EventKind, path: &str| interest.weigh(&kind, Path::new(path));

        assert_eq!(weigh(MOVED_ONTO, "/in/grade"), Weight::Replaced);
        for kind in [WRITTEN, CREATED] {
            assert_eq!(weigh(kind, "/in/grade"), Weight::Written, "{kind:?}");
        }
        // The kernel also reports this for a directory that was itself moved to its place.
        for kind in [MOVED_AWAY, REMOVED] {
            assert_eq!(weigh(kind, "/in/grade"), Weight::Changed, "{kind:?}");
        }
        for kind in [MOVED_AWAY, WRITTEN, CREATED, REMOVED] {
            assert_eq!(weigh(kind, "/in/grade.new"), Weight::None, "{kind:?}");
            assert_eq!(weigh(kind, "/logs/EventLog[20180603].log"), Weight::Changed, "{kind:?}");
            assert_eq!(weigh(kind, "/logs/other"), Weight::None, "{kind:?}");
        }
        assert_eq!(weigh(CREATED, "/masters/a.mpg"), Weight::Changed);
        // A master that is being written changes no listing.
        assert_eq!(weigh(WRITTEN, "/masters/a.mpg"), Weight::None);
        assert_eq!(weigh(OPENED, "/in/grade"), Weight::None);
        let dirs: Vec<_> = interest.dirs().into_iter().collect();
        assert_eq!(dirs, ["/in", "/logs", "/masters"].map(PathBuf::from));
    }
}
