//! The source directories on disk: listings of all names, and checks of single masters.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reelyard_core::clock::Millis;
use reelyard_core::names::{FileName, NameTable};
use roaring::RoaringBitmap;

use super::masters::Masters;
use crate::catalog::messages::MasterLook;
use crate::catalog::settings::CatalogSettings;
use crate::catalog::single_flight::{InputReader, LookProgress};
use crate::catalog::views::{CatalogInputState, NoticedBy, SourceDirView, SourceDirsView};
use crate::catalog::watch::{ChangeNotifier, InputWatch, WatchTarget};
use tokio::time::Instant;

/// The least age of a directory at its listing for its time to be trusted. Two changes within one tick of a
/// file system's clock leave the same time.
const SURE_AFTER: Duration = Duration::from_secs(2);

/// A directory with more files than this rests after a listing, however often it changes.
const LONG: u64 = 100_000;

/// The rest, in multiples of the time for its listing.
const RESTS: u32 = 9;

/// How many names are interned under one lock.
const BATCH: usize = 4096;

/// All source directories and their last listings.
#[derive(Debug)]
pub struct SourceDirs {
    names: NameTable,
    relist_interval: Duration,
    dirs: Vec<SourceDir>,
    /// The masters as last reported; none before the first check.
    masters: Option<Arc<Masters>>,
    watch: InputWatch,
    progress: LookProgress,
}

#[derive(Debug)]
struct SourceDir {
    path: Arc<str>,
    /// Their names are not forgotten while it lives.
    files: Arc<RoaringBitmap>,
    /// The directory's modification time at its last listing; none if an equal time would prove nothing.
    modified: Option<SystemTime>,
    /// The directory's time as this process sees it, and since when.
    seen: Option<(SystemTime, Millis)>,
    listed_at: Option<Millis>,
    good_at: Option<Millis>,
    /// When the last listing ended and how long it took, by the timers of the runtime.
    took: Option<(Instant, Duration)>,
    noticed_by: Option<NoticedBy>,
    state: CatalogInputState,
}

/// The result of a check of the directories.
#[derive(Debug)]
pub struct SourceDirsLook {
    /// The masters, if they changed.
    pub changed: Option<Arc<Masters>>,
    /// The state of the directories.
    pub view: SourceDirsView,
    /// How often the kernel dropped change notifications because its queue was full.
    pub overflows: u64,
}

impl SourceDirs {
    /// The directories of `settings`, not listed yet.
    pub fn new(settings: &CatalogSettings, names: NameTable) -> Self {
        let unlisted = |path: &Arc<str>| SourceDir {
            path: Arc::clone(path),
            files: Arc::default(),
            modified: None,
            seen: None,
            listed_at: None,
            good_at: None,
            took: None,
            noticed_by: None,
            state: CatalogInputState::NotRead,
        };
        SourceDirs {
            names,
            relist_interval: settings.relist_interval,
            dirs: settings.source_dirs.iter().map(unlisted).collect(),
            masters: None,
            watch: InputWatch::default(),
            progress: LookProgress::default(),
        }
    }

    fn update_watches(&mut self) {
        let dirs: Vec<Arc<str>> = self.dirs.iter().map(|dir| Arc::clone(&dir.path)).collect();
        let sought: Vec<WatchTarget<'_>> =
            dirs.iter().map(|dir| WatchTarget::Listing(Path::new(&**dir))).collect();
        let noticed_by = self.watch.set_targets(&sought).noticed_by;
        for (dir, by) in self.dirs.iter_mut().zip(noticed_by) {
            dir.noticed_by = Some(by);
        }
    }

    fn masters(&self) -> Masters {
        let mut masters = Masters::default();
        for dir in &self.dirs {
            masters.files |= &*dir.files;
            if self.dirs.len() > 1 {
                masters.by_dir.push((dir.path.to_string(), Arc::clone(&dir.files)));
            }
            if let Some(problem) = dir.state.problem() {
                masters.unlisted.push((dir.path.to_string(), problem));
            }
        }
        masters
    }

    /// The masters, if they changed. `is_same` says that no directory was listed and none has another state:
    /// looks are frequent, and a million names take time to compare.
    fn changed_masters(&mut self, is_same: bool) -> Option<Arc<Masters>> {
        if is_same && self.masters.is_some() {
            return None;
        }
        let masters = self.masters();
        let changed = (self.masters.as_deref() != Some(&masters)).then(|| Arc::new(masters))?;
        self.masters = Some(Arc::clone(&changed));
        Some(changed)
    }

    fn view(&self, masters: u64) -> SourceDirsView {
        let view = |dir: &SourceDir| SourceDirView {
            path: dir.path.to_string(),
            state: dir.state.clone(),
            listed_at: dir.listed_at,
            good_at: dir.good_at,
            files: dir.files.len(),
            noticed_by: dir.noticed_by.clone(),
        };
        SourceDirsView { dirs: self.dirs.iter().map(view).collect(), masters }
    }
}

impl InputReader for SourceDirs {
    type Found = SourceDirsLook;

    fn watch(&mut self, notifier: ChangeNotifier) {
        self.watch = InputWatch::with_notifier(notifier);
    }

    fn look(&mut self, now: Millis) -> SourceDirsLook {
        self.update_watches();
        let mut is_same = true;
        for dir in &mut self.dirs {
            let (files, state) = (Arc::clone(&dir.files), dir.state.clone());
            self.progress.advance();
            dir.look(now, self.relist_interval, &self.names, &self.progress);
            is_same &= Arc::ptr_eq(&files, &dir.files) && state == dir.state;
        }
        let changed = self.changed_masters(is_same);
        let count = self.masters.as_ref().map_or(0, |masters| masters.files.len());
        let overflows = self.watch.overflows();
        SourceDirsLook { changed, view: self.view(count), overflows }
    }

    fn progress(&self) -> LookProgress {
        self.progress.clone()
    }
}

impl SourceDir {
    fn look(
        &mut self,
        now: Millis,
        relist_interval: Duration,
        names: &NameTable,
        progress: &LookProgress,
    ) {
        let looked = fs::metadata(&*self.path).and_then(|metadata| metadata.modified());
        let modified = match looked {
            Ok(modified) => modified,
            Err(error) => return self.fail(&error),
        };
        if self.seen.is_none_or(|(seen, _)| seen != modified) {
            self.seen = Some((modified, now));
        }
        let is_recent = self.listed_at.is_some_and(|at| now.since(at) < relist_interval);
        if self.state == CatalogInputState::Ok {
            if is_recent && self.modified == Some(modified) {
                self.good_at = Some(now);
                return;
            }
            if self.is_resting() {
                return;
            }
        }
        let (begun, started) = (SystemTime::now(), Instant::now());
        let _pin = names.pin();
        match list(Path::new(&*self.path), names, progress) {
            Err(error) => self.fail(&error),
            Ok(files) => {
                let age = begun.duration_since(modified);
                // This also holds if its time is far ahead, because a later change changes it.
                let was_seen = self.seen.is_some_and(|(_, since)| now.since(since) >= SURE_AFTER);
                let is_sure = was_seen || age.is_ok_and(|age| age >= SURE_AFTER);
                self.files = Arc::new(files);
                names.keep(&self.files);
                self.modified = is_sure.then_some(modified);
                self.listed_at = Some(now);
                self.good_at = Some(now);
                self.took = Some((Instant::now(), started.elapsed()));
                self.state = CatalogInputState::Ok;
            }
        }
    }

    /// Whether it is too early to list a long directory again.
    fn is_resting(&self) -> bool {
        self.files.len() > LONG
            && self.took.is_some_and(|(ended, took)| ended.elapsed() < took * RESTS)
    }

    fn fail(&mut self, error: &io::Error) {
        self.state = CatalogInputState::of_error(error);
    }
}

/// The names in `dir` of everything but directories.
fn list(dir: &Path, names: &NameTable, progress: &LookProgress) -> io::Result<RoaringBitmap> {
    let mut files = RoaringBitmap::new();
    let mut batch = Vec::with_capacity(BATCH);
    let mut flush = |batch: &mut Vec<_>| {
        progress.advance();
        let mut interning = names.interner();
        for name in batch.drain(..) {
            let name: std::ffi::OsString = name;
            // Every name in a directory list is valid; a file with another name could not be opened.
            files.extend(interning.intern(name.as_bytes()).ok().map(|file| file.0));
        }
    };
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if is_master(&entry)? {
            batch.push(entry.file_name());
        }
        if batch.len() == BATCH {
            flush(&mut batch);
        }
    }
    flush(&mut batch);
    Ok(files)
}

/// Every existing entry except directories. Links are followed; a link without a target is no master.
fn is_master(entry: &DirEntry) -> io::Result<bool> {
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return Ok(fs::metadata(entry.path()).is_ok_and(|found| !found.is_dir()));
    }
    Ok(!kind.is_dir())
}

/// Looks for `name` in `dirs`, in order, on the disk. Only a regular file is a master that can be copied;
/// links are followed.
pub fn look_up_master(dirs: &[Arc<str>], name: &FileName) -> MasterLook {
    let name = OsStr::from_bytes(name.as_bytes());
    let mut all_answered = true;
    for dir in dirs {
        let path = Path::new(&**dir);
        match fs::metadata(path.join(name)) {
            Ok(found) if found.is_file() => {
                let modified = found.modified().map(Millis::from).unwrap_or_default();
                return MasterLook::Found { dir: Arc::clone(dir), size: found.len(), modified };
            }
            Ok(_) => {}
            // If the directory itself is missing, for example without its mount, every name is missing. That
            // proves nothing.
            Err(error) if is_absence(&error) => all_answered &= path.is_dir(),
            Err(_) => all_answered = false,
        }
    }
    if all_answered { MasterLook::Absent } else { MasterLook::Unknown }
}

/// Whether an error proves that the file does not exist. This also holds if the file system cannot store such
/// a name. Other errors prove nothing.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use reelyard_core::names::FileId;

    use super::*;

    fn text(path: &Path) -> Arc<str> {
        path.to_str().unwrap().into()
    }

    fn name(text: &str) -> FileName {
        FileName::new(text).unwrap()
    }

    #[test]
    fn the_first_directory_with_the_file_wins_and_directories_do_not_count() {
        let root = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| root.path().join(name));
        fs::create_dir_all(one.join("A")).unwrap();
        fs::create_dir(&two).unwrap();
        fs::write(two.join("A"), "four").unwrap();
        fs::write(one.join("B"), "1").unwrap();
        fs::write(two.join("B"), "22").unwrap();
        symlink("B", one.join("link")).unwrap();
        symlink("nowhere", one.join("broken")).unwrap();
        symlink("A", one.join("to-dir")).unwrap();

        let dirs = [text(&one), text(&two)];
        let found = |name: &FileName| match look_up_master(&dirs, name) {
            MasterLook::Found { dir, size, .. } => Some((dir, size)),
            MasterLook::Absent => None,
            MasterLook::Unknown => panic!("both directories can be looked at"),
        };
        assert_eq!(found(&name("A")), Some((dirs[1].clone(), 4)));
        assert_eq!(found(&name("B")), Some((dirs[0].clone(), 1)));
        assert_eq!(found(&name("link")), Some((dirs[0].clone(), 1)));
        assert_eq!(["broken", "to-dir", "C"].map(|text| found(&name(text))), [None, None, None]);

        let names = NameTable::new();
        let listed = list(&one, &names, &LookProgress::default()).unwrap();
        let mut listed: Vec<String> =
            listed.iter().map(|id| names.name(FileId(id)).to_string()).collect();
        listed.sort();
        assert_eq!(listed, ["B", "link"]);
    }

    #[test]
    fn a_time_in_the_future_is_trusted_after_a_while() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let touch = |time| fs::File::open(dir).unwrap().set_modified(time).unwrap();
        touch(SystemTime::now() + Duration::from_secs(3600));
        let source_dirs = vec![text(dir)];
        let settings = CatalogSettings { source_dirs, ..CatalogSettings::default() };
        let mut dirs = SourceDirs::new(&settings, NameTable::new());
        let mut is_trusted = |second| {
            dirs.look(Millis(0).after(Duration::from_secs(second)));
            dirs.dirs[0].modified.is_some()
        };
        assert_eq!([1, 2, 3].map(&mut is_trusted), [false, false, true]);
        fs::write(dir.join("A"), "").unwrap();
        dirs.look(Millis(4000));
        assert_eq!(dirs.masters.unwrap().files.len(), 1);
    }

    #[test]
    fn in_a_directory_that_is_gone_nothing_is_known() {
        let root = tempfile::tempdir().unwrap();
        let here = text(root.path());
        let gone = text(&root.path().join("gone"));
        fs::write(root.path().join("A"), "").unwrap();
        let dirs = [gone, here];
        assert!(matches!(look_up_master(&dirs, &name("A")), MasterLook::Found { .. }));
        assert_eq!(look_up_master(&dirs, &name("B")), MasterLook::Unknown);
        assert_eq!(look_up_master(&dirs[1..], &name("B")), MasterLook::Absent);
    }
}
