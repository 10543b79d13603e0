//! Replaces every piece by its content in a snapshot from another node.

use std::fs::File;
use std::sync::Arc;

use tokio::sync::MutexGuard;

use super::{AppliedPosition, PieceOwners, RegisteredOwner, check_parts};
use crate::owner::OwnersError;
use crate::store::SnapshotManifest;
use crate::stream::StreamPart;

/// The owners while nothing is applied, frozen or rebuilt. The caller stores the snapshot, which drops the log, and
/// then installs it.
pub(crate) struct PieceInstall<'a> {
    owners: &'a PieceOwners,
    position: MutexGuard<'a, AppliedPosition>,
}

impl PieceOwners {
    /// Begins to replace every piece. Until the end no owner is rebuilt, because the log that it would need is
    /// dropped in the middle.
    pub(crate) async fn begin_install(&self) -> PieceInstall<'_> {
        PieceInstall { owners: self, position: self.apply_lock.lock().await }
    }
}

impl PieceOwners {
    /// Lets each owner read its rows in a received snapshot, before anything is replaced. Nothing is applied meanwhile.
    ///
    /// # Errors
    /// This node does not know a piece, or cannot read a row. The snapshot may be of another version of the program.
    pub(crate) async fn read_received(
        &self,
        snapshot: &Arc<File>,
        parts: &[StreamPart],
    ) -> Result<(), OwnersError> {
        check_parts(&self.pieces, parts)?;
        let _applies_nothing = self.apply_lock.lock().await;
        let registered = self.roster().owners.clone();
        for (piece, RegisteredOwner { owner, ticket, .. }) in registered {
            if !owner.reads(snapshot, parts).await? {
                self.dismiss(piece, ticket);
            }
        }
        Ok(())
    }
}

impl PieceInstall<'_> {
    /// Sends every owner its piece in the stored snapshot. Its parts were checked before it was stored.
    ///
    /// # Errors
    /// The snapshot cannot be read.
    pub(crate) async fn install(mut self, snapshot: SnapshotManifest) -> Result<(), OwnersError> {
        self.owners.position.give(&self.owners.pieces, snapshot.index + 1);
        let registered = self.owners.roster().owners.clone();
        if let Some(store) = self.position.store.clone() {
            for (piece, RegisteredOwner { owner, ticket, .. }) in registered {
                if !owner.install(&store, Some(&snapshot)).await? {
                    self.owners.dismiss(piece, ticket);
                }
            }
        }
        self.position.end = snapshot.index + 1;
        self.owners.position.apply(self.position.end);
        self.position.snapshot = Some(snapshot);
        Ok(())
    }
}
