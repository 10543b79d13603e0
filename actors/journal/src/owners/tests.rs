//! Owners that restart while an entry is applied.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::{Actor, Context, Handler, System};
use reelyard_core::clock::Millis;
use reelyard_core::event::{Commit, Epoch, PieceId, RequestId};
use reelyard_replication::{CommitAnswer, JournalCommand};

use super::PieceOwners;
use crate::owner::CommittedEntry;
use crate::store::{JournalStore, StoreSettings};

/// An owner that counts the entries that it applies.
struct CountingOwner(Arc<AtomicU64>);

impl Actor for CountingOwner {
    type Context = Context<Self>;
}

impl Handler<JournalCommand> for CountingOwner {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, _: &mut Context<Self>) {
        match command {
            JournalCommand::Apply(apply) => {
                self.0.fetch_add(1, Ordering::SeqCst);
                let answer = |_| CommitAnswer::Applied(Vec::new());
                apply.reply.send(apply.commits.iter().map(answer).collect()).unwrap();
            }
            JournalCommand::Install(install) => install.reply.send(Ok(())).unwrap(),
            _ => {}
        }
    }
}

/// Starts the next incarnation of an owner, and registers it. Its count of entries grows.
async fn start(owners: &PieceOwners, piece: PieceId) -> Arc<AtomicU64> {
    let applied = Arc::new(AtomicU64::new(0));
    let recipient = CountingOwner(applied.clone()).start().recipient();
    let ticket = owners.announce(piece);
    owners.join(piece, recipient, ticket).await.unwrap();
    applied
}

fn commit(piece: PieceId) -> Arc<Commit> {
    Arc::new(Commit {
        request: RequestId(1),
        remember: false,
        asked_by: "a test".to_owned(),
        epoch: Epoch(1),
        at: Millis(0),
        piece,
        events: Vec::new(),
    })
}

#[test]
fn an_owner_that_restarts_during_an_entry_applies_it_too() {
    System::new().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let settings =
            StoreSettings { dir: dir.path().to_owned(), node: 1, reserve: 1 << 20, observer: None };
        let (store, _closed) = JournalStore::open(settings).unwrap();
        let pieces = [PieceId::Tasks, PieceId::Removals];
        let owners = Arc::new(PieceOwners::new(&pieces, store, None, |_, _| Ok(None)).unwrap());
        let first = start(&owners, PieceId::Tasks).await;
        let commits = pieces.map(commit).to_vec();
        let entry = CommittedEntry { index: 1, term: Epoch(1), commits };
        let applying = {
            let owners = owners.clone();
            actix::spawn(async move { owners.apply(entry).await.unwrap().len() })
        };
        // The first owner has applied the entry, which then waits for the other one.
        while first.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let second = start(&owners, PieceId::Tasks).await;
        let other = start(&owners, PieceId::Removals).await;
        assert_eq!(applying.await.unwrap(), 2);
        let counts = [first, second, other].map(|applied| applied.load(Ordering::SeqCst));
        assert_eq!(counts, [1, 1, 1]);
    });
}
