//! `GET|HEAD /s/{id}/zip`: sends a shared directory as a ZIP archive without a temporary file.
//! Memory is needed only for the names.
//!
//! The archive has the files that existed at the start. It is aborted if a file changes while it is
//! read, or no longer exists under its name at its turn. Files that are added later are left out.

mod archive_limiter;
mod listed;
mod precheck;
mod tree;
mod write;

use std::sync::Arc;
use std::time::Duration;

use reelyard_shares::share_expiry::{Share, ShareKind};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::answer::{BodyLength, ResponseHead, disposition};
pub(crate) use super::archive::archive_limiter::ArchiveLimiter;
use super::archive::precheck::check_archive;
use super::archive::write::ArchiveChunk;
use super::watch::{DownloadWatch, LOOK_EVERY};
use crate::access::refusal::LinkRefusal;
use crate::connection::LinkRequest;
use crate::connections::socket::{SendFailure, Sending};
use crate::{DisplayName, ShareServerState};

/// Largest number of chunks that wait for the client.
const AHEAD: usize = 4;

/// Answers one request for an archive. Returns the watch over the bytes that were sent.
pub(crate) async fn answer(
    asked: &LinkRequest<'_>,
    shared: &ShareServerState,
) -> Result<Option<DownloadWatch>, SendFailure> {
    match begin(asked, shared).await {
        Ok(begun) => send(asked, shared, begun).await,
        Err(refusal) => asked.refuse(&refusal, shared).await.map(|()| None),
    }
}

/// An archive that is ready to be sent.
struct PreparedArchive {
    share: Arc<Share>,
    /// Chunks of the archive. None for HEAD.
    pieces: Option<mpsc::Receiver<ArchiveChunk>>,
}

async fn begin(
    asked: &LinkRequest<'_>,
    shared: &ShareServerState,
) -> Result<PreparedArchive, LinkRefusal> {
    let client = shared.client(asked.place.peer().ip(), asked.head.all("x-forwarded-for"));
    let share = shared.find(asked.id, client)?;
    shared.check_access(&share, asked.head, client).await?;
    shared.check_downloads_left(&share, client)?;
    let opened = shared.open(&share, ShareKind::Directory)?;
    if asked.is_head() {
        return Ok(PreparedArchive { share, pieces: None });
    }
    let turn = shared.archives.take(client)?;
    let (sender, pieces) = mpsc::channel(AHEAD);
    let (surveyed, found) = oneshot::channel();
    let (may_begin, begins) = oneshot::channel::<()>();
    let (name, is_limited) = (share.display_name().to_owned(), share.downloads().is_some());
    // Its own thread, because it waits for disks and for the client.
    let began = std::thread::Builder::new().name("share-zip".into()).spawn(move || {
        let _turn = turn;
        // The check of a large tree is slow. It runs only if a counted download could be lost.
        let waits = || !surveyed.is_closed();
        let found = if is_limited { check_archive(&opened.file, &name, waits) } else { Ok(()) };
        let is_good = found.is_ok();
        if surveyed.send(found).is_ok() && is_good && begins.blocking_recv().is_ok() {
            write::archive(opened.file, &name, sender);
        }
    });
    if let Err(error) = began {
        tracing::warn!(%error, "cannot start the thread of an archive");
        return Err(LinkRefusal::Failed);
    }
    match found.await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => {
            shared.complaints.warn_unreadable(share.id(), &why);
            return Err(LinkRefusal::NoArchive(why.in_words()));
        }
        Err(_) => return Err(LinkRefusal::Failed),
    }
    shared.take(&share, client, false).await?;
    may_begin.send(()).map_err(|()| LinkRefusal::Failed)?;
    shared.counts.archives.one();
    Ok(PreparedArchive { share, pieces: Some(pieces) })
}

async fn send(
    asked: &LinkRequest<'_>,
    shared: &ShareServerState,
    begun: PreparedArchive,
) -> Result<Option<DownloadWatch>, SendFailure> {
    let PreparedArchive { share, pieces } = begun;
    let chunked = asked.head.is_1_1;
    let mut head = ResponseHead::new((200, "OK"), asked.keep_alive, shared.clock.now());
    head.line("Content-Type", "application/zip");
    head.line("Content-Disposition", disposition(&format!("{}.zip", share.display_name())));
    head.line("Accept-Ranges", "none");
    head.line("Cache-Control", "private, no-store");
    let watch = pieces.is_some().then(|| shared.watch(&share));
    let mut sending = Sending::new(asked.line, shared.patience(), watch);
    let length = if chunked { BodyLength::Chunked } else { BodyLength::UntilClosed };
    if !chunked && pieces.is_some() {
        // The body ends with the connection. Until it is complete, every other end must be a reset,
        // even if this process dies.
        asked.line.discard_unsent();
    }
    sending.bytes(&head.finish(length), pieces.is_some()).await?;
    let Some(mut pieces) = pieces else { return Ok(None) };
    loop {
        match next(&mut sending, &mut pieces).await? {
            Some(ArchiveChunk::Bytes(bytes)) => {
                if chunked {
                    sending.bytes(format!("{:x}\r\n", bytes.len()).as_bytes(), true).await?;
                }
                sending.bytes(&bytes, false).await?;
                shared.counts.bytes.add(bytes.len() as u64);
                if chunked {
                    sending.bytes(b"\r\n", true).await?;
                }
            }
            Some(ArchiveChunk::End) => {
                if chunked {
                    sending.bytes(b"0\r\n\r\n", false).await?;
                } else {
                    asked.line.keep_unsent();
                }
                return Ok(sending.finish());
            }
            // The archive has no central directory and the body no end, so the client sees the
            // failure.
            Some(ArchiveChunk::Failed(error)) => return Err(SendFailure::Unreadable(error)),
            None => {
                let error = std::io::Error::other("the archive is incomplete: its writer stopped");
                return Err(SendFailure::Unreadable(error));
            }
        }
    }
}

/// The next chunk. The download can also be cut while the disk is slow.
async fn next(
    sending: &mut Sending<'_>,
    pieces: &mut mpsc::Receiver<ArchiveChunk>,
) -> Result<Option<ArchiveChunk>, SendFailure> {
    const EVERY: Duration = LOOK_EVERY;
    loop {
        match timeout(EVERY, pieces.recv()).await {
            Ok(piece) => {
                sending.waited_for_us();
                return Ok(piece);
            }
            Err(_) => sending.check()?,
        }
    }
}
