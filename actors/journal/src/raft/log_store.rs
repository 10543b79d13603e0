//! openraft's log, vote and committed position, in the store.

use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{LogState, OptionalSend, RaftLogReader, Vote};

use super::{
    LogId, RaftStorageError, Types, cannot_read_log, cannot_write_log, decode_entry, encode_entry,
};
use crate::store::{JournalStore, Purged, StoreError, Trees};

/// The log of this node, as openraft uses it. Clones share one store.
#[derive(Clone)]
pub(super) struct LogStore {
    store: Arc<JournalStore>,
}

impl LogStore {
    pub(super) fn new(store: Arc<JournalStore>) -> Self {
        LogStore { store }
    }

    async fn trees(&self) -> Result<Arc<Trees>, RaftStorageError> {
        self.store.trees().await.map_err(cannot_read_log)
    }
}

fn purged(trees: &Trees) -> Result<Option<LogId>, RaftStorageError> {
    let purged = trees.head().purged;
    purged.map(|purged| postcard::from_bytes(&purged.log_id).map_err(cannot_read_log)).transpose()
}

impl RaftLogReader<Types> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<openraft::Entry<Types>>, RaftStorageError> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u64::MAX,
        };
        let rows = self.trees().await?.log.read(start..end).map_err(cannot_read_log)?;
        rows.iter().map(|(_, stored)| decode_entry(stored).map_err(cannot_read_log)).collect()
    }
}

impl RaftLogStorage<Types> for LogStore {
    type LogReader = LogStore;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, RaftStorageError> {
        let trees = self.trees().await?;
        let last_purged_log_id = purged(&trees)?;
        let last = trees.log.last().map_err(cannot_read_log)?;
        let last = last
            .map(|(_, stored)| decode_entry(&stored).map(|entry| entry.log_id))
            .transpose()
            .map_err(cannot_read_log)?;
        // A partly purged segment still contains purged rows.
        Ok(LogState { last_purged_log_id, last_log_id: last.max(last_purged_log_id) })
    }

    async fn get_log_reader(&mut self) -> LogStore {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> Result<(), RaftStorageError> {
        let encoded = postcard::to_stdvec(vote).map_err(cannot_encode)?;
        self.store.vote(encoded).await.map_err(cannot_write_log)
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<u64>>, RaftStorageError> {
        let vote = self.trees().await?.head().vote;
        vote.map(|vote| postcard::from_bytes(&vote).map_err(cannot_read_log)).transpose()
    }

    /// Neither flushed separately nor waited for. If it is lost, the next start only waits
    /// until the leader sends it.
    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), RaftStorageError> {
        if let Some(trees) = self.store.open_trees()
            && let Err(error) = trees.put_committed(&committed)
        {
            tracing::debug!(%error, "the committed position could not be stored");
        }
        Ok(())
    }

    /// A store that lost its end may have a position behind its end. Then the position is
    /// unknown.
    async fn read_committed(&mut self) -> Result<Option<LogId>, RaftStorageError> {
        let trees = self.trees().await?;
        let committed: Option<Option<LogId>> = trees.committed().map_err(cannot_read_log)?;
        let end = trees.log.end();
        Ok(committed.flatten().filter(|committed| committed.index < end))
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: LogFlushed<Types>,
    ) -> Result<(), RaftStorageError>
    where
        I: IntoIterator<Item = openraft::Entry<Types>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let rows = entries
            .into_iter()
            .map(|entry| Ok((entry.log_id.index, encode_entry(&entry)?)))
            .collect::<Result<Vec<_>, postcard::Error>>()
            .map_err(cannot_encode)?;
        let written = self.store.write(move |trees| trees.log.append(&rows)).await;
        callback.log_io_completed(written.clone().map_err(std::io::Error::other));
        written.map_err(cannot_write_log)
    }

    async fn truncate(&mut self, log_id: LogId) -> Result<(), RaftStorageError> {
        self.store.truncate(log_id.index).await.map_err(cannot_write_log)
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), RaftStorageError> {
        let log_id_encoded = postcard::to_stdvec(&log_id).map_err(cannot_encode)?;
        let purged = Purged { index: log_id.index, log_id: log_id_encoded };
        self.store.purge(purged).await.map_err(cannot_write_log)
    }
}

fn cannot_encode(error: postcard::Error) -> RaftStorageError {
    cannot_write_log(StoreError::Io(error.to_string()))
}
