//! openraft's state machine: sends committed entries to the owners, takes and installs snapshots.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openraft::storage::RaftStateMachine;
use openraft::{
    EntryPayload, OptionalSend, RaftSnapshotBuilder, Snapshot, SnapshotMeta, StoredMembership,
};
use reelyard_core::cluster_time::ClusterTime;
use reelyard_core::event::PieceId;
use reelyard_replication::{CommitAnswer, FrozenPiece, Member};
use tokio::sync::{mpsc, watch};

use super::members::member_node::{MemberNode, members_of};
use super::snapshot_body::SnapshotBodyError;
use super::{
    LogId, RaftStorageError, SnapshotBody, Types, cannot_apply, cannot_read_log, cannot_snapshot,
    encode_entry, read_entry,
};
use crate::owner::OwnersError;
use crate::owners::PieceOwners;
use crate::store::{
    JournalStore, Purged, SnapshotInstalled, SnapshotManifest, SnapshotReader, SnapshotWriter,
    StoreError,
};
use crate::stream::{StreamPart, StreamWriter};

/// Bytes of a snapshot that are written, or received, at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Pieces that wait to be written while the next ones are encoded.
const PIECES_AHEAD: usize = 2;

type FrozenPieces = Vec<(PieceId, Box<dyn FrozenPiece>)>;
type RaftSnapshotMeta = SnapshotMeta<u64, MemberNode>;

/// Figures of the state machine for readers.
#[derive(Default)]
pub(super) struct LogGrowth {
    /// Bytes of the entries applied since the last snapshot.
    pub(super) since_snapshot: AtomicU64,
    /// Bytes of the last snapshot.
    pub(super) snapshot_bytes: AtomicU64,
    /// The members in the applied log.
    pub(super) members: watch::Sender<Vec<Member>>,
    /// The time of the applied entries.
    pub(super) time: ClusterTime,
}

/// The replicated state, which the owners of the pieces hold.
pub(super) struct PieceStateMachine {
    owners: Arc<PieceOwners>,
    store: Arc<JournalStore>,
    applied: Option<LogId>,
    membership: StoredMembership<u64, MemberNode>,
    growth: Arc<LogGrowth>,
}

impl PieceStateMachine {
    /// The state at the current snapshot. openraft applies the log after it.
    pub(super) fn new(
        owners: Arc<PieceOwners>,
        store: Arc<JournalStore>,
        growth: Arc<LogGrowth>,
        snapshot: Option<&SnapshotManifest>,
    ) -> Result<Self, StoreError> {
        let mut machine = PieceStateMachine {
            owners,
            store,
            applied: None,
            membership: Default::default(),
            growth,
        };
        if let Some(manifest) = snapshot {
            let meta = read_meta(manifest)?;
            machine.applied = meta.last_log_id;
            machine.set_membership(meta.last_membership);
            machine.growth.snapshot_bytes.store(manifest.bytes, Ordering::Relaxed);
        }
        Ok(machine)
    }

    fn set_membership(&mut self, membership: StoredMembership<u64, MemberNode>) {
        let members = members_of(membership.membership());
        self.growth.members.send_replace(members);
        self.membership = membership;
    }

    async fn apply_one(
        &mut self,
        entry: &openraft::Entry<Types>,
    ) -> Result<Vec<CommitAnswer>, OwnersError> {
        let index = entry.log_id.index;
        let is_skipped = self.owners.skips(index, || encode_entry(entry).unwrap_or_default())?;
        let commits = if is_skipped { None } else { read_entry(entry)? };
        let answers = match commits {
            Some(entry) => {
                if let Some(at) = entry.commits.iter().map(|commit| commit.at).max() {
                    self.growth.time.set_applied(at);
                }
                self.owners.apply(entry).await?
            }
            None => {
                self.owners.pass(index).await;
                Vec::new()
            }
        };
        if let EntryPayload::Membership(membership) = &entry.payload {
            self.set_membership(StoredMembership::new(Some(entry.log_id), membership.clone()));
        }
        self.applied = Some(entry.log_id);
        let bytes = match &entry.payload {
            EntryPayload::Normal(batch) => batch.0.len(),
            EntryPayload::Blank | EntryPayload::Membership(_) => 0,
        };
        self.growth.since_snapshot.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(answers)
    }
}

impl RaftStateMachine<Types> for PieceStateMachine {
    type SnapshotBuilder = Builder;

    async fn applied_state(
        &mut self,
    ) -> Result<(Option<LogId>, StoredMembership<u64, MemberNode>), RaftStorageError> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Vec<CommitAnswer>>, RaftStorageError>
    where
        I: IntoIterator<Item = openraft::Entry<Types>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<_> = entries.into_iter().collect();
        let mut answers = Vec::with_capacity(entries.len());
        for entry in &entries {
            answers.push(self.apply_one(entry).await.map_err(|error| cannot_apply(&error))?);
        }
        Ok(answers)
    }

    /// Freezes the pieces at once. They are written while further entries are applied.
    async fn get_snapshot_builder(&mut self) -> Builder {
        let frozen = self.owners.freeze().await;
        self.growth.since_snapshot.store(0, Ordering::Relaxed);
        Builder {
            frozen: Some(frozen),
            meta: SnapshotMeta {
                last_log_id: self.applied,
                last_membership: self.membership.clone(),
                snapshot_id: self.applied.map_or_else(String::new, |log_id| log_id.to_string()),
            },
            owners: self.owners.clone(),
            store: self.store.clone(),
            growth: self.growth.clone(),
        }
    }

    /// openraft does not receive snapshots itself: see the folder `snapshot_transfer`.
    async fn begin_receiving_snapshot(&mut self) -> Result<Box<SnapshotBody>, RaftStorageError> {
        Err(cannot_snapshot(SnapshotBodyError::NotReceived))
    }

    /// The snapshot was checked completely when it was received.
    async fn install_snapshot(
        &mut self,
        meta: &RaftSnapshotMeta,
        snapshot: Box<SnapshotBody>,
    ) -> Result<(), RaftStorageError> {
        let snapshot: Arc<SnapshotBody> = Arc::from(snapshot);
        let parts = snapshot.received_parts().map_err(cannot_snapshot)?;
        let mut writer = SnapshotWriter::new(self.store.clone());
        let mut at = 0;
        loop {
            let piece = snapshot.clone().read(at, PIECE_BYTES).await.map_err(cannot_snapshot)?;
            if piece.is_empty() {
                break;
            }
            at += piece.len() as u64;
            writer.write(&piece).await.map_err(cannot_snapshot)?;
        }
        let pieces = self.owners.begin_install().await;
        let kept = keep_received(writer, &self.growth, meta, parts).await?;
        pieces.install(kept.current).await.map_err(|error| cannot_apply(&error))?;
        drop_former(&self.store, kept.former).await?;
        self.growth.since_snapshot.store(0, Ordering::Relaxed);
        self.applied = meta.last_log_id;
        self.set_membership(meta.last_membership.clone());
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, RaftStorageError> {
        let reader = SnapshotReader::current(&self.store).await.map_err(cannot_read_log)?;
        reader.map(to_send).transpose()
    }
}

fn to_send(reader: SnapshotReader) -> Result<Snapshot<Types>, RaftStorageError> {
    let meta = read_meta(reader.manifest()).map_err(cannot_read_log)?;
    Ok(Snapshot { meta, snapshot: Box::new(SnapshotBody::stored(reader)) })
}

/// The same pieces were already written as a snapshot.
#[derive(Debug, thiserror::Error)]
#[error("these pieces were written to a snapshot before")]
struct WrittenBefore;

/// Another node sent a snapshot without a last entry.
#[derive(Debug, thiserror::Error)]
#[error("the received snapshot contains no log entry")]
struct EmptySnapshot;

/// The frozen pieces at one index, before they are stored.
pub(super) struct Builder {
    /// None once they are being written.
    frozen: Option<Result<FrozenPieces, OwnersError>>,
    meta: RaftSnapshotMeta,
    owners: Arc<PieceOwners>,
    store: Arc<JournalStore>,
    growth: Arc<LogGrowth>,
}

impl RaftSnapshotBuilder<Types> for Builder {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, RaftStorageError> {
        let frozen = self.frozen.take().ok_or_else(|| cannot_snapshot(WrittenBefore))?;
        let frozen = frozen.map_err(|error| cannot_apply(&error))?;
        let mut writer = SnapshotWriter::new(self.store.clone());
        let (pieces, mut encoded) = mpsc::channel(PIECES_AHEAD);
        let encoding = tokio::task::spawn_blocking(move || encode(frozen, &pieces));
        while let Some(piece) = encoded.recv().await {
            writer.write(&piece).await.map_err(cannot_snapshot)?;
        }
        let parts = encoding.await.map_err(cannot_snapshot)?;
        let kept = keep(writer, &self.growth, &self.meta, parts).await?;
        let (index, bytes) = (kept.current.index, kept.current.bytes);
        tracing::info!(index, bytes, "a snapshot was taken");
        self.owners.rebuild_from(kept.current).await;
        drop_former(&self.store, kept.former).await?;
        let reader = SnapshotReader::current(&self.store).await.map_err(cannot_read_log)?;
        let Some(reader) = reader else {
            return Err(cannot_snapshot(StoreError::Closed));
        };
        to_send(reader)
    }
}

/// Encodes frozen pieces as one stream, as fast as the receiver takes it. Blocks.
fn encode(frozen: FrozenPieces, pieces: &mpsc::Sender<Vec<u8>>) -> Vec<StreamPart> {
    let mut writer = StreamWriter::new();
    for (piece, frozen) in frozen {
        writer.begin(piece);
        frozen.write(&mut |row| {
            writer.row(row);
            if writer.ready() >= PIECE_BYTES {
                // If writing has failed, the receiver no longer exists.
                let _ = pieces.blocking_send(writer.drain());
            }
        });
    }
    let (last, parts) = writer.finish();
    let _ = pieces.blocking_send(last);
    parts
}

async fn keep(
    writer: SnapshotWriter,
    growth: &LogGrowth,
    meta: &RaftSnapshotMeta,
    parts: Vec<StreamPart>,
) -> Result<SnapshotInstalled, RaftStorageError> {
    let encoded = postcard::to_stdvec(meta).map_err(cannot_snapshot)?;
    let index = meta.last_log_id.map_or(0, |log_id| log_id.index);
    let kept = writer.finish(index, encoded, parts).await.map_err(cannot_snapshot)?;
    growth.snapshot_bytes.store(kept.current.bytes, Ordering::Relaxed);
    Ok(kept)
}

/// Keeps a snapshot of another node, which replaces the log up to its last entry.
async fn keep_received(
    writer: SnapshotWriter,
    growth: &LogGrowth,
    meta: &RaftSnapshotMeta,
    parts: Vec<StreamPart>,
) -> Result<SnapshotInstalled, RaftStorageError> {
    // openraft installs no snapshot without entries.
    let last = meta.last_log_id.ok_or_else(|| cannot_snapshot(EmptySnapshot))?;
    let log_id = postcard::to_stdvec(&last).map_err(cannot_snapshot)?;
    let encoded = postcard::to_stdvec(meta).map_err(cannot_snapshot)?;
    let last = Purged { index: last.index, log_id };
    let kept = writer.finish_received(last, encoded, parts).await.map_err(cannot_snapshot)?;
    growth.snapshot_bytes.store(kept.current.bytes, Ordering::Relaxed);
    Ok(kept)
}

/// Drops a snapshot once no piece is rebuilt from it any more.
async fn drop_former(
    store: &JournalStore,
    former: Option<SnapshotManifest>,
) -> Result<(), RaftStorageError> {
    match former {
        Some(former) => store.drop_snapshot(former).await.map_err(cannot_snapshot),
        None => Ok(()),
    }
}

fn read_meta(manifest: &SnapshotManifest) -> Result<RaftSnapshotMeta, StoreError> {
    postcard::from_bytes(&manifest.meta).map_err(|error| StoreError::Damaged {
        what: "the snapshot's description".to_owned(),
        why: error.to_string(),
    })
}
