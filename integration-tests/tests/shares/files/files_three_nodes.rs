//! Moves of shared paths by three nodes on one storage, over a network in memory. A node that loses
//! leadership before the rename changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::future::{BoxFuture, FutureExt, ready};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::supervision::Route;
use reelyard_integration_tests::fakes::memory_hub::{MemoryHub, NODES};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, JournalOptions};
use reelyard_links::Roots;
use reelyard_replication::CommitError;
use reelyard_shares::share_expiry::{
    BeginMove, BegunMove, CreateShare, MoveRefused, Moved, RootName, ShareError, ShareExpiry,
    ShareExpirySettings, ShareId, ShareKind, ShareLifetime, ShareLocation, ShareLookup,
    ShareRefusal, ShareTerms, ShareViewHandle,
};
use reelyard_shares::share_files::{
    CheckRoots, FilesElsewhere, MoveError, MoveFile, ROOT_ID_FILE, ShareFiles,
    ShareFilesCollaborators, ShareFilesSettings, ShareFilesView, SweepNow,
};

const START: Millis = Millis(1_800_000_000_000);

/// Records a move. If the request selects it, the answer arrives only after the node has lost leadership.
struct Delayed {
    expiry: Addr<ShareExpiry>,
    views: ShareViewHandle,
    hub: MemoryHub,
    node: u64,
}

impl Actor for Delayed {
    type Context = Context<Self>;
}

impl Handler<BeginMove> for Delayed {
    type Result = ResponseFuture<Result<BegunMove, ShareError>>;

    fn handle(&mut self, asked: BeginMove, _: &mut Context<Self>) -> Self::Result {
        let (expiry, views, hub) = (self.expiry.clone(), self.views.clone(), self.hub.clone());
        let (node, is_to_lose) = (self.node, asked.0.by == LOSER);
        Box::pin(async move {
            let begun = expiry.send(asked).await.unwrap();
            if is_to_lose && begun.is_ok() {
                hub.isolate(node);
                eventually("it has lost the lead", || views.view().epoch.is_none()).await;
            }
            begun
        })
    }
}

/// The disks of the other nodes, with the file of the only share.
struct OtherDisks(Vec<PathBuf>);

impl FilesElsewhere for OtherDisks {
    fn all_lack(&self, _: ShareId) -> BoxFuture<'_, bool> {
        let lack = self.0.iter().all(|disk| !disk.join("a").exists());
        ready(lack).boxed()
    }
}

/// Longer than a test.
const RARELY: Duration = Duration::from_secs(3600);

/// The caller whose move makes the node lose leadership.
const LOSER: &str = "the unlucky";

struct ShareFilesNode {
    journal: Journal,
    expiry: Addr<ShareExpiry>,
    files: Addr<ShareFiles>,
    shares: ShareViewHandle,
    views: ViewHandle<ShareFilesView>,
}

fn root() -> RootName {
    "films".parse().unwrap()
}

fn place(path: &str) -> ShareLocation {
    ShareLocation { root: root(), path: path.parse().unwrap() }
}

async fn opened(
    hub: &MemoryHub,
    node: u64,
    dir: &Path,
    disks: &[PathBuf],
    removed_after: Duration,
) -> ShareFilesNode {
    // The disk of a node is the first one, and those of the others follow.
    let (storage, disks) = disks.split_first().unwrap();
    let alone = JournalOptions::alone(dir, node);
    let journal = hub.open(alone, PieceId::Shares).await;
    let (shares, clock) = (ShareViewHandle::default(), Clock::manual(START));
    let settings =
        ShareExpirySettings { roots: BTreeSet::from([root()]), ..ShareExpirySettings::default() };
    let expiry = ShareExpiry::new(settings, clock.clone(), journal.clone(), shares.clone()).start();
    let (views, hub) = (shares.clone(), hub.clone());
    let delayed = Delayed { expiry: expiry.clone(), views, hub, node }.start();
    let others = ShareFilesCollaborators {
        shares: shares.clone(),
        recall: Route::fixed(expiry.clone().recipient()),
        begin: Route::fixed(delayed.recipient()),
        settle: Route::fixed(expiry.clone().recipient()),
        end: Route::fixed(expiry.clone().recipient()),
        record_roots: Route::fixed(expiry.clone().recipient()),
        leadership: journal.leadership(),
        members: journal.member_changes(),
        elsewhere: Arc::new(OtherDisks(disks.to_vec())),
    };
    let sweep_interval = Duration::from_secs(3600);
    let settings = ShareFilesSettings { removed_after, sweep_interval };
    let dirs = Roots::open([(root(), storage.to_owned())]).shared_dirs();
    let views = ViewHandle::default();
    let files = ShareFiles::new(settings, dirs, others, clock, views.clone()).start();
    ShareFilesNode { journal, expiry, files, shares, views }
}

/// The node that leads in an epoch after `epoch`, and that epoch.
async fn leader(nodes: &[ShareFilesNode], epoch: u64) -> (usize, u64) {
    eventually_some("one leads", || async {
        let epochs = nodes.iter().map(|node| node.shares.view().epoch.map_or(0, |epoch| epoch.0));
        let (node, newest) = epochs.enumerate().max_by_key(|&(_, epoch)| epoch)?;
        (newest > epoch).then_some((node, newest))
    })
    .await
}

fn recorded(node: &ShareFilesNode, id: ShareId) -> Option<String> {
    match node.shares.find(id) {
        ShareLookup::Live(share) => Some(share.path().to_string()),
        _ => None,
    }
}

async fn made(node: &ShareFilesNode, by: &str, request: RequestId) -> Result<Moved, MoveError> {
    let (from, to, asked_by) = (place("a"), place("b"), by.to_owned());
    node.files.send(MoveFile { from, to, overwrite: false, asked_by, request }).await.unwrap()
}

/// The answer of a node that leads in an epoch after `epoch`. On a busy machine a leader can lose the lead
/// before it answers.
async fn made_by_leader(
    nodes: &[ShareFilesNode],
    epoch: u64,
    by: &str,
    request: RequestId,
) -> Result<Moved, MoveError> {
    eventually_some("a leader answers the move", || async {
        let (node, _) = leader(nodes, epoch).await;
        match made(&nodes[node], by, request).await {
            Err(MoveError::Share(ShareError::Journal(_))) => None,
            answer => Some(answer),
        }
    })
    .await
}

/// Creates a share of the file `a`.
async fn created(nodes: &[ShareFilesNode]) -> ShareId {
    let share = CreateShare {
        root: root(),
        path: place("a").path,
        kind: ShareKind::File,
        looked: None,
        lifetime: ShareLifetime::Ttl(Duration::from_secs(86_400)),
        owner: None,
        terms: ShareTerms::default(),
        asked_by: "a test".to_owned(),
        request: Some(RequestId::random()),
    };
    eventually_some("a leader creates the share", || async {
        let (node, _) = leader(nodes, 0).await;
        match nodes[node].expiry.send(share.clone()).await.unwrap() {
            Err(ShareError::Journal(_)) => None,
            created => Some(created.unwrap().id()),
        }
    })
    .await
}

/// Lets a leader lose the lead during a move. Returns the node, its epoch and the request.
async fn lost_during_a_move(hub: &MemoryHub, nodes: &[ShareFilesNode]) -> (usize, u64, RequestId) {
    eventually_some("a leader loses the lead during a move", || async {
        let (node, epoch) = leader(nodes, 0).await;
        let request = RequestId::random();
        let answer = made(&nodes[node], LOSER, request).await;
        if hub.is_whole() {
            // The node did not lead any more when it recorded the move.
            assert!(matches!(answer, Err(MoveError::Share(_))), "{answer:?}");
            return None;
        }
        let deposed = MoveError::Share(ShareError::Journal(CommitError::Deposed));
        assert_eq!(answer, Err(deposed));
        Some((node, epoch, request))
    })
    .await
}

#[test]
fn a_node_that_loses_the_lead_before_the_rename_touches_nothing() {
    let (dirs, storage) =
        (NODES.map(|_| tempfile::tempdir().unwrap()), tempfile::tempdir().unwrap());
    std::fs::write(storage.path().join("a"), b"a").unwrap();
    on_a_system(async {
        let (hub, mut nodes) = (MemoryHub::default(), Vec::new());
        for (node, dir) in NODES.into_iter().zip(&dirs) {
            let disks = [storage.path().to_owned()];
            nodes.push(opened(&hub, node, dir.path(), &disks, RARELY).await);
        }
        let id = created(&nodes).await;
        let (old, epoch, request) = lost_during_a_move(&hub, &nodes).await;
        assert!(storage.path().join("a").exists() && !storage.path().join("b").exists());

        let (new, _) = leader(&nodes, epoch).await;
        assert_ne!(new, old);
        let is_settled = || nodes[new].shares.unsettled().borrow().is_empty();
        eventually("the new leader settles it", is_settled).await;
        let answer = made_by_leader(&nodes, epoch, LOSER, request).await;
        let interrupted = |why: &ShareRefusal| *why == ShareRefusal::Move(MoveRefused::Interrupted);
        let is_interrupted = match &answer {
            Err(MoveError::Refused(why)) => *why == MoveRefused::Interrupted,
            Err(MoveError::Share(ShareError::Refused(why))) => interrupted(why),
            _ => false,
        };
        assert!(is_interrupted, "{answer:?}");
        let answer = made_by_leader(&nodes, epoch, "a test", RequestId::random()).await;
        assert_eq!(answer, Ok(Moved { followed: 1, ended: 0 }));
        assert!(!storage.path().join("a").exists() && storage.path().join("b").exists());
        hub.heal();
        let follow = || nodes.iter().all(|node| recorded(node, id).as_deref() == Some("b"));
        eventually("its share follows on all of them", follow).await;
        for node in &nodes {
            node.journal.stop().await;
        }
    });
}

#[test]
fn a_new_leader_with_another_directory_ends_no_share() {
    let (dirs, storages) =
        (NODES.map(|_| tempfile::tempdir().unwrap()), NODES.map(|_| tempfile::tempdir().unwrap()));
    // Only the first leader has the shared file. The others have one that nobody shares.
    on_a_system(async {
        let (hub, mut nodes) = (MemoryHub::default(), Vec::new());
        for ((node, dir), storage) in NODES.into_iter().zip(&dirs).zip(&storages) {
            std::fs::write(storage.path().join("stray"), b"stray").unwrap();
            let soon = Duration::from_millis(1);
            let mut disks = storages.each_ref().map(|storage| storage.path().to_owned());
            disks.rotate_left(nodes.len());
            nodes.push(opened(&hub, node, dir.path(), &disks, soon).await);
        }
        let is_recorded = |node: &ShareFilesNode| node.shares.view().root_ids.contains_key(&root());
        let (old, epoch) = eventually_some("a leader has recorded its root", || async {
            let (old, epoch) = leader(&nodes, 0).await;
            std::fs::write(storages[old].path().join("a"), b"a").unwrap();
            nodes[old].files.send(CheckRoots).await.unwrap();
            let is_written = storages[old].path().join(ROOT_ID_FILE).exists();
            (is_written && nodes.iter().all(is_recorded)).then_some((old, epoch))
        })
        .await;
        let id = created(&nodes).await;
        hub.isolate(NODES[old]);
        let (new, _) = leader(&nodes, epoch).await;
        assert_ne!(new, old);
        eventually_some("the new leader sees another directory", || async {
            nodes[new].files.send(SweepNow).await.unwrap();
            let view = nodes[new].views.load();
            let why = view.unreachable.get(&root())?;
            (why.contains("not the directory on record") && view.looked > 0).then_some(())
        })
        .await;
        nodes[new].files.send(SweepNow).await.unwrap();
        let sweeps = nodes[new].views.load().sweeps;
        eventually("another pass has ended", || nodes[new].views.load().sweeps > sweeps).await;
        assert_eq!(recorded(&nodes[new], id).as_deref(), Some("a"));
        let refused = made(&nodes[new], "a test", RequestId::random()).await;
        assert_eq!(refused, Err(MoveError::Refused(MoveRefused::RootAway)));
        // The operator mounts the right directory: here, a copy with the file of the id. The mirror is late.
        let copy = |name: &str| {
            let (from, to) = (storages[old].path().join(name), storages[new].path().join(name));
            std::fs::copy(from, to).unwrap();
        };
        copy(ROOT_ID_FILE);
        nodes[new].files.send(CheckRoots).await.unwrap();
        eventually("the root is reachable", || nodes[new].views.load().unreachable.is_empty())
            .await;
        nodes[new].files.send(SweepNow).await.unwrap();
        let again = || nodes[new].views.load().looked_again > 1;
        eventually("the missing file was looked for again", again).await;
        assert_eq!(recorded(&nodes[new], id).as_deref(), Some("a"), "another node has the file");
        copy("a");
        let moved = made_by_leader(&nodes, epoch, "a test", RequestId::random()).await;
        assert_eq!(moved, Ok(Moved { followed: 1, ended: 0 }));
        for node in &nodes {
            node.journal.stop().await;
        }
    });
}
