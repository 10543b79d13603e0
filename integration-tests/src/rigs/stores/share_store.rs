//! The store of a node, with many shares. They are written by their owner, many in one entry of its journal.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr};
use anyhow::{Context, Result};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::PieceId;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_shares::share_expiry::{
    Deadline, NewShare, RootName, ShareEvent, ShareExpiry, ShareExpirySettings, ShareId, ShareKind,
    ShareLimits, SharePath, ShareTable, ShareTerms, ShareViewHandle,
};

use crate::probes::waiting::PATIENCE;
use crate::rigs::stores::written_events::commit_events;

/// The event of a new share of a file.
pub fn created(id: ShareId, root: &RootName, path: String, deadline: Millis) -> Result<ShareEvent> {
    Ok(ShareEvent::Created(Box::new(NewShare {
        id,
        root: root.clone(),
        path: SharePath::new(path)?,
        kind: ShareKind::File,
        deadline: Deadline::at(deadline),
        noticed: true,
        owner: None,
        terms: ShareTerms::default(),
        room: ShareLimits::default(),
    })))
}

/// An open store, and the owner of its shares.
pub struct ShareStore {
    journal: Journal,
    /// The shares of the store.
    pub views: ShareViewHandle,
    /// The owner.
    pub expiry: Addr<ShareExpiry>,
}

impl ShareStore {
    /// Opens the store in this directory, or makes it. The owner decides when this returns.
    pub async fn open(dir: &Path, settings: ShareExpirySettings) -> Result<Self> {
        let journal = JournalOptions::alone(dir, 1);
        let journal = Journal::open(journal, Arc::new(NoPeers), &[PieceId::Shares]).await?;
        let (views, clock) = (ShareViewHandle::default(), Clock::system());
        let expiry = ShareExpiry::new(settings, clock, journal.clone(), views.clone()).start();
        let leading = async {
            while !views.is_up() || views.view().epoch.is_none() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, leading).await.context("the store never leads")?;
        Ok(ShareStore { journal, views, expiry })
    }

    /// Creates shares with these paths and deadlines.
    pub async fn create(
        &self,
        root: &RootName,
        shares: impl Iterator<Item = (String, Millis)>,
    ) -> Result<Vec<ShareId>> {
        let mut ids = Vec::new();
        let mut events = Vec::new();
        for (path, deadline) in shares {
            let id = ShareId::random()?;
            ids.push(id);
            events.push(created(id, root, path, deadline)?);
        }
        let epoch = self.views.view().epoch.context("no node leads")?;
        commit_events(&self.journal, epoch, ShareTable::default(), events).await?;
        Ok(ids)
    }

    /// Closes the store.
    pub async fn stop(self) {
        self.journal.stop().await;
    }
}
