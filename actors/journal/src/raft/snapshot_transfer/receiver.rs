//! Receives one snapshot at a time into a file, checks it, and has it installed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Weak};

use openraft::{Snapshot, SnapshotMeta, Vote};
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Duration, Instant};

use super::{SnapshotPart, SnapshotProgress, SnapshotSource};
use crate::owners::PieceOwners;
use crate::raft::Raft;
use crate::raft::members::MemberNode;
use crate::raft::snapshot_body::SnapshotBody;
use crate::store::JournalStore;
use crate::stream::{BadStream, StreamChecker, StreamPart};

/// Bytes that are checked at once.
const PIECE_BYTES: usize = 256 << 10;

/// A refused snapshot is not fetched again for this time.
const REFUSED_FOR: Duration = Duration::from_secs(60);

/// After this time without a part, the bytes that arrived are dropped: the leader sends the log instead.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(60);

/// How often one snapshot is fetched again because it is damaged.
const REPEATS: u32 = 1;

/// Why a snapshot with all its bytes was not installed.
#[derive(Debug, thiserror::Error)]
enum NotInstalled {
    #[error("it is damaged: {0}")]
    Damaged(BadStream),
    #[error("this node cannot use it: {0}")]
    Unusable(String),
    #[error("this node has voted for another leader")]
    Outvoted,
    #[error("{0}")]
    Ended(String),
}

impl From<BadStream> for NotInstalled {
    fn from(bad: BadStream) -> Self {
        match bad {
            BadStream::Version(_) | BadStream::Piece(_) => NotInstalled::Unusable(bad.to_string()),
            bad => NotInstalled::Damaged(bad),
        }
    }
}

impl From<io::Error> for NotInstalled {
    fn from(error: io::Error) -> Self {
        NotInstalled::Unusable(error.to_string())
    }
}

/// The snapshot that another node sends to this one.
pub(in crate::raft) struct SnapshotReceiver {
    /// The store closes although this value lives.
    store: Weak<JournalStore>,
    owners: Arc<PieceOwners>,
    state: Mutex<ReceiverState>,
}

#[derive(Default)]
struct ReceiverState {
    incoming: Option<IncomingSnapshot>,
    /// The last snapshot that was not installed.
    refused: Option<RefusedSnapshot>,
}

struct IncomingSnapshot {
    source: SnapshotSource,
    stage: IncomingStage,
    last_part: Instant,
}

enum IncomingStage {
    /// The bytes before `have` are in the file.
    Receiving { file: Arc<File>, have: u64 },
    /// All bytes are there.
    Installing(JoinHandle<Result<Vote<u64>, NotInstalled>>),
}

struct RefusedSnapshot {
    source: SnapshotSource,
    why: String,
    at: Instant,
    /// How often it arrived damaged.
    damages: u32,
}

impl ReceiverState {
    /// Why parts of this snapshot are not taken now.
    fn refusal(&self, source: SnapshotSource) -> Option<&str> {
        let refused = self.refused.as_ref().filter(|refused| refused.source == source)?;
        let is_over = refused.damages <= REPEATS || refused.at.elapsed() > REFUSED_FOR;
        (!is_over).then_some(&*refused.why)
    }

    /// Takes the outcome of the installation that has ended. None if it leaves nothing to answer.
    fn ended(
        &mut self,
        source: SnapshotSource,
        outcome: Result<Vote<u64>, NotInstalled>,
    ) -> Option<SnapshotProgress> {
        let error = match outcome {
            Ok(vote) => return Some(SnapshotProgress::Done { vote: vote.into() }),
            Err(NotInstalled::Outvoted) => return None,
            Err(error) => error,
        };
        let before = self.refused.take().filter(|refused| refused.source == source);
        let damages = match &error {
            NotInstalled::Damaged(_) => {
                before.map_or(0, |refused| refused.damages).saturating_add(1)
            }
            _ => u32::MAX,
        };
        let why = format!("a received snapshot was not installed: {error}");
        tracing::warn!(from = source.node, bytes = source.bytes, why, "a snapshot cannot be used");
        self.refused = Some(RefusedSnapshot { source, why, at: Instant::now(), damages });
        None
    }
}

impl SnapshotReceiver {
    pub(in crate::raft) fn new(store: &Arc<JournalStore>, owners: Arc<PieceOwners>) -> Self {
        SnapshotReceiver { store: Arc::downgrade(store), owners, state: Mutex::default() }
    }

    /// Takes a part, and answers what the sender does next.
    pub(in crate::raft) async fn take(&self, raft: &Raft, part: SnapshotPart) -> SnapshotProgress {
        let (vote, applied) = {
            let metrics = raft.metrics();
            let metrics = metrics.borrow();
            (metrics.vote, metrics.last_applied)
        };
        let mut state = self.state.lock().await;
        let has_all = part.meta.last() <= applied;
        // A leader of an earlier term must not displace the snapshot of the current one.
        if has_all || vote > part.vote.into() {
            if has_all {
                state.incoming = None;
            }
            return SnapshotProgress::Done { vote: vote.into() };
        }
        if let Some(progress) = Self::outcome(&mut state, part.source).await {
            return progress;
        }
        if let Some(why) = state.refusal(part.source) {
            return SnapshotProgress::Failed { why: why.to_owned() };
        }
        match self.store_part(&mut state.incoming, raft, part).await {
            Ok(progress) => progress,
            Err(error) => {
                let why = format!("it cannot store the snapshot: {error}");
                tracing::warn!(why, "a part of a snapshot was not taken");
                SnapshotProgress::Failed { why }
            }
        }
    }

    /// Drops the bytes of a transfer that its sender has given up.
    pub(in crate::raft) fn drop_given_up(&self) {
        let Ok(mut state) = self.state.try_lock() else { return };
        let is_given_up = state.incoming.as_ref().is_some_and(|incoming| {
            matches!(incoming.stage, IncomingStage::Receiving { .. })
                && incoming.last_part.elapsed() > GIVEN_UP_AFTER
        });
        if is_given_up {
            state.incoming = None;
        }
    }

    /// The answer while an installation runs, or when it has just ended. None if the part belongs to a transfer that
    /// is still receiving, or that begins.
    async fn outcome(
        state: &mut ReceiverState,
        source: SnapshotSource,
    ) -> Option<SnapshotProgress> {
        let incoming = state.incoming.as_mut()?;
        let IncomingStage::Installing(task) = &mut incoming.stage else { return None };
        if !task.is_finished() {
            return Some(SnapshotProgress::Busy);
        }
        let outcome = match task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(NotInstalled::Ended(error.to_string())),
        };
        let installed = incoming.source;
        state.incoming = None;
        state.ended(installed, outcome).filter(|_| installed == source)
    }

    /// A caller may give up at any moment. Then the bytes before this part stay.
    async fn store_part(
        &self,
        incoming: &mut Option<IncomingSnapshot>,
        raft: &Raft,
        part: SnapshotPart,
    ) -> io::Result<SnapshotProgress> {
        let SnapshotPart { source, vote, meta, offset, data } = part;
        let (file, mut have) = match incoming.as_ref().filter(|begun| begun.source == source) {
            Some(IncomingSnapshot { stage: IncomingStage::Receiving { file, have }, .. }) => {
                (file.clone(), *have)
            }
            _ => (Arc::new(self.new_file().await?), 0),
        };
        let stage = IncomingStage::Receiving { file: file.clone(), have };
        *incoming = Some(IncomingSnapshot { source, stage, last_part: Instant::now() });
        if offset == have && !data.is_empty() {
            let next = have + data.len() as u64;
            if next > source.bytes {
                *incoming = None;
                return Err(io::Error::other("it is longer than its sender announced"));
            }
            let target = file.clone();
            spawn_blocking(move || target.write_all_at(&data, have)).await??;
            have = next;
        }
        let (stage, progress) = if have < source.bytes {
            let stage = IncomingStage::Receiving { file, have };
            (stage, SnapshotProgress::Wants { offset: have })
        } else {
            let install =
                install(raft.clone(), self.owners.clone(), file, meta.into(), vote.into());
            (IncomingStage::Installing(tokio::spawn(install)), SnapshotProgress::Busy)
        };
        *incoming = Some(IncomingSnapshot { source, stage, last_part: Instant::now() });
        Ok(progress)
    }

    async fn new_file(&self) -> io::Result<File> {
        let store =
            self.store.upgrade().ok_or_else(|| io::Error::other("the journal has stopped"))?;
        spawn_blocking(move || store.scratch_file()).await?
    }
}

/// Checks all bytes, and has openraft install them. Answers the vote of this node.
async fn install(
    raft: Raft,
    owners: Arc<PieceOwners>,
    file: Arc<File>,
    meta: SnapshotMeta<u64, MemberNode>,
    vote: Vote<u64>,
) -> Result<Vote<u64>, NotInstalled> {
    let checked = file.clone();
    let parts = match spawn_blocking(move || check(&checked)).await {
        Ok(checked) => checked?,
        Err(error) => return Err(NotInstalled::Ended(error.to_string())),
    };
    let read = owners.read_received(&file, &parts).await;
    read.map_err(|error| NotInstalled::Unusable(error.to_string()))?;
    let snapshot = Snapshot { meta, snapshot: Box::new(SnapshotBody::received(file, parts)) };
    match raft.install_full_snapshot(vote, snapshot).await {
        Ok(installed) if installed.vote == vote => Ok(vote),
        Ok(_) => Err(NotInstalled::Outvoted),
        Err(error) => Err(NotInstalled::Ended(error.to_string())),
    }
}

/// Reads the whole file and answers its parts.
fn check(file: &File) -> Result<Vec<StreamPart>, NotInstalled> {
    let mut checker = StreamChecker::new();
    let (mut at, mut piece) = (0, vec![0; PIECE_BYTES]);
    loop {
        let read = file.read_at(&mut piece, at)?;
        if read == 0 {
            return Ok(checker.finish()?);
        }
        checker.check_bytes(&piece[..read])?;
        at += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: SnapshotSource = SnapshotSource { node: 1, number: 4, bytes: 600 };

    fn after(outcomes: impl IntoIterator<Item = NotInstalled>) -> ReceiverState {
        let mut state = ReceiverState::default();
        for outcome in outcomes {
            assert_eq!(state.ended(SOURCE, Err(outcome)), None);
        }
        state
    }

    #[test]
    fn a_damaged_snapshot_is_fetched_again_once_and_then_rests() {
        let damaged = || NotInstalled::from(BadStream::Damaged);
        assert_eq!(after([damaged()]).refusal(SOURCE), None);
        let state = after([damaged(), damaged()]);
        assert!(state.refusal(SOURCE).is_some_and(|why| why.contains("cut short")));
        let newer = SnapshotSource { number: 5, ..SOURCE };
        assert_eq!(state.refusal(newer), None, "another snapshot may be whole");
    }

    #[test]
    fn a_snapshot_of_a_later_version_is_not_fetched_again_at_once() {
        for bad in [BadStream::Version(9), BadStream::Piece(200)] {
            let state = after([NotInstalled::from(bad)]);
            let why = state.refusal(SOURCE).unwrap_or_default();
            assert!(why.contains("start the version that wrote it"), "{why}");
        }
    }

    #[test]
    fn a_snapshot_that_a_newer_vote_stopped_is_neither_installed_nor_refused() {
        assert_eq!(after([NotInstalled::Outvoted]).refusal(SOURCE), None);
    }
}
