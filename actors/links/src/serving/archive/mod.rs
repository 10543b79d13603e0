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

use reelyard_file_server::http::response_head::BodyLength;
use reelyard_file_server::{CHECK_EVERY, SendFailure, SendWatch, Sending};
use reelyard_shares::share_expiry::{Share, ShareKind};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::archive::precheck::check_archive;
use super::archive::write::ArchiveChunk;
use super::link_head::{disposition, link_head};
use super::link_request::LinkRequest;
use crate::access::refusal::LinkRefusal;
use crate::state::{DisplayName, ShareServerState};

pub(crate) use archive_limiter::ArchiveLimiter;

/// Largest number of chunks that wait for the client.
const AHEAD: usize = 4;

/// Answers one request for an archive. Returns the watch over the bytes that were sent.
pub(crate) async fn answer(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
) -> Result<Option<Box<dyn SendWatch>>, SendFailure> {
    let prepared = prepare(link_request, state).await;
    let checked = prepared.and_then(|prepared| {
        state.check_still_live(&prepared.share)?;
        Ok(prepared)
    });
    match checked {
        Ok(prepared) => send(link_request, state, prepared).await,
        Err(refusal) => link_request.refuse(&refusal, state).await.map(|()| None),
    }
}

/// An archive that is ready to be sent.
struct PreparedArchive {
    share: Arc<Share>,
    /// Chunks of the archive. None for HEAD.
    chunks: Option<mpsc::Receiver<ArchiveChunk>>,
}

async fn prepare(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
) -> Result<PreparedArchive, LinkRefusal> {
    let client = link_request.client(state);
    let share = state.find(link_request.id, client)?;
    state.check_access(&share, link_request.request.head, client).await?;
    state.check_downloads_left(&share, client)?;
    let opened = state.open(&share, ShareKind::Directory)?;
    if link_request.is_head() {
        return Ok(PreparedArchive { share, chunks: None });
    }
    let slot = state.archives.acquire(client)?;
    let (sender, chunks) = mpsc::channel(AHEAD);
    let (checked, check) = oneshot::channel();
    let (may_begin, begins) = oneshot::channel::<()>();
    let (name, is_limited) = (share.display_name().to_owned(), share.downloads().is_some());
    // Its own thread, because it waits for disks and for the client.
    let started = std::thread::Builder::new().name("share-zip".into()).spawn(move || {
        let _slot = slot;
        // The check of a large tree is slow. It runs only if a counted download could be lost.
        let is_awaited = || !checked.is_closed();
        let found = match is_limited {
            true => check_archive(&opened.file, &name, is_awaited),
            false => Ok(()),
        };
        let is_good = found.is_ok();
        if checked.send(found).is_ok() && is_good && begins.blocking_recv().is_ok() {
            write::archive(opened.file, &name, sender);
        }
    });
    if let Err(error) = started {
        tracing::warn!(%error, "cannot start the thread of an archive");
        return Err(LinkRefusal::Failed);
    }
    match check.await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => {
            state.warnings.warn_unreadable(share.id(), &why);
            return Err(LinkRefusal::NoArchive(why.in_words()));
        }
        Err(_) => return Err(LinkRefusal::Failed),
    }
    state.count_download(&share, client, false).await?;
    may_begin.send(()).map_err(|()| LinkRefusal::Failed)?;
    state.counts.archives.one();
    Ok(PreparedArchive { share, chunks: Some(chunks) })
}

async fn send(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
    prepared: PreparedArchive,
) -> Result<Option<Box<dyn SendWatch>>, SendFailure> {
    let PreparedArchive { share, chunks } = prepared;
    let request = link_request.request;
    link_request.sent.begin(200);
    let is_chunked = request.head.is_1_1;
    let mut head = link_head((200, "OK"), link_request.keep_alive, state.clock.now());
    head.header("Content-Type", "application/zip");
    head.header("Content-Disposition", disposition(&format!("{}.zip", share.display_name())));
    head.header("Accept-Ranges", "none");
    head.header("Cache-Control", "private, no-store");
    let length = if is_chunked { BodyLength::Chunked } else { BodyLength::UntilClosed };
    let head = head.finish(length);
    let Some(mut chunks) = chunks else { return request.send(&head).await.map(|()| None) };
    if !is_chunked {
        request.begin_body_until_close();
    }
    let mut sending = request.sending(Some(Box::new(state.watch(&share))));
    sending.bytes(&head, true).await?;
    loop {
        match next(&mut sending, &mut chunks).await? {
            Some(ArchiveChunk::Bytes(bytes)) => {
                if is_chunked {
                    sending.bytes(format!("{:x}\r\n", bytes.len()).as_bytes(), true).await?;
                }
                sending.bytes(&bytes, false).await?;
                state.counts.bytes.add(bytes.len() as u64);
                link_request.sent.add(bytes.len() as u64);
                if is_chunked {
                    sending.bytes(b"\r\n", true).await?;
                }
            }
            Some(ArchiveChunk::End) => {
                if is_chunked {
                    sending.bytes(b"0\r\n\r\n", false).await?;
                } else {
                    request.complete_body_until_close();
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
    chunks: &mut mpsc::Receiver<ArchiveChunk>,
) -> Result<Option<ArchiveChunk>, SendFailure> {
    loop {
        match timeout(CHECK_EVERY, chunks.recv()).await {
            Ok(chunk) => {
                sending.restart_time_limit();
                return Ok(chunk);
            }
            Err(_) => sending.check()?,
        }
    }
}
