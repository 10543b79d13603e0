//! Moves on disks that cannot, or do not, do everything.

use std::fs;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, Result};

use super::disk::*;
use super::shared_dirs::*;
use super::shared_dirs_tests::{new_move, opened, place};
use crate::share_expiry::{MoveEnd, MoveRefused, NewMove};

/// A disk that does not know how to rename without overwriting, as NFS; and more that may fail.
#[derive(Debug, Default)]
struct FaultyFileSystem {
    links_nothing: AtomicBool,
    unlinks_nothing: AtomicBool,
    syncs_nothing: AtomicBool,
    /// The answer although it has unlinked the file.
    unlinks_and_fails: Mutex<Option<Errno>>,
    /// Whether another program takes the name at once that it has unlinked.
    taken_at_once: AtomicBool,
}

fn unless(fails: &AtomicBool, why: Errno) -> Result<()> {
    if fails.load(Ordering::SeqCst) { Err(why) } else { Ok(()) }
}

impl ShareFileSystem for FaultyFileSystem {
    fn rename(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> Result<()> {
        SystemFileSystem.rename(from, to)
    }

    fn rename_to_free(&self, _: NameInDirectory<'_>, _: NameInDirectory<'_>) -> Result<()> {
        Err(Errno::INVAL)
    }

    fn link(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> Result<()> {
        unless(&self.links_nothing, Errno::PERM)?;
        SystemFileSystem.link(from, to)
    }

    fn unlink(&self, at: NameInDirectory<'_>) -> Result<()> {
        unless(&self.unlinks_nothing, Errno::IO)?;
        SystemFileSystem.unlink(at)?;
        if self.taken_at_once.load(Ordering::SeqCst) {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
            openat(at.dir, at.name, flags, Mode::RUSR | Mode::WUSR)?;
        }
        self.unlinks_and_fails.lock().unwrap().map_or(Ok(()), Err)
    }

    fn sync(&self, dir: BorrowedFd<'_>) -> Result<()> {
        unless(&self.syncs_nothing, Errno::IO)?;
        SystemFileSystem.sync(dir)
    }
}

struct FaultyFileSystemFixture {
    _place: tempfile::TempDir,
    films: PathBuf,
    disk: Arc<FaultyFileSystem>,
    dirs: SharedDirs,
}

fn yard() -> FaultyFileSystemFixture {
    let place = tempfile::tempdir().unwrap();
    let films = place.path().join("films");
    fs::create_dir_all(films.join("dir/deep")).unwrap();
    fs::write(films.join("a"), b"a").unwrap();
    fs::write(films.join("b"), b"b").unwrap();
    let disk = Arc::<FaultyFileSystem>::default();
    let dirs = SharedDirs::new([opened("films", &films)]).on(disk.clone());
    FaultyFileSystemFixture { _place: place, films, disk, dirs }
}

impl FaultyFileSystemFixture {
    fn begun(&self, from: &str, to: &str) -> NewMove {
        let file = self.dirs.prepare(&place(from), &place(to), true).unwrap();
        new_move(from, to, file)
    }

    fn moved(&self, from: &str, to: &str, overwrite: bool) -> std::result::Result<(), NotMoved> {
        self.dirs.carry_out(&self.begun(from, to), overwrite, || true)
    }

    fn read(&self, at: &str) -> Option<String> {
        fs::read_to_string(self.films.join(at)).ok()
    }
}

fn refused(why: MoveRefused) -> std::result::Result<(), NotMoved> {
    Err(NotMoved::Refused(why))
}

#[test]
fn a_file_is_moved_without_overwriting_where_the_disk_cannot_rename_so() {
    let yard = yard();
    assert_eq!(yard.moved("films/a", "films/dir/c", false), Ok(()));
    assert_eq!((yard.read("a"), yard.read("dir/c")), (None, Some("a".to_owned())));
    assert_eq!(fs::metadata(yard.films.join("dir/c")).unwrap().nlink(), 1);
    assert_eq!(yard.moved("films/dir/c", "films/b", false), refused(MoveRefused::TargetExists));
    assert_eq!((yard.read("dir/c").as_deref(), yard.read("b").as_deref()), (Some("a"), Some("b")));
    assert_eq!(yard.moved("films/dir/c", "films/b", true), Ok(()));
    assert_eq!((yard.read("dir/c"), yard.read("b").as_deref()), (None, Some("a")));
}

#[test]
fn an_unsafe_rename_is_refused_and_leaves_the_files() {
    let yard = yard();
    let why = MoveRefused::NoSafeRename;
    assert_eq!(yard.moved("films/dir", "films/other", false), refused(why));
    assert!(yard.films.join("dir/deep").is_dir() && !yard.films.join("other").exists());
    assert!(why.to_string().contains("without possibly overwriting"));
    yard.disk.links_nothing.store(true, Ordering::SeqCst);
    assert_eq!(yard.moved("films/a", "films/c", false), refused(why));
    assert_eq!((yard.read("a").as_deref(), yard.read("c")), (Some("a"), None));
    assert_eq!(yard.moved("films/dir", "films/other", true), Ok(()));
}

#[test]
fn a_file_left_with_both_names_loses_the_old_one_later() {
    let yard = yard();
    yard.disk.unlinks_nothing.store(true, Ordering::SeqCst);
    let new = yard.begun("films/a", "films/c");
    let result = yard.dirs.carry_out(&new, false, || true);
    assert!(matches!(result, Err(NotMoved::Unsure(_))), "{result:?}");
    assert!(yard.dirs.move_outcome(&new).unwrap_err().contains("old name"));
    yard.disk.unlinks_nothing.store(false, Ordering::SeqCst);
    assert_eq!(yard.dirs.move_outcome(&new), Ok(MoveEnd::Moved));
    assert_eq!((yard.read("a"), yard.read("c").as_deref()), (None, Some("a")));
}

#[test]
fn an_old_name_reported_as_gone_is_gone() {
    let yard = yard();
    *yard.disk.unlinks_and_fails.lock().unwrap() = Some(Errno::NOENT);
    assert_eq!(yard.moved("films/a", "films/c", false), Ok(()));
    assert_eq!((yard.read("a"), yard.read("c").as_deref()), (None, Some("a")));
}

#[test]
fn the_last_name_of_a_file_is_never_taken_back() {
    for taken in [false, true] {
        let yard = yard();
        *yard.disk.unlinks_and_fails.lock().unwrap() = Some(Errno::IO);
        yard.disk.taken_at_once.store(taken, Ordering::SeqCst);
        let new = yard.begun("films/a", "films/c");
        let result = yard.dirs.carry_out(&new, false, || true);
        assert!(matches!(result, Err(NotMoved::Unsure(_))), "{result:?}");
        let others = taken.then(String::new);
        assert_eq!((yard.read("a"), yard.read("c").as_deref()), (others, Some("a")));
        assert_eq!(yard.dirs.move_outcome(&new), Ok(MoveEnd::Moved));
    }
}

#[test]
fn a_new_name_that_is_not_confirmed_is_left_until_it_is() {
    let yard = yard();
    yard.disk.syncs_nothing.store(true, Ordering::SeqCst);
    let new = yard.begun("films/a", "films/c");
    let result = yard.dirs.carry_out(&new, false, || true);
    assert!(matches!(result, Err(NotMoved::Unsure(_))), "{result:?}");
    assert_eq!((yard.read("a").as_deref(), yard.read("c").as_deref()), (Some("a"), Some("a")));
    yard.disk.syncs_nothing.store(false, Ordering::SeqCst);
    assert_eq!(yard.dirs.move_outcome(&new), Ok(MoveEnd::Moved));
    assert_eq!((yard.read("a"), yard.read("c").as_deref()), (None, Some("a")));
}

#[test]
fn a_move_without_disk_confirmation_is_not_reported_as_done() {
    let yard = yard();
    yard.disk.syncs_nothing.store(true, Ordering::SeqCst);
    let new = yard.begun("films/dir", "films/other");
    let result = yard.dirs.carry_out(&new, true, || true);
    assert!(matches!(&result, Err(NotMoved::Unsure(why)) if why.contains("confirm")), "{result:?}");
    assert!(yard.dirs.move_outcome(&new).is_err());
    yard.disk.syncs_nothing.store(false, Ordering::SeqCst);
    assert_eq!(yard.dirs.move_outcome(&new), Ok(MoveEnd::Moved));
}

#[test]
fn a_node_that_leads_no_longer_touches_nothing() {
    let yard = yard();
    let new = yard.begun("films/a", "films/c");
    assert_eq!(yard.dirs.carry_out(&new, false, || false), Err(NotMoved::Deposed));
    assert_eq!((yard.read("a").as_deref(), yard.read("c")), (Some("a"), None));
}
