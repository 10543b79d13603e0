//! openraft's state machine: hands committed entries to the owners, takes and installs snapshots.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openraft::storage::RaftStateMachine;
use openraft::{
    BasicNode, EntryPayload, OptionalSend, RaftSnapshotBuilder, Snapshot, SnapshotMeta,
    StoredMembership,
};

use super::{Failure, LogId, Types, cannot_apply, cannot_read_log, cannot_snapshot, read_entry};
use crate::event::PieceId;
use crate::journal::messages::CommitAnswer;
use crate::journal::owner::OwnersError;
use crate::journal::owners::Owners;
use crate::journal::piece::FrozenPiece;
use crate::journal::store::{Kept, SnapshotManifest, Store, StoreError};
use crate::journal::stream::{self, StreamWriter};

type FrozenPieces = Vec<(PieceId, Box<dyn FrozenPiece>)>;
type Meta = SnapshotMeta<u64, BasicNode>;

/// Figures that the state machine keeps up to date for others to read.
#[derive(Default)]
pub(super) struct Growth {
    /// Bytes of the entries applied since the last snapshot.
    pub(super) since_snapshot: AtomicU64,
    /// Bytes of the last snapshot.
    pub(super) snapshot_bytes: AtomicU64,
}

/// The replicated state, which lives with the owners of the pieces.
pub(super) struct Machine {
    owners: Arc<Owners>,
    store: Arc<Store>,
    applied: Option<LogId>,
    membership: StoredMembership<u64, BasicNode>,
    growth: Arc<Growth>,
}

impl Machine {
    /// The state as of the current snapshot; openraft applies the log behind it.
    pub(super) fn new(
        owners: Arc<Owners>,
        store: Arc<Store>,
        growth: Arc<Growth>,
    ) -> Result<Self, StoreError> {
        let mut machine =
            Machine { owners, store, applied: None, membership: Default::default(), growth };
        if let Some(manifest) = machine.store.trees().snapshot()? {
            let meta = read_meta(&manifest)?;
            machine.applied = meta.last_log_id;
            machine.membership = meta.last_membership;
            machine.growth.snapshot_bytes.store(manifest.bytes, Ordering::Relaxed);
        }
        Ok(machine)
    }

    async fn apply_one(
        &mut self,
        entry: &openraft::Entry<Types>,
    ) -> Result<Vec<CommitAnswer>, OwnersError> {
        let answers = match read_entry(entry)? {
            Some(commits) => self.owners.apply(commits).await?,
            None => {
                self.owners.pass(entry.log_id.index).await;
                Vec::new()
            }
        };
        if let EntryPayload::Membership(membership) = &entry.payload {
            self.membership = StoredMembership::new(Some(entry.log_id), membership.clone());
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

impl RaftStateMachine<Types> for Machine {
    type SnapshotBuilder = Builder;

    async fn applied_state(
        &mut self,
    ) -> Result<(Option<LogId>, StoredMembership<u64, BasicNode>), Failure> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Vec<CommitAnswer>>, Failure>
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

    /// Freezes the pieces at once; they are written while entries go on being applied.
    async fn get_snapshot_builder(&mut self) -> Builder {
        let frozen = self.owners.freeze().await;
        self.growth.since_snapshot.store(0, Ordering::Relaxed);
        Builder {
            frozen: frozen.map(Arc::new),
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

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, Failure> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &Meta,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), Failure> {
        let stream = snapshot.into_inner();
        let parts = stream::check(&stream).map_err(cannot_snapshot)?;
        let kept = keep(&self.store, &self.growth, meta, &stream, parts).await?;
        self.owners.install(kept.current).await.map_err(|error| cannot_apply(&error))?;
        drop_former(&self.store, kept.former).await?;
        self.growth.since_snapshot.store(0, Ordering::Relaxed);
        self.applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, Failure> {
        loop {
            let Some(manifest) = self.store.trees().snapshot().map_err(cannot_read_log)? else {
                return Ok(None);
            };
            let (meta, number) = (read_meta(&manifest).map_err(cannot_read_log)?, manifest.number);
            let store = self.store.clone();
            let read =
                tokio::task::spawn_blocking(move || store.trees().snapshot_stream(&manifest))
                    .await
                    .map_err(cannot_read_log)?;
            match read {
                Ok(stream) => {
                    return Ok(Some(Snapshot { meta, snapshot: Box::new(Cursor::new(stream)) }));
                }
                Err(error) => {
                    // It may have been replaced while it was read; then the newer one is sought.
                    let current = self.store.trees().snapshot().map_err(cannot_read_log)?;
                    if current.is_none_or(|current| current.number == number) {
                        return Err(cannot_read_log(error));
                    }
                }
            }
        }
    }
}

/// The pieces at one index, on their way to the store.
pub(super) struct Builder {
    frozen: Result<Arc<FrozenPieces>, OwnersError>,
    meta: Meta,
    owners: Arc<Owners>,
    store: Arc<Store>,
    growth: Arc<Growth>,
}

impl RaftSnapshotBuilder<Types> for Builder {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, Failure> {
        let frozen = self.frozen.as_ref().map_err(cannot_apply)?.clone();
        let (stream, parts) = tokio::task::spawn_blocking(move || {
            let mut writer = StreamWriter::new();
            for (piece, frozen) in frozen.iter() {
                writer.begin(*piece);
                frozen.write(&mut |row| writer.row(row));
            }
            writer.finish()
        })
        .await
        .map_err(cannot_snapshot)?;
        let kept = keep(&self.store, &self.growth, &self.meta, &stream, parts).await?;
        tracing::info!(index = kept.current.index, bytes = stream.len(), "a snapshot was taken");
        self.owners.rebuild_from(kept.current).await;
        drop_former(&self.store, kept.former).await?;
        Ok(Snapshot { meta: self.meta.clone(), snapshot: Box::new(Cursor::new(stream)) })
    }
}

async fn keep(
    store: &Store,
    growth: &Growth,
    meta: &Meta,
    stream: &[u8],
    parts: Vec<stream::Part>,
) -> Result<Kept, Failure> {
    let encoded = postcard::to_stdvec(meta).map_err(cannot_snapshot)?;
    let index = meta.last_log_id.map_or(0, |log_id| log_id.index);
    let kept = store.keep_snapshot(index, encoded, stream, parts).await.map_err(cannot_snapshot)?;
    growth.snapshot_bytes.store(kept.current.bytes, Ordering::Relaxed);
    Ok(kept)
}

/// Drops a snapshot once no piece is rebuilt from it any more.
async fn drop_former(store: &Store, former: Option<SnapshotManifest>) -> Result<(), Failure> {
    match former {
        Some(former) => store.drop_snapshot(former).await.map_err(cannot_snapshot),
        None => Ok(()),
    }
}

fn read_meta(manifest: &SnapshotManifest) -> Result<Meta, StoreError> {
    postcard::from_bytes(&manifest.meta).map_err(|error| StoreError::Damaged {
        what: "the snapshot's description".to_owned(),
        why: error.to_string(),
    })
}
