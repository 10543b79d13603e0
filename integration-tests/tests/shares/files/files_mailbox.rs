//! Moves and removals of shared paths over messages, on a real disk with a real journal. The node may stop
//! between any two steps.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use reelyard_core::event::RequestId;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_shares::share_expiry::{
    BeginMove, MoveEnd, MoveRefused, Moved, NewMove, SettleMove, ShareEnding, ShareError, ShareId,
    ShareRefusal, SharedFileIdentity,
};
use reelyard_shares::share_files::{
    MoveError, MoveFile, NameInDirectory, ShareFileSystem, SystemFileSystem,
};
use rustix::io::Errno;

use crate::files::files_yard::*;

#[actix::test]
async fn a_move_takes_file_and_shares_along_and_is_made_once() {
    let ground = ShareDirectories::new();
    let yard = opened(&ground).await;
    let (dir, file) = (yard.create("films/d").await, yard.create("films/d/deep/b").await);
    let beside = yard.create("films/other").await;
    let wanted = wanted("films/d", "more/kept/e");
    let both = futures::future::join(yard.make(wanted.clone()), yard.make(wanted.clone())).await;
    assert_eq!(both, (Ok(Moved { followed: 2, ended: 0 }), Ok(Moved { followed: 2, ended: 0 })));
    assert_eq!(std::fs::read(ground.path("more/kept/e/deep/b")).unwrap(), b"films/d/deep/b");
    assert!(!ground.path("films/d").exists());
    let recorded = [dir, file, beside].map(|id| yard.recorded(id).unwrap());
    assert_eq!(recorded, ["more/kept/e", "more/kept/e/deep/b", "films/other"]);
    assert_eq!(yard.make(wanted.clone()).await, Ok(Moved { followed: 2, ended: 0 }), "repeated");
    yard.closed().await;
    let yard = opened(&ground).await;
    assert_eq!(yard.make(wanted).await, Ok(Moved { followed: 2, ended: 0 }), "after a restart");
    assert_eq!(yard.recorded(file).unwrap(), "more/kept/e/deep/b");
    yard.closed().await;
}

#[actix::test]
async fn a_refused_move_is_refused_again_and_leaves_no_trace() {
    let ground = ShareDirectories::new();
    let yard = opened(&ground).await;
    let id = yard.create("films/d/a").await;
    for (from, to, why) in [
        ("films/none", "films/x", MoveRefused::NoSource),
        ("films/d/a", "films/none/a", MoveRefused::NoDirectory),
        ("films/d/a", "films/other", MoveRefused::TargetExists),
        ("films/d", "films/d/deep/x", MoveRefused::IntoItself),
        ("films/d/a", "films/d", MoveRefused::TargetExists),
        ("books/d", "films/x", MoveRefused::NoRoot),
    ] {
        assert_eq!(refused(yard.make(wanted(from, to)).await), why, "{from} {to}");
    }
    // Only the disk detects the conflict, after the record.
    std::fs::create_dir(ground.path("films/empty")).unwrap();
    let onto = MoveFile { overwrite: true, ..wanted("films/empty", "films/d") };
    assert_eq!(refused(yard.make(onto.clone()).await), MoveRefused::TargetNotEmpty);
    assert_eq!(refused(yard.make(onto).await), MoveRefused::TargetNotEmpty, "repeated");
    assert_eq!(yard.recorded(id).unwrap(), "films/d/a");
    yard.closed().await;
}

#[actix::test]
async fn an_overwritten_file_ends_its_shares() {
    let ground = ShareDirectories::new();
    let yard = opened(&ground).await;
    let (moved, there) = (yard.create("films/d/a").await, yard.create("films/other").await);
    let onto = MoveFile { overwrite: true, ..wanted("films/d/a", "films/other") };
    assert_eq!(yard.make(onto).await, Ok(Moved { followed: 1, ended: 1 }));
    assert_eq!(yard.ended(there).await, ShareEnding::Removed);
    assert_eq!(yard.recorded(moved).unwrap(), "films/other");
    assert_eq!(std::fs::read(ground.path("films/other")).unwrap(), b"films/d/a");
    yard.closed().await;
}

#[actix::test]
async fn more_shares_than_one_entry_takes_follow_in_several() {
    let ground = ShareDirectories::new();
    let yard = opened(&ground).await;
    let made = futures::stream::iter(0..2500).map(|_| yard.create("films/d/a"));
    let ids: Vec<ShareId> = made.buffer_unordered(200).collect().await;
    let wanted = wanted("films/d", "films/e");
    assert_eq!(yard.make(wanted.clone()).await, Ok(Moved { followed: 2500, ended: 0 }));
    assert!(ids.iter().all(|id| yard.recorded(*id).unwrap() == "films/e/a"));
    assert_eq!(yard.make(wanted).await, Ok(Moved { followed: 2500, ended: 0 }), "repeated");
    yard.closed().await;
}

/// The state that a node leaves when it stops right after the record of a move.
async fn begun(ground: &ShareDirectories, from: &str, to: &str) -> (ShareId, ShareId, NewMove) {
    let yard = table_alone(ground).await;
    let (id, above) = (yard.create(&format!("{from}/a")).await, yard.create(from).await);
    let file = std::fs::File::open(ground.path(from)).unwrap();
    let new = NewMove {
        from: place(from),
        to: place(to),
        file: SharedFileIdentity::of(&file).unwrap(),
        by: "a test".to_owned(),
        request: RequestId::random(),
    };
    yard.expiry.send(BeginMove(new.clone())).await.unwrap().unwrap();
    let message = yard.try_to_create(&format!("{from}/a")).await;
    assert!(matches!(message, Err(ShareError::Refused(ShareRefusal::BeingMoved))));
    yard.closed().await;
    (id, above, new)
}

fn again(new: &NewMove) -> MoveFile {
    let NewMove { from, to, by, request, .. } = new.clone();
    MoveFile { from, to, overwrite: false, asked_by: by, request }
}

#[actix::test]
async fn a_node_stopped_before_the_rename_finds_the_old_path() {
    let ground = ShareDirectories::new();
    let (id, above, new) = begun(&ground, "films/d", "more/e").await;
    let yard = opened(&ground).await;
    eventually("the move is settled", || yard.shares.unsettled().borrow().is_empty()).await;
    assert_eq!(refused(yard.make(again(&new)).await), MoveRefused::Interrupted);
    assert_eq!(yard.recorded(id).unwrap(), "films/d/a");
    assert_eq!(yard.recorded(above).unwrap(), "films/d");
    let new_request = MoveFile { request: RequestId::random(), ..again(&new) };
    assert_eq!(yard.make(new_request).await, Ok(Moved { followed: 2, ended: 0 }));
    yard.closed().await;
}

#[actix::test]
async fn a_node_stopped_after_the_rename_finds_the_new_path() {
    let ground = ShareDirectories::new();
    let (id, above, new) = begun(&ground, "films/d", "more/e").await;
    std::fs::rename(ground.path("films/d"), ground.path("more/e")).unwrap();
    // The old path may contain something else since then.
    std::fs::create_dir(ground.path("films/d")).unwrap();
    let yard = opened(&ground).await;
    assert_eq!(yard.make(again(&new)).await, Ok(Moved { followed: 2, ended: 0 }));
    assert_eq!([id, above].map(|id| yard.recorded(id).unwrap()), ["more/e/a", "more/e"]);
    yard.closed().await;
}

#[actix::test]
async fn a_node_that_was_stopped_while_shares_followed_has_the_others_follow() {
    let ground = ShareDirectories::new();
    let yard = table_alone(&ground).await;
    let made = futures::stream::iter(0..2500).map(|_| yard.create("films/d/a"));
    let ids: Vec<ShareId> = made.buffer_unordered(200).collect().await;
    yard.closed().await;
    let (_, _, new) = begun(&ground, "films/d", "films/e").await;
    std::fs::rename(ground.path("films/d"), ground.path("films/e")).unwrap();
    let yard = table_alone(&ground).await;
    let (number, end) = (0, MoveEnd::Moved);
    // No client waits for its end.
    let settling = yard.expiry.send(SettleMove { number, end });
    let began = || ids.iter().any(|id| yard.recorded(*id).unwrap() == "films/e/a");
    eventually("the first have followed", began).await;
    drop(settling);
    yard.closed().await;
    let yard = opened(&ground).await;
    assert_eq!(yard.make(again(&new)).await, Ok(Moved { followed: 2502, ended: 0 }));
    assert!(ids.iter().all(|id| yard.recorded(*id).unwrap() == "films/e/a"));
    yard.closed().await;
}

#[actix::test]
async fn shares_of_a_file_at_neither_path_after_a_stop_end() {
    let ground = ShareDirectories::new();
    let (id, above, _) = begun(&ground, "films/d", "more/e").await;
    std::fs::rename(ground.path("films/d"), ground.path("aside")).unwrap();
    let yard = opened(&ground).await;
    assert_eq!([yard.ended(id).await, yard.ended(above).await], [ShareEnding::Removed; 2]);
    yard.closed().await;
}

/// A disk whose syncs fail until it is repaired.
#[derive(Debug, Default)]
struct Failing {
    mended: AtomicBool,
}

impl ShareFileSystem for Failing {
    fn rename(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> rustix::io::Result<()> {
        SystemFileSystem.rename(from, to)
    }

    fn rename_to_free(
        &self,
        from: NameInDirectory<'_>,
        to: NameInDirectory<'_>,
    ) -> rustix::io::Result<()> {
        SystemFileSystem.rename_to_free(from, to)
    }

    fn link(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> rustix::io::Result<()> {
        SystemFileSystem.link(from, to)
    }

    fn unlink(&self, at: NameInDirectory<'_>) -> rustix::io::Result<()> {
        SystemFileSystem.unlink(at)
    }

    fn sync(&self, dir: BorrowedFd<'_>) -> rustix::io::Result<()> {
        if self.mended.load(Ordering::SeqCst) { SystemFileSystem.sync(dir) } else { Err(Errno::IO) }
    }
}

#[actix::test]
async fn a_move_is_reported_as_done_only_after_the_disk_confirms_it() {
    let ground = ShareDirectories::new();
    let disk = Arc::<Failing>::default();
    let yard = opened_on(&ground, disk.clone()).await;
    let id = yard.create("films/d/a").await;
    let wanted = wanted("films/d", "more/e");
    let answer = yard.make(wanted.clone()).await;
    let Err(MoveError::Unsettled { why, request }) = answer else { panic!("{answer:?}") };
    assert!(why.contains("does not confirm") && request == wanted.request, "{why}");
    eventually("it is seen", || {
        let view = yard.views.load();
        let seen = view.unsettled.get(&0).filter(|seen| seen.since == START);
        seen.is_some_and(|seen| seen.why.is_some() && seen.moving.new.to == wanted.to)
    })
    .await;
    assert_eq!(yard.recorded(id).unwrap(), "films/d/a", "no record says that it was moved");
    disk.mended.store(true, Ordering::SeqCst);
    assert_eq!(yard.make(wanted).await, Ok(Moved { followed: 1, ended: 0 }), "repeated");
    assert_eq!(yard.recorded(id).unwrap(), "more/e/a");
    eventually("nothing is unsettled", || yard.views.load().unsettled.is_empty()).await;
    yard.closed().await;
}

#[actix::test]
async fn a_move_is_seen_as_long_as_its_root_is_away() {
    let ground = ShareDirectories::new();
    let (id, _, new) = begun(&ground, "films/d", "films/e").await;
    std::fs::rename(ground.path("films"), ground.path("aside")).unwrap();
    std::fs::create_dir(ground.path("films")).unwrap();
    let yard = opened(&ground).await;
    eventually("why it is not settled is seen", || {
        let view = yard.views.load();
        let why = view.unsettled.get(&0).and_then(|seen| seen.why.clone());
        why.is_some_and(|why| why.contains("films: it is empty"))
    })
    .await;
    assert!(yard.recorded(id).is_some());
    yard.closed().await;
    std::fs::remove_dir(ground.path("films")).unwrap();
    std::fs::rename(ground.path("aside"), ground.path("films")).unwrap();
    let yard = opened(&ground).await;
    assert_eq!(refused(yard.make(again(&new)).await), MoveRefused::Interrupted);
    eventually("nothing is unsettled", || yard.views.load().unsettled.is_empty()).await;
    yard.closed().await;
}

#[actix::test]
async fn shares_of_missing_files_end_unless_the_files_return() {
    let ground = ShareDirectories::new();
    let yard = opened(&ground).await;
    let (gone, back) = (yard.create("films/d/a").await, yard.create("films/other").await);
    let whole = yard.create("films/d/deep").await;
    std::fs::remove_file(ground.path("films/d/a")).unwrap();
    // A link has found both missing, but one of them only for a moment.
    yard.shares.report_missing(back);
    yard.shares.report_missing(gone);
    assert_eq!(yard.ended(gone).await, ShareEnding::Removed);
    assert!(yard.recorded(back).is_some());
    std::fs::remove_dir_all(ground.path("films/d")).unwrap();
    yard.sweep().await;
    assert_eq!(yard.ended(whole).await, ShareEnding::Removed, "without a read");
    assert!(yard.recorded(back).is_some());
    yard.closed().await;
}

async fn ends_nothing(
    ground: &ShareDirectories,
    yard: &ShareFilesYard,
    id: ShareId,
    why: &str,
    hide: impl Fn(&Path),
) {
    hide(&ground.path("films"));
    let before = yard.views.load();
    yard.shares.report_missing(id);
    yard.sweep().await;
    let shown = || yard.views.load().unreachable.get(&root("films")).cloned();
    eventually("it is reported", || shown().is_some_and(|shown| shown.contains(why))).await;
    // The result is reported only after the end of the shares that must end.
    eventually("a pass checked it, and again after its time", || {
        let view = yard.views.load();
        view.sweeps > before.sweeps && view.looked_again > before.looked_again
    })
    .await;
    assert!(yard.recorded(id).is_some(), "{why}");
}

#[actix::test]
async fn a_root_that_cannot_be_reached_ends_nothing() {
    let ground = ShareDirectories::new();
    let yard = opened(&ground).await;
    let id = yard.create("films/other").await;
    let aside = ground.path("aside");
    let unmount = |films: &Path| {
        std::fs::rename(films, &aside).unwrap();
        std::fs::create_dir(films).unwrap();
        std::fs::rename(aside.join("other"), ground.path("other")).unwrap();
    };
    ends_nothing(&ground, &yard, id, "it is empty", unmount).await;
    let remount = |films: &Path| {
        std::fs::remove_dir(films).unwrap();
        std::fs::rename(&aside, films).unwrap();
        std::fs::rename(films.join("d"), ground.path("d")).unwrap();
    };
    ends_nothing(&ground, &yard, id, "it is empty", remount).await;
    std::fs::rename(ground.path("d"), ground.path("films/d")).unwrap();
    let sweeps = yard.views.load().sweeps;
    yard.sweep().await;
    let passed = || {
        let view = yard.views.load();
        view.unreachable.is_empty() && view.sweeps > sweeps
    };
    eventually("it can be reached", passed).await;
    assert!(
        yard.recorded(id).is_some(),
        "nothing shows yet that it is the directory that is meant"
    );
    yard.create("films/d/a").await;
    yard.sweep().await;
    assert_eq!(yard.ended(id).await, ShareEnding::Removed, "of a root that can be reached");
    eventually("the view shows it", || yard.views.load().unreachable.is_empty()).await;
    yard.closed().await;
}
