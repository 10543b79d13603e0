//! Moves of what is shared and removals, by messages: over a real disk and a real journal, also when
//! the node is stopped between any two steps.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::StreamExt;
use reelyard::http::share::Roots;
use reelyard_actors::clock::{Clock, Millis};
use reelyard_actors::event::{PieceId, RequestId};
use reelyard_actors::journal::{Journal, JournalSettings, NoPeers};
use reelyard_actors::share_expiry::{
    BeginMove, CreateShare, Ending, FileIdentity, Found, MoveEnd, MoveRefused, Moved, NewMove,
    RootName, SettleMove, Share, ShareBoard, ShareError, ShareExpiry, ShareId, ShareKind,
    SharePlace, ShareRefusal, ShareSettings, Term,
};
use reelyard_actors::share_files::{
    Collaborators, MoveError, MoveFile, ShareFiles, ShareFilesBoard, ShareFilesSettings, SweepNow,
};
use reelyard_actors::supervision::Route;
use reelyard_integration_tests::waiting::{eventually, eventually_some};
use tempfile::TempDir;

const START: Millis = Millis(1_700_000_000_000);

/// Where everything is: a journal, and two roots on one file system.
struct Ground {
    dir: TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Ground { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(ground.path("films/d/deep")).unwrap();
        std::fs::create_dir_all(ground.path("more/kept")).unwrap();
        for file in ["films/d/a", "films/d/deep/b", "films/other"] {
            std::fs::write(ground.path(file), file).unwrap();
        }
        ground
    }

    fn path(&self, at: &str) -> PathBuf {
        self.dir.path().join(at)
    }
}

struct Yard {
    journal: Journal,
    expiry: Addr<ShareExpiry>,
    files: Option<Addr<ShareFiles>>,
    shares: ShareBoard,
    board: ShareFilesBoard,
}

fn root(name: &str) -> RootName {
    name.parse().unwrap()
}

fn place(at: &str) -> SharePlace {
    let (name, path) = at.split_once('/').unwrap();
    SharePlace { root: root(name), path: path.parse().unwrap() }
}

/// Without anybody who looks at the disk.
async fn table_alone(ground: &Ground) -> Yard {
    let settings = JournalSettings::alone(ground.path("journal"), 1);
    let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Shares]).await.unwrap();
    let shares = ShareBoard::default();
    let settings = ShareSettings {
        roots: BTreeSet::from([root("films"), root("more")]),
        notice_before: None,
        ..ShareSettings::default()
    };
    let expiry = ShareExpiry::new(settings, Clock::manual(START), journal.clone(), shares.clone());
    let expiry = expiry.start();
    eventually("this node leads", || shares.view().epoch.is_some()).await;
    Yard { journal, expiry, files: None, shares, board: ShareFilesBoard::default() }
}

async fn opened(ground: &Ground) -> Yard {
    let mut yard = table_alone(ground).await;
    let named = ["films", "more"].map(|name| (root(name), ground.path(name)));
    let dirs = Roots::open(named).unwrap().shared_dirs().unwrap();
    let others = Collaborators {
        shares: yard.shares.clone(),
        recall: Route::fixed(yard.expiry.clone().recipient()),
        begin: Route::fixed(yard.expiry.clone().recipient()),
        settle: Route::fixed(yard.expiry.clone().recipient()),
        end: Route::fixed(yard.expiry.clone().recipient()),
    };
    let settings = ShareFilesSettings {
        removed_after: Duration::from_millis(50),
        sweep_every: Duration::from_secs(3600),
    };
    let (clock, board) = (Clock::manual(START), yard.board.clone());
    yard.files = Some(ShareFiles::new(settings, dirs, others, clock, board).start());
    yard
}

fn wanted(from: &str, to: &str) -> MoveFile {
    let (asked_by, request) = ("a test".to_owned(), RequestId::random());
    MoveFile { from: place(from), to: place(to), overwrite: false, asked_by, request }
}

impl Yard {
    async fn create(&self, at: &str) -> ShareId {
        self.try_to_create(at).await.unwrap().id()
    }

    async fn try_to_create(&self, at: &str) -> Result<Arc<Share>, ShareError> {
        let SharePlace { root, path } = place(at);
        let asked = CreateShare {
            root,
            path,
            kind: ShareKind::File,
            term: Term::Ttl(Duration::from_secs(600)),
            password: None,
            max_downloads: None,
            owner: None,
            note: None,
            asked_by: "a test".to_owned(),
            request: None,
        };
        self.expiry.send(asked).await.unwrap()
    }

    async fn make(&self, wanted: MoveFile) -> Result<Moved, MoveError> {
        self.files.as_ref().unwrap().send(wanted).await.unwrap()
    }

    async fn sweep(&self) {
        self.files.as_ref().unwrap().send(SweepNow).await.unwrap();
    }

    /// Where a share says that it is; none once it has ended.
    fn said(&self, id: ShareId) -> Option<String> {
        match self.shares.find(id) {
            Found::Live(share) => Some(format!("{}/{}", share.root(), share.path())),
            _ => None,
        }
    }

    async fn ended(&self, id: ShareId) -> Ending {
        eventually_some("the share ends", || {
            let found = self.shares.find(id);
            async move {
                match found {
                    Found::Ended(tombstone) => Some(tombstone.why),
                    _ => None,
                }
            }
        })
        .await
    }

    async fn closed(self) {
        self.journal.stop().await;
    }
}

fn refused(made: Result<Moved, MoveError>) -> MoveRefused {
    match made {
        Err(
            MoveError::Refused(why)
            | MoveError::Share(ShareError::Refused(ShareRefusal::Move(why))),
        ) => why,
        other => panic!("{other:?}"),
    }
}

#[actix::test]
async fn a_move_takes_the_file_and_every_share_along_and_is_made_once() {
    let ground = Ground::new();
    let yard = opened(&ground).await;
    let (dir, file) = (yard.create("films/d").await, yard.create("films/d/deep/b").await);
    let beside = yard.create("films/other").await;
    let wanted = wanted("films/d", "more/kept/e");
    let both = futures::future::join(yard.make(wanted.clone()), yard.make(wanted.clone())).await;
    assert_eq!(both, (Ok(Moved { followed: 2, ended: 0 }), Ok(Moved { followed: 2, ended: 0 })));
    assert_eq!(std::fs::read(ground.path("more/kept/e/deep/b")).unwrap(), b"films/d/deep/b");
    assert!(!ground.path("films/d").exists());
    let said = [dir, file, beside].map(|id| yard.said(id).unwrap());
    assert_eq!(said, ["more/kept/e", "more/kept/e/deep/b", "films/other"]);
    assert_eq!(yard.make(wanted.clone()).await, Ok(Moved { followed: 2, ended: 0 }), "repeated");
    yard.closed().await;
    let yard = opened(&ground).await;
    assert_eq!(yard.make(wanted).await, Ok(Moved { followed: 2, ended: 0 }), "after a restart");
    assert_eq!(yard.said(file).unwrap(), "more/kept/e/deep/b");
    yard.closed().await;
}

#[actix::test]
async fn what_is_refused_is_refused_again_and_leaves_no_trace() {
    let ground = Ground::new();
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
    // Only the disk finds out, once it is on record.
    std::fs::create_dir(ground.path("films/empty")).unwrap();
    let onto = MoveFile { overwrite: true, ..wanted("films/empty", "films/d") };
    assert_eq!(refused(yard.make(onto.clone()).await), MoveRefused::TargetNotEmpty);
    assert_eq!(refused(yard.make(onto).await), MoveRefused::TargetNotEmpty, "repeated");
    assert_eq!(yard.said(id).unwrap(), "films/d/a");
    yard.closed().await;
}

#[actix::test]
async fn what_is_overwritten_takes_its_shares_along() {
    let ground = Ground::new();
    let yard = opened(&ground).await;
    let (moved, there) = (yard.create("films/d/a").await, yard.create("films/other").await);
    let onto = MoveFile { overwrite: true, ..wanted("films/d/a", "films/other") };
    assert_eq!(yard.make(onto).await, Ok(Moved { followed: 1, ended: 1 }));
    assert_eq!(yard.ended(there).await, Ending::Removed);
    assert_eq!(yard.said(moved).unwrap(), "films/other");
    assert_eq!(std::fs::read(ground.path("films/other")).unwrap(), b"films/d/a");
    yard.closed().await;
}

#[actix::test]
async fn more_shares_than_one_entry_takes_follow_in_several() {
    let ground = Ground::new();
    let yard = opened(&ground).await;
    let made = futures::stream::iter(0..2500).map(|_| yard.create("films/d/a"));
    let ids: Vec<ShareId> = made.buffer_unordered(200).collect().await;
    let wanted = wanted("films/d", "films/e");
    assert_eq!(yard.make(wanted.clone()).await, Ok(Moved { followed: 2500, ended: 0 }));
    assert!(ids.iter().all(|id| yard.said(*id).unwrap() == "films/e/a"));
    assert_eq!(yard.make(wanted).await, Ok(Moved { followed: 2500, ended: 0 }), "repeated");
    yard.closed().await;
}

/// What a node leaves behind that was stopped right after it had put a move on record.
async fn begun(ground: &Ground, from: &str, to: &str) -> (ShareId, ShareId, NewMove) {
    let yard = table_alone(ground).await;
    let (id, above) = (yard.create(&format!("{from}/a")).await, yard.create(from).await);
    let file = std::fs::File::open(ground.path(from)).unwrap();
    let new = NewMove {
        from: place(from),
        to: place(to),
        file: FileIdentity::of(&file).unwrap(),
        by: "a test".to_owned(),
        request: RequestId::random(),
    };
    yard.expiry.send(BeginMove(new.clone())).await.unwrap().unwrap();
    let told = yard.try_to_create(&format!("{from}/a")).await;
    assert!(matches!(told, Err(ShareError::Refused(ShareRefusal::BeingMoved))));
    yard.closed().await;
    (id, above, new)
}

fn again(new: &NewMove) -> MoveFile {
    let NewMove { from, to, by, request, .. } = new.clone();
    MoveFile { from, to, overwrite: false, asked_by: by, request }
}

#[actix::test]
async fn a_node_that_was_stopped_before_the_rename_finds_the_file_where_it_was() {
    let ground = Ground::new();
    let (id, above, new) = begun(&ground, "films/d", "more/e").await;
    let yard = opened(&ground).await;
    eventually("the move is settled", || yard.shares.unsettled().borrow().is_empty()).await;
    assert_eq!(refused(yard.make(again(&new)).await), MoveRefused::Interrupted);
    assert_eq!(yard.said(id).unwrap(), "films/d/a");
    assert_eq!(yard.said(above).unwrap(), "films/d");
    let anew = MoveFile { request: RequestId::random(), ..again(&new) };
    assert_eq!(yard.make(anew).await, Ok(Moved { followed: 2, ended: 0 }));
    yard.closed().await;
}

#[actix::test]
async fn a_node_that_was_stopped_after_the_rename_finds_the_file_where_it_is() {
    let ground = Ground::new();
    let (id, above, new) = begun(&ground, "films/d", "more/e").await;
    std::fs::rename(ground.path("films/d"), ground.path("more/e")).unwrap();
    // Something else may have taken the old path since.
    std::fs::create_dir(ground.path("films/d")).unwrap();
    let yard = opened(&ground).await;
    assert_eq!(yard.make(again(&new)).await, Ok(Moved { followed: 2, ended: 0 }));
    assert_eq!([id, above].map(|id| yard.said(id).unwrap()), ["more/e/a", "more/e"]);
    yard.closed().await;
}

#[actix::test]
async fn a_node_that_was_stopped_while_shares_followed_has_the_others_follow() {
    let ground = Ground::new();
    let yard = table_alone(&ground).await;
    let made = futures::stream::iter(0..2500).map(|_| yard.create("films/d/a"));
    let ids: Vec<ShareId> = made.buffer_unordered(200).collect().await;
    yard.closed().await;
    let (_, _, new) = begun(&ground, "films/d", "films/e").await;
    std::fs::rename(ground.path("films/d"), ground.path("films/e")).unwrap();
    let yard = table_alone(&ground).await;
    let (number, end) = (0, MoveEnd::Moved);
    // Nobody waits for the end of it.
    let settling = yard.expiry.send(SettleMove { number, end });
    let began = || ids.iter().any(|id| yard.said(*id).unwrap() == "films/e/a");
    eventually("the first have followed", began).await;
    drop(settling);
    yard.closed().await;
    let yard = opened(&ground).await;
    assert_eq!(yard.make(again(&new)).await, Ok(Moved { followed: 2502, ended: 0 }));
    assert!(ids.iter().all(|id| yard.said(*id).unwrap() == "films/e/a"));
    yard.closed().await;
}

#[actix::test]
async fn what_is_at_neither_path_after_a_stop_ends() {
    let ground = Ground::new();
    let (id, above, _) = begun(&ground, "films/d", "more/e").await;
    std::fs::rename(ground.path("films/d"), ground.path("aside")).unwrap();
    let yard = opened(&ground).await;
    assert_eq!([yard.ended(id).await, yard.ended(above).await], [Ending::Removed; 2]);
    yard.closed().await;
}

#[actix::test]
async fn what_is_missing_for_long_enough_ends_and_what_comes_back_does_not() {
    let ground = Ground::new();
    let yard = opened(&ground).await;
    let (gone, back) = (yard.create("films/d/a").await, yard.create("films/other").await);
    let whole = yard.create("films/d/deep").await;
    std::fs::remove_file(ground.path("films/d/a")).unwrap();
    // A link has found both missing, but one of them only for a moment.
    yard.shares.note_missing(back);
    yard.shares.note_missing(gone);
    assert_eq!(yard.ended(gone).await, Ending::Removed);
    assert!(yard.said(back).is_some());
    std::fs::remove_dir_all(ground.path("films/d")).unwrap();
    yard.sweep().await;
    assert_eq!(yard.ended(whole).await, Ending::Removed, "without a read");
    assert!(yard.said(back).is_some());
    yard.closed().await;
}

async fn ends_nothing(ground: &Ground, yard: &Yard, id: ShareId, why: &str, hide: impl Fn(&Path)) {
    hide(&ground.path("films"));
    let before = yard.board.view().sweeps;
    yard.shares.note_missing(id);
    yard.sweep().await;
    let told = || yard.board.view().unreachable.get(&root("films")).cloned();
    eventually("it is told", || told().is_some_and(|told| told.contains(why))).await;
    eventually("it was looked twice", || {
        let view = yard.board.view();
        view.sweeps > before && view.missing == 0
    })
    .await;
    assert!(yard.said(id).is_some(), "{why}");
}

#[actix::test]
async fn a_root_that_cannot_be_reached_ends_nothing() {
    let ground = Ground::new();
    let yard = opened(&ground).await;
    let id = yard.create("films/other").await;
    let aside = ground.path("aside");
    let unmount = |films: &Path| {
        std::fs::rename(films, &aside).unwrap();
        std::fs::create_dir(films).unwrap();
        std::fs::rename(aside.join("other"), ground.path("other")).unwrap();
    };
    ends_nothing(&ground, &yard, id, "no longer the directory", unmount).await;
    let remount = |films: &Path| {
        std::fs::remove_dir(films).unwrap();
        std::fs::rename(&aside, films).unwrap();
        std::fs::rename(films.join("d"), ground.path("d")).unwrap();
    };
    ends_nothing(&ground, &yard, id, "it is empty", remount).await;
    std::fs::rename(ground.path("d"), ground.path("films/d")).unwrap();
    yard.sweep().await;
    assert_eq!(yard.ended(id).await, Ending::Removed, "of a root that can be reached");
    eventually("that is told", || yard.board.view().unreachable.is_empty()).await;
    yard.closed().await;
}
