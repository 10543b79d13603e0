//! Roots that become other directories, on a real disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;

use super::open_roots::RootUnreachable;
use super::root_id_file::{self, ROOT_ID_FILE};
use super::shared_dirs::*;
use super::shared_dirs_tests::{new_move, opened, place};
use crate::share_expiry::{MoveRefused, RootId, RootName};

struct ReplacedRootsFixture {
    place: tempfile::TempDir,
    dirs: SharedDirs,
}

/// A root with a file in it, and a second one.
fn yard() -> ReplacedRootsFixture {
    let place = tempfile::tempdir().unwrap();
    for root in ["films", "more"] {
        fs::create_dir(place.path().join(root)).unwrap();
    }
    fs::write(place.path().join("films/a"), b"a").unwrap();
    let dirs = ["films", "more"].map(|name| opened(name, &place.path().join(name)));
    ReplacedRootsFixture { place, dirs: SharedDirs::new(dirs) }
}

impl ReplacedRootsFixture {
    fn path(&self, at: &str) -> PathBuf {
        self.place.path().join(at)
    }

    /// Replaces this root by another directory.
    fn replace(&self, root: &str) {
        fs::rename(self.path(root), self.path("old")).unwrap();
        fs::create_dir(self.path(root)).unwrap();
    }
}

#[test]
fn nothing_is_moved_in_a_directory_that_is_no_longer_the_root() {
    for replaced in ["films", "more"] {
        let yard = yard();
        let (from, to) = (place("films/a"), place("more/a"));
        let file = yard.dirs.prepare(&from, &to, false).unwrap();
        yard.replace(replaced);
        assert_eq!(yard.dirs.prepare(&from, &to, false), Err(MoveRefused::RootAway), "{replaced}");
        // It was replaced after it had been looked at.
        let result = yard.dirs.carry_out(&new_move("films/a", "more/a", file), false, || true);
        assert_eq!(result, Err(NotMoved::Refused(MoveRefused::RootAway)), "{replaced}");
        let old = if replaced == "films" { "old/a" } else { "films/a" };
        assert!(yard.path(old).exists(), "{replaced}");
        yard.dirs.reopen_changed();
        if replaced == "films" {
            fs::rename(yard.path("old/a"), yard.path("films/a")).unwrap();
        }
        let file = yard.dirs.prepare(&from, &to, false).unwrap();
        yard.dirs.carry_out(&new_move("films/a", "more/a", file), false, || true).unwrap();
        assert!(yard.path("more/a").exists(), "{replaced}");
    }
}

#[test]
fn a_root_whose_directory_is_gone_takes_no_part_in_moves() {
    let yard = yard();
    fs::rename(yard.path("more"), yard.path("old")).unwrap();
    let result = yard.dirs.prepare(&place("films/a"), &place("more/a"), false);
    assert_eq!(result, Err(MoveRefused::RootAway));
    assert!(yard.dirs.reopen_changed().is_empty(), "there is nothing to open");
    fs::rename(yard.path("old"), yard.path("more")).unwrap();
    assert!(yard.dirs.reopen_changed().is_empty(), "it is the one that is held");
    assert!(yard.dirs.prepare(&place("films/a"), &place("more/a"), false).is_ok());
}

#[test]
fn a_root_that_became_another_directory_is_reopened_and_counts_as_new() {
    let (yard, films) = (yard(), "films".parse::<RootName>().unwrap());
    let (long, file) = (Duration::from_secs(3600), "b".parse().unwrap());
    assert!(!yard.dirs.is_new(&films, long), "it was opened at the start");
    yard.replace("films");
    fs::write(yard.path("films/b"), b"b").unwrap();
    assert_eq!(yard.dirs.presence(&films, &file), PathPresence::Missing);
    assert_eq!(yard.dirs.clone().reopen_changed(), std::slice::from_ref(&films));
    assert!(yard.dirs.is_new(&films, Duration::ZERO), "it may be what is left below a mount");
    assert_eq!(yard.dirs.presence(&films, &"a".parse().unwrap()), PathPresence::Missing);
    assert!(yard.dirs.is_new(&films, Duration::ZERO), "as long as nothing is found in it");
    assert_eq!(yard.dirs.presence(&films, &file), PathPresence::There);
    assert_eq!(yard.dirs.unreachable(&films, true), None);
    assert!(yard.dirs.is_new(&films, long) && !yard.dirs.is_new(&films, Duration::ZERO));
    assert!(yard.dirs.reopen_changed().is_empty());
}

#[test]
fn a_root_that_never_existed_is_reported_and_opened_when_it_appears() {
    let place = tempfile::tempdir().unwrap();
    let (path, late) = (place.path().join("late"), "late".parse::<RootName>().unwrap());
    let dirs = SharedDirs::new([opened("late", &path)]);
    assert!(matches!(dirs.reached(&late), Err(RootUnreachable::Away(_))));
    assert!(dirs.unreachable(&late, false).unwrap().contains("No such file"));
    assert_eq!(dirs.presence(&late, &"a".parse().unwrap()), PathPresence::Unclear);
    assert!(dirs.reopen_changed().is_empty());
    fs::create_dir(&path).unwrap();
    assert_eq!(dirs.reopen_changed(), std::slice::from_ref(&late));
    assert_eq!(dirs.unreachable(&late, false), None);
    assert_eq!(dirs.presence(&late, &"a".parse().unwrap()), PathPresence::Missing);
}

#[test]
fn every_clone_sees_new_roots_and_an_unchanged_root_stays_open() {
    let yard = yard();
    let clone = yard.dirs.clone();
    let [films, more, news] =
        ["films", "more", "news"].map(|name| name.parse::<RootName>().unwrap());
    fs::create_dir(yard.path("news")).unwrap();
    // The path of `films` is now another directory than the open one.
    yard.replace("films");
    let named = [(films.clone(), yard.path("films")), (news.clone(), yard.path("news"))];
    yard.dirs.change(named);
    assert_eq!(clone.names(), [films.clone(), news.clone()]);
    assert!(matches!(clone.reached(&more), Err(RootUnreachable::NoRoot)));
    assert_eq!(clone.presence(&news, &"a".parse().unwrap()), PathPresence::Missing);
    assert_eq!(
        clone.presence(&films, &"a".parse().unwrap()),
        PathPresence::There,
        "it was not opened again"
    );
    // The same name with another path is another directory.
    clone.change([(films.clone(), yard.path("news"))]);
    assert_eq!(yard.dirs.presence(&films, &"a".parse().unwrap()), PathPresence::Missing);
}

#[test]
fn a_directory_without_the_recorded_id_is_not_used() {
    let (yard, films) = (yard(), "films".parse::<RootName>().unwrap());
    let file = "a".parse().unwrap();
    fs::write(yard.path("more/b"), b"b").unwrap();
    let IdentifiedRoots { found, failed } = yard.dirs.identify(&BTreeMap::new());
    assert_eq!((found.len(), failed.len()), (2, 0));
    // Only the first look writes ids.
    assert_eq!(yard.dirs.identify(&BTreeMap::new()).found, found);
    assert_eq!(yard.dirs.identify(&found), IdentifiedRoots::default());
    yard.dirs.set_expected(&found);
    assert_eq!(yard.dirs.presence(&films, &file), PathPresence::There);
    // A mirror without the file of the id.
    yard.replace("films");
    fs::write(yard.path("films/a"), b"another").unwrap();
    assert_eq!(yard.dirs.reopen_changed(), std::slice::from_ref(&films));
    assert_eq!(yard.dirs.presence(&films, &file), PathPresence::Unclear);
    let refused = yard.dirs.prepare(&place("films/a"), &place("more/a"), false);
    assert_eq!(refused, Err(MoveRefused::RootAway));
    let why = yard.dirs.unreachable(&films, true).unwrap();
    assert!(why.contains("has no id") && why.contains(&found[&films].to_string()), "{why}");
    assert!(matches!(yard.dirs.reached(&films), Err(RootUnreachable::Other(_))));
    // The text says how an operator confirms the directory.
    fs::write(yard.path("films").join(ROOT_ID_FILE), format!("{}\n", found[&films])).unwrap();
    assert!(yard.dirs.reopen_changed().is_empty());
    assert_eq!(yard.dirs.presence(&films, &file), PathPresence::There);
    assert_eq!(yard.dirs.unreachable(&films, true), None);
    fs::write(yard.path("films").join(ROOT_ID_FILE), RootId(7).to_string()).unwrap();
    yard.dirs.reopen_changed();
    assert!(yard.dirs.unreachable(&films, true).unwrap().contains(&RootId(7).to_string()));
    // No id is on record any more.
    yard.dirs.set_expected(&BTreeMap::new());
    assert_eq!(yard.dirs.presence(&films, &file), PathPresence::There);
}

#[test]
fn the_id_of_a_root_counts_only_if_it_is_whole() {
    let place = tempfile::tempdir().unwrap();
    let open = || fs::File::open(place.path()).unwrap();
    assert_eq!(root_id_file::read(open()), Ok(None));
    assert_eq!(root_id_file::write(open(), RootId(5)), Ok(RootId(5)));
    assert_eq!(root_id_file::read(open()), Ok(Some(RootId(5))));
    // Another node was quicker.
    assert_eq!(root_id_file::write(open(), RootId(6)), Ok(RootId(5)));
    assert_eq!(root_id_file::read(open()), Ok(Some(RootId(5))));
    let path = place.path().join(ROOT_ID_FILE);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!((mode & 0o777, fs::read_dir(place.path()).unwrap().count()), (0o644, 1));
    for bad in [&b""[..], b"5", &[0xff; 40], &[b'0'; 80]] {
        fs::write(&path, bad).unwrap();
        assert_eq!(root_id_file::read(open()), Ok(None), "{bad:?}");
    }
    // The file of somebody else is not replaced.
    assert_eq!(root_id_file::write(open(), RootId(7)), Err(Errno::EXIST));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_root_with_only_its_id_is_empty() {
    let (yard, more) = (yard(), "more".parse::<RootName>().unwrap());
    // Nothing may be mounted there yet.
    assert!(!yard.dirs.identify(&BTreeMap::new()).found.contains_key(&more));
    root_id_file::write(fs::File::open(yard.path("more")).unwrap(), RootId(5)).unwrap();
    assert_eq!(yard.dirs.unreachable(&more, true), Some("it is empty".to_owned()));
    assert_eq!(yard.dirs.unreachable(&more, false), None);
}

#[test]
fn two_roots_of_one_directory_have_one_id() {
    let yard = yard();
    let dirs = ["films", "same"].map(|name| opened(name, &yard.path("films")));
    let dirs = SharedDirs::new(dirs);
    let found: Vec<RootId> = dirs.identify(&BTreeMap::new()).found.into_values().collect();
    assert!(found.len() == 2 && found[0] == found[1], "{found:?}");
}

#[test]
fn no_move_changes_the_id_of_a_root() {
    let yard = yard();
    yard.dirs.identify(&BTreeMap::new());
    let id = format!("films/{ROOT_ID_FILE}");
    for (from, to) in [(id.as_str(), "films/b"), ("films/a", id.as_str())] {
        let refused = yard.dirs.prepare(&place(from), &place(to), true);
        assert_eq!(refused, Err(MoveRefused::Special), "{from}");
    }
}

#[test]
fn a_disk_that_fails_for_a_moment_is_still_the_same_root() {
    let (yard, films) = (yard(), "films".parse::<RootName>().unwrap());
    let found = yard.dirs.identify(&BTreeMap::new()).found;
    yard.dirs.set_expected(&found);
    let file = yard.path("films").join(ROOT_ID_FILE);
    fs::remove_file(&file).unwrap();
    // The read of a directory fails.
    fs::create_dir(&file).unwrap();
    yard.dirs.reopen_changed();
    assert_eq!(yard.dirs.unreachable(&films, true), None);
    // A root with a new path is checked from the start.
    fs::create_dir(yard.path("new")).unwrap();
    fs::write(yard.path("new/a"), b"a").unwrap();
    yard.dirs.change([(films.clone(), yard.path("new"))]);
    assert!(yard.dirs.unreachable(&films, true).unwrap().contains("has no id"));
}
