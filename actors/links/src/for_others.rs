//! The files and directories of this node's shares, for nodes that do not see their root.

use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use reelyard_file_server::SendWatch;
use reelyard_protocol::cluster::shared_files::{NotPassed, SharedContents, SharedFileFacts};
use reelyard_shares::share_expiry::{Share, ShareId, ShareKind, ShareLookup};
use tokio::sync::mpsc;

use crate::access::roots::{NotOpened, OpenedShare};
use crate::serving::archive::{ArchiveChunk, PendingArchive};
use crate::serving::download::validators;
use crate::serving::pages::listing::contents;
use crate::serving::watch::DownloadWatch;
use crate::state::{DisplayName, ShareServerState};

/// The most bytes of one read.
const PIECE: u64 = 256 << 10;

/// Opens files of shares for other nodes. Cheap to clone.
#[derive(Clone)]
pub struct SharedFiles(Arc<ShareServerState>);

/// A file that is open for another node.
pub struct FileForOther {
    opened: OpenedShare,
    facts: SharedFileFacts,
    watch: DownloadWatch,
    _counted: CountedForOther,
}

/// The archive of a directory, on its way to another node.
pub struct ArchiveForOther {
    chunks: mpsc::Receiver<ArchiveChunk>,
    watch: DownloadWatch,
    _counted: CountedForOther,
}

/// Counts a file for other nodes while it is open.
struct CountedForOther(Arc<ShareServerState>);

impl CountedForOther {
    fn begin(state: &Arc<ShareServerState>) -> Self {
        state.for_others.send_modify(|open| *open += 1);
        CountedForOther(Arc::clone(state))
    }
}

impl Drop for CountedForOther {
    fn drop(&mut self) {
        self.0.for_others.send_modify(|open| *open -= 1);
    }
}

impl SharedFiles {
    pub(crate) fn new(state: &Arc<ShareServerState>) -> Self {
        SharedFiles(Arc::clone(state))
    }

    /// Opens the file of a share. Blocks on the disk.
    ///
    /// # Errors
    /// This node does not have it either, or cannot say so now.
    pub fn open(&self, id: ShareId) -> Result<FileForOther, NotPassed> {
        let state = &self.0;
        let (share, opened) = self.opened(id)?;
        if opened.kind != ShareKind::File {
            return Err(NotPassed::Absent);
        }
        let current = validators(&opened.metadata);
        let size = opened.metadata.size();
        let facts = SharedFileFacts { size, etag: current.etag, modified: current.modified };
        let (watch, counted) = (state.watch(&share), CountedForOther::begin(state));
        Ok(FileForOther { opened, facts, watch, _counted: counted })
    }

    /// The contents of a share, for its page. Blocks on the disk.
    ///
    /// # Errors
    /// Those of [`SharedFiles::open`].
    pub fn contents(&self, id: ShareId) -> Result<SharedContents, NotPassed> {
        let (_, opened) = self.opened(id)?;
        contents(&opened).map_err(|error| not_passed(&NotOpened::Failed(error)))
    }

    /// Begins the archive of a shared directory. With `is_checked` it opens all files first.
    ///
    /// # Errors
    /// Those of [`SharedFiles::open`], and a file that cannot be opened.
    pub async fn archive(
        &self,
        id: ShareId,
        is_checked: bool,
    ) -> Result<ArchiveForOther, NotPassed> {
        let state = &self.0;
        let slot = state.archives.acquire_for_node().ok_or(NotPassed::Unknown)?;
        let files = self.clone();
        let opening = tokio::task::spawn_blocking(move || files.opened(id));
        let (share, opened) = opening.await.map_err(|_| NotPassed::Unknown)??;
        if opened.kind != ShareKind::Directory {
            return Err(NotPassed::Absent);
        }
        let name = share.display_name();
        let pending = PendingArchive::begin(opened.file, name, is_checked, slot);
        let pending = pending.map_err(|error| not_passed(&NotOpened::Failed(error)))?;
        let chunks = pending.checked().await.and_then(|ready| ready.send()).map_err(|why| {
            state.warnings.warn_unreadable(id, &why);
            NotPassed::NoArchive(why.in_words())
        })?;
        let (watch, counted) = (state.watch(&share), CountedForOther::begin(state));
        Ok(ArchiveForOther { chunks, watch, _counted: counted })
    }

    fn opened(&self, id: ShareId) -> Result<(Arc<Share>, OpenedShare), NotPassed> {
        let state = &self.0;
        let ShareLookup::Live(share) = state.views.find(id) else {
            return Err(NotPassed::Unknown);
        };
        if (state.not_ready)().is_some() || !share.is_live(state.refusal_time()) {
            return Err(NotPassed::Unknown);
        }
        match state.open_share(&share) {
            Ok(opened) => Ok((share, opened)),
            Err(why) => {
                tracing::debug!(?id, %why, "another node asked for a file that is not here");
                Err(not_passed(&why))
            }
        }
    }
}

/// The answer for another node.
fn not_passed(why: &NotOpened) -> NotPassed {
    match why {
        NotOpened::NoRoot | NotOpened::Away(_) => NotPassed::Away,
        NotOpened::Failed(_) => NotPassed::Unknown,
        NotOpened::Absent | NotOpened::Outside | NotOpened::Special | NotOpened::Denied => {
            NotPassed::Absent
        }
    }
}

impl ArchiveForOther {
    /// The next bytes. None is the end.
    ///
    /// # Errors
    /// The link has ended, this node does not hear the leader, or the directory cannot be read or has changed.
    pub async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let chunk = self.chunks.recv().await;
        if !self.watch.may_continue() {
            return Some(Err(io::Error::other("the answer was cut")));
        }
        match chunk {
            Some(ArchiveChunk::Bytes(bytes)) => Some(Ok(bytes)),
            Some(ArchiveChunk::End) => None,
            Some(ArchiveChunk::Failed(error)) => Some(Err(error)),
            None => Some(Err(io::Error::other("the writer of the archive stopped"))),
        }
    }
}

impl FileForOther {
    /// Its state when it was opened.
    pub fn facts(&self) -> &SharedFileFacts {
        &self.facts
    }

    /// The next bytes of a range that begins at `from`. Blocks on the disk.
    ///
    /// # Errors
    /// The link has ended, this node does not hear the leader, or the file cannot be read or has changed.
    pub fn read(&mut self, from: u64, end: u64) -> io::Result<Vec<u8>> {
        if !self.watch.may_continue() {
            return Err(io::Error::other("the answer was cut"));
        }
        let length = end.saturating_sub(from).min(PIECE);
        let mut piece = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.opened.file.read_exact_at(&mut piece, from)?;
        // Checked before the last bytes leave, as for a visitor of this node.
        if from + length == end && !self.opened.is_unchanged()? {
            return Err(io::Error::other("the file changed while it was sent"));
        }
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_at_one_file_says_nothing_about_its_root() {
        let failed = NotOpened::Failed(io::Error::other("too many open files"));
        assert_eq!(not_passed(&failed), NotPassed::Unknown);
        assert_eq!(not_passed(&NotOpened::Away("it is another one".to_owned())), NotPassed::Away);
        assert_eq!(not_passed(&NotOpened::NoRoot), NotPassed::Away);
        assert_eq!(not_passed(&NotOpened::Absent), NotPassed::Absent);
    }
}
