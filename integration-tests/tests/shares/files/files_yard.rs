//! A ShareFilesActor over a real disk and a real journal, with its environment.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::supervision::Route;
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_links::Roots;
use reelyard_shares::share_expiry::{
    CreateShare, MoveRefused, Moved, RootName, Share, ShareEnding, ShareError, ShareExpiry,
    ShareExpirySettings, ShareId, ShareKind, ShareLifetime, ShareLocation, ShareLookup,
    ShareRefusal, ShareTerms, ShareViewHandle,
};
use reelyard_shares::share_files::{
    MoveError, MoveFile, NowhereElse, ShareFileSystem, ShareFiles, ShareFilesCollaborators,
    ShareFilesSettings, ShareFilesView, SweepNow, SystemFileSystem,
};
use tempfile::TempDir;

pub const START: Millis = Millis(1_700_000_000_000);

/// The directories: a journal, and two roots on one file system.
pub struct ShareDirectories {
    pub dir: TempDir,
}

impl ShareDirectories {
    pub fn new() -> Self {
        let ground = ShareDirectories { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(ground.path("films/d/deep")).unwrap();
        std::fs::create_dir_all(ground.path("more/kept")).unwrap();
        for file in ["films/d/a", "films/d/deep/b", "films/other"] {
            std::fs::write(ground.path(file), file).unwrap();
        }
        ground
    }

    pub fn path(&self, at: &str) -> PathBuf {
        self.dir.path().join(at)
    }
}

pub struct ShareFilesYard {
    pub journal: Journal,
    pub expiry: Addr<ShareExpiry>,
    pub files: Option<Addr<ShareFiles>>,
    pub shares: ShareViewHandle,
    pub views: ViewHandle<ShareFilesView>,
}

pub fn root(name: &str) -> RootName {
    name.parse().unwrap()
}

pub fn place(at: &str) -> ShareLocation {
    let (name, path) = at.split_once('/').unwrap();
    ShareLocation { root: root(name), path: path.parse().unwrap() }
}

/// Starts the table without an actor that reads the disk.
pub async fn table_alone(ground: &ShareDirectories) -> ShareFilesYard {
    let settings = JournalOptions::alone(ground.path("journal"), 1);
    let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Shares]).await.unwrap();
    let shares = ShareViewHandle::default();
    let settings = ShareExpirySettings {
        roots: BTreeSet::from([root("films"), root("more")]),
        notice_before: None,
        ..ShareExpirySettings::default()
    };
    let expiry = ShareExpiry::new(settings, Clock::manual(START), journal.clone(), shares.clone());
    let expiry = expiry.start();
    eventually("this node leads", || shares.view().epoch.is_some()).await;
    ShareFilesYard { journal, expiry, files: None, shares, views: ViewHandle::default() }
}

pub async fn opened(ground: &ShareDirectories) -> ShareFilesYard {
    opened_on(ground, Arc::new(SystemFileSystem)).await
}

pub async fn opened_on(
    ground: &ShareDirectories,
    disk: Arc<dyn ShareFileSystem>,
) -> ShareFilesYard {
    let mut yard = table_alone(ground).await;
    let named = ["films", "more"].map(|name| (root(name), ground.path(name)));
    let dirs = Roots::open(named).shared_dirs().on(disk);
    let others = ShareFilesCollaborators {
        shares: yard.shares.clone(),
        recall: Route::fixed(yard.expiry.clone().recipient()),
        begin: Route::fixed(yard.expiry.clone().recipient()),
        settle: Route::fixed(yard.expiry.clone().recipient()),
        end: Route::fixed(yard.expiry.clone().recipient()),
        record_roots: Route::fixed(yard.expiry.clone().recipient()),
        leadership: yard.journal.leadership(),
        members: yard.journal.member_changes(),
        elsewhere: Arc::new(NowhereElse),
    };
    let settings = ShareFilesSettings {
        removed_after: Duration::from_millis(50),
        sweep_interval: Duration::from_secs(3600),
    };
    let (clock, views) = (Clock::manual(START), yard.views.clone());
    yard.files = Some(ShareFiles::new(settings, dirs, others, clock, views).start());
    yard
}

pub fn wanted(from: &str, to: &str) -> MoveFile {
    let (asked_by, request) = ("a test".to_owned(), RequestId::random());
    MoveFile { from: place(from), to: place(to), overwrite: false, asked_by, request }
}

impl ShareFilesYard {
    pub async fn create(&self, at: &str) -> ShareId {
        self.try_to_create(at).await.unwrap().id()
    }

    pub async fn try_to_create(&self, at: &str) -> Result<Arc<Share>, ShareError> {
        let ShareLocation { root, path } = place(at);
        let asked = CreateShare {
            root,
            path,
            kind: ShareKind::File,
            looked: None,
            lifetime: ShareLifetime::Ttl(Duration::from_secs(600)),
            owner: None,
            terms: ShareTerms::default(),
            asked_by: "a test".to_owned(),
            request: None,
        };
        self.expiry.send(asked).await.unwrap()
    }

    pub async fn make(&self, wanted: MoveFile) -> Result<Moved, MoveError> {
        self.files.as_ref().unwrap().send(wanted).await.unwrap()
    }

    pub async fn sweep(&self) {
        self.files.as_ref().unwrap().send(SweepNow).await.unwrap();
    }

    /// The path of a share by its record; `None` after its end.
    pub fn recorded(&self, id: ShareId) -> Option<String> {
        match self.shares.find(id) {
            ShareLookup::Live(share) => Some(format!("{}/{}", share.root(), share.path())),
            _ => None,
        }
    }

    pub async fn ended(&self, id: ShareId) -> ShareEnding {
        eventually_some("the share ends", || {
            let found = self.shares.find(id);
            async move {
                match found {
                    ShareLookup::Ended(tombstone) => Some(tombstone.why),
                    _ => None,
                }
            }
        })
        .await
    }

    pub async fn closed(self) {
        self.journal.stop().await;
    }
}

pub fn refused(made: Result<Moved, MoveError>) -> MoveRefused {
    match made {
        Err(
            MoveError::Refused(why)
            | MoveError::Share(ShareError::Refused(ShareRefusal::Move(why))),
        ) => why,
        other => panic!("{other:?}"),
    }
}
