//! Moves and checks on a real disk.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use reelyard_core::event::RequestId;

use super::open_roots::SharedDir;
use super::shared_dirs::*;
use crate::share_expiry::{MoveEnd, MoveRefused, NewMove, ShareLocation, SharedFileIdentity};

pub(super) fn opened(name: &str, path: &Path) -> SharedDir {
    SharedDir::new(name.parse().unwrap(), path.to_owned())
}

pub(super) fn place(at: &str) -> ShareLocation {
    let (root, path) = at.split_once('/').unwrap();
    ShareLocation { root: root.parse().unwrap(), path: path.parse().unwrap() }
}

pub(super) fn new_move(from: &str, to: &str, file: SharedFileIdentity) -> NewMove {
    let (by, request) = ("me".to_owned(), RequestId(1));
    NewMove { from: place(from), to: place(to), file, by, request }
}

struct SharedDirsFixture {
    _place: tempfile::TempDir,
    films: PathBuf,
    dirs: SharedDirs,
}

fn yard() -> SharedDirsFixture {
    let place = tempfile::tempdir().unwrap();
    let (films, more) = (place.path().join("films"), place.path().join("more"));
    std::fs::create_dir_all(films.join("dir/deep")).unwrap();
    std::fs::create_dir_all(films.join("empty")).unwrap();
    std::fs::create_dir_all(&more).unwrap();
    std::fs::write(films.join("a"), b"a").unwrap();
    std::fs::write(films.join("b"), b"b").unwrap();
    std::fs::hard_link(films.join("a"), films.join("a2")).unwrap();
    symlink("a", films.join("link")).unwrap();
    symlink("dir", films.join("way")).unwrap();
    symlink("..", films.join("out")).unwrap();
    let dirs = SharedDirs::new([opened("films", &films), opened("more", &more)]);
    SharedDirsFixture { _place: place, films, dirs }
}

#[test]
fn an_impossible_move_is_refused_with_its_reason() {
    let yard = yard();
    let _socket = std::os::unix::net::UnixListener::bind(yard.films.join("socket")).unwrap();
    for (from, to, overwrite, why) in [
        ("films/none", "films/x", false, MoveRefused::NoSource),
        ("films/none/a", "films/x", false, MoveRefused::NoSource),
        ("films/a/x", "films/x", false, MoveRefused::NoSource),
        ("films/link", "films/x", false, MoveRefused::Symlink),
        ("films/way/deep", "films/x", false, MoveRefused::Symlink),
        ("films/out/films", "films/x", false, MoveRefused::Symlink),
        ("films/a", "films/way/a", false, MoveRefused::Symlink),
        ("films/socket", "films/x", false, MoveRefused::Special),
        ("films/a", "films/none/a", false, MoveRefused::NoDirectory),
        ("films/a", "films/b", false, MoveRefused::TargetExists),
        ("films/a", "films/a2", true, MoveRefused::Same),
        ("films/a", "films/dir", true, MoveRefused::OtherKind),
        ("films/dir", "films/a", true, MoveRefused::OtherKind),
        ("books/a", "films/x", false, MoveRefused::NoRoot),
        ("films/a", "films/", false, MoveRefused::Root),
    ] {
        let result = yard.dirs.prepare(&place(from), &place(to), overwrite);
        assert_eq!(result, Err(why), "{from} {to}");
    }
    let file = yard.dirs.prepare(&place("films/empty"), &place("films/dir"), true).unwrap();
    let result = yard.dirs.carry_out(&new_move("films/empty", "films/dir", file), true, || true);
    assert_eq!(result, Err(NotMoved::Refused(MoveRefused::TargetNotEmpty)));
    let result = yard.dirs.carry_out(&new_move("films/empty", "films/dir", file), false, || true);
    assert_eq!(result, Err(NotMoved::Refused(MoveRefused::TargetExists)));
}

#[test]
fn a_move_to_another_file_system_is_refused_with_that_reason() {
    let (yard, shm) = (yard(), Path::new("/dev/shm"));
    let other = tempfile::tempdir_in(shm).unwrap();
    let dirs = SharedDirs::new([opened("films", &yard.films), opened("other", other.path())]);
    let [one, another] = ["films", "other"].map(|name| {
        let root = dirs.reached(&name.parse().unwrap()).unwrap();
        SharedFileIdentity::of(root).unwrap().device
    });
    let is_other = one != another;
    assert!(is_other, "/dev/shm is a file system of its own");
    let result = dirs.prepare(&place("films/a"), &place("other/a"), false);
    assert_eq!(result, Err(MoveRefused::OtherFileSystem));
}

#[test]
fn a_moved_directory_is_recognised_after_a_restart() {
    let yard = yard();
    let (from, to) = ("films/dir", "more/moved");
    let file = yard.dirs.prepare(&place(from), &place(to), false).unwrap();
    let new = new_move(from, to, file);
    let at_old = MoveEnd::NotMoved(MoveRefused::Interrupted);
    assert_eq!(yard.dirs.move_outcome(&new), Ok(at_old));
    yard.dirs.carry_out(&new, false, || true).unwrap();
    assert_eq!(yard.dirs.move_outcome(&new), Ok(MoveEnd::Moved));
    assert!(yard.films.join("../more/moved/deep").is_dir());
    std::fs::rename(yard.films.join("../more/moved"), yard.films.join("away")).unwrap();
    // It may be on a file system that is no longer mounted there.
    assert!(yard.dirs.move_outcome(&new).unwrap_err().contains("more: it is empty"));
    std::fs::write(yard.films.join("../more/other"), b"x").unwrap();
    assert_eq!(yard.dirs.move_outcome(&new), Ok(MoveEnd::Lost));
}

#[test]
fn a_new_file_at_the_old_name_never_replaces_the_moved_one() {
    for overwrite in [false, true] {
        let yard = yard();
        let (from, to) = ("films/b", "films/c");
        let file = yard.dirs.prepare(&place(from), &place(to), overwrite).unwrap();
        std::fs::rename(yard.films.join("b"), yard.films.join("c")).unwrap();
        std::fs::write(yard.films.join("b"), b"another").unwrap();
        let result = yard.dirs.carry_out(&new_move(from, to, file), overwrite, || true);
        assert_eq!(result, Ok(()));
        let read = |at: &str| std::fs::read_to_string(yard.films.join(at)).unwrap();
        assert_eq!((read("b").as_str(), read("c").as_str()), ("another", "b"));
    }
}

#[test]
fn an_old_name_in_an_unknown_state_keeps_a_move_unsettled() {
    let yard = yard();
    let file = yard.dirs.prepare(&place("films/b"), &place("films/c"), false).unwrap();
    std::fs::rename(yard.films.join("b"), yard.films.join("c")).unwrap();
    for gone in ["films/none/b", "films/link/b", "films/way/b", "books/b"] {
        let result = yard.dirs.move_outcome(&new_move(gone, "films/c", file));
        assert_eq!(result, Ok(MoveEnd::Moved), "{gone}");
    }
    // A superuser has every right; a name that is too long fails for every user.
    let unreadable = format!("films/{}/b", "x".repeat(300));
    assert!(yard.dirs.move_outcome(&new_move(&unreadable, "films/c", file)).is_err());
}

#[test]
fn a_directory_is_not_moved_into_itself_by_way_of_another_root() {
    let yard = yard();
    let all = yard.films.parent().unwrap();
    let dirs = SharedDirs::new([opened("all", all), opened("films", &yard.films)]);
    let (from, to) = ("all/films/dir", "films/dir/deep/x");
    let file = dirs.prepare(&place(from), &place(to), true).unwrap();
    for overwrite in [false, true] {
        let result = dirs.carry_out(&new_move(from, to, file), overwrite, || true);
        let into_itself = Err(NotMoved::Refused(MoveRefused::IntoItself));
        assert_eq!(result, into_itself, "{overwrite}");
    }
}

#[test]
fn a_directory_with_a_root_is_neither_moved_nor_replaced() {
    let yard = yard();
    let all = yard.films.parent().unwrap();
    let deep = opened("deep", &yard.films.join("dir/deep"));
    let dirs = SharedDirs::new([opened("all", all), opened("films", &yard.films), deep]);
    let held = [
        ("all/films", "all/x"),
        ("films/dir", "films/x"),
        ("films/dir/deep", "films/x"),
        ("all/more", "all/films"),
        ("films/empty", "films/dir/deep"),
    ];
    for (from, to) in held {
        let result = dirs.prepare(&place(from), &place(to), true);
        assert_eq!(result, Err(MoveRefused::HoldsRoot), "{from} {to}");
    }
    assert!(dirs.prepare(&place("films/empty"), &place("deep/x"), false).is_ok());
    assert!(dirs.prepare(&place("films/a"), &place("deep/x"), false).is_ok());
}

#[test]
fn a_replaced_or_missing_root_is_reported() {
    let yard = yard();
    let (films, root) = (&yard.films, "films".parse().unwrap());
    assert_eq!(yard.dirs.unreachable(&root, true), None);
    assert_eq!(yard.dirs.presence(&root, &"link".parse().unwrap()), PathPresence::There);
    assert_eq!(yard.dirs.presence(&root, &"none/a".parse().unwrap()), PathPresence::Missing);
    assert_eq!(yard.dirs.presence(&root, &"out/x".parse().unwrap()), PathPresence::Unclear);
    let aside = films.with_extension("aside");
    std::fs::rename(films, &aside).unwrap();
    assert!(yard.dirs.unreachable(&root, true).unwrap().contains("cannot be read"));
    std::fs::create_dir(films).unwrap();
    assert!(yard.dirs.unreachable(&root, true).unwrap().contains("no longer the directory"));
    std::fs::remove_dir(films).unwrap();
    std::fs::rename(&aside, films).unwrap();
    assert_eq!(yard.dirs.unreachable(&root, true), None);
    let empty = "more".parse().unwrap();
    assert_eq!(yard.dirs.unreachable(&empty, true).unwrap(), "it is empty");
    assert_eq!(yard.dirs.unreachable(&empty, false), None, "it may always have been");
}
