//! `GET|HEAD /s/{id}/zip`: sends a shared directory as a ZIP archive without a temporary file.
//! Memory is needed only for the names.
//!
//! The archive has the files that existed at the start. It is aborted if a file changes while it is
//! read, or no longer exists under its name at its turn. Files that are added later are left out.

mod archive_limiter;
mod listed;
mod pending;
mod precheck;
mod tree;
mod write;

use std::sync::Arc;
use std::time::Duration;

use reelyard_file_server::http::response_head::BodyLength;
use reelyard_file_server::{CHECK_EVERY, SendFailure, SendWatch, Sending};
use reelyard_protocol::cluster::shared_files::SharedContents;
use reelyard_shares::share_expiry::{Share, ShareKind};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::download::{LONGEST_SILENCE, silent_node};
use super::link_head::{disposition, link_head};
use super::link_request::LinkRequest;
use crate::access::refusal::LinkRefusal;
use crate::access::roots::NotOpened;
use crate::other_nodes::PassedBytes;
use crate::state::{DisplayName, ShareServerState};

use archive_limiter::ArchiveSlot;

pub(crate) use archive_limiter::ArchiveLimiter;
pub(crate) use pending::PendingArchive;
pub(crate) use write::ArchiveChunk;

/// The longest time until another node sends the first chunk of an archive: it lists the whole directory before.
const LONGEST_LISTING: Duration = Duration::from_secs(60);

/// Answers one request for an archive. Returns the watch over the bytes that were sent.
pub(crate) async fn answer(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
) -> Result<Option<Box<dyn SendWatch>>, SendFailure> {
    let prepared = prepare(link_request, state).await;
    let send = |prepared| send(link_request, state, prepared);
    link_request.answer(state, prepared, |prepared| &prepared.share, send).await
}

/// An archive that is ready to be sent.
struct PreparedArchive {
    share: Arc<Share>,
    /// Chunks of the archive. None for HEAD.
    chunks: Option<ArchiveSource>,
}

/// Where an archive is made.
enum ArchiveSource {
    Here(mpsc::Receiver<ArchiveChunk>),
    Elsewhere(PassedArchive),
}

/// An archive that another node makes.
struct PassedArchive {
    bytes: PassedBytes,
    /// The first chunk, if it was awaited before the archive is sent.
    first: Option<ArchiveChunk>,
    /// The longest time until the next chunk. The other node lists the directory before the first one.
    longest_silence: Duration,
    _slot: ArchiveSlot,
}

impl PassedArchive {
    fn new(bytes: PassedBytes, slot: ArchiveSlot) -> Self {
        PassedArchive { bytes, first: None, longest_silence: LONGEST_LISTING, _slot: slot }
    }

    async fn next(&mut self) -> ArchiveChunk {
        if let Some(first) = self.first.take() {
            return first;
        }
        let chunk = match self.bytes.recv().await {
            Some(Ok(bytes)) => ArchiveChunk::Bytes(bytes.to_vec()),
            Some(Err(error)) => ArchiveChunk::Failed(error),
            None => ArchiveChunk::End,
        };
        self.longest_silence = LONGEST_SILENCE;
        chunk
    }

    /// Waits for the first chunk. An archive that never begins counts no download.
    async fn begun(mut self) -> Result<Self, LinkRefusal> {
        match timeout(LONGEST_LISTING, self.next()).await {
            Ok(first @ ArchiveChunk::Bytes(_)) => Ok(PassedArchive { first: Some(first), ..self }),
            Ok(ArchiveChunk::End | ArchiveChunk::Failed(_)) | Err(_) => Err(LinkRefusal::Failed),
        }
    }
}

impl ArchiveSource {
    async fn next(&mut self) -> Option<ArchiveChunk> {
        match self {
            ArchiveSource::Here(chunks) => chunks.recv().await,
            ArchiveSource::Elsewhere(archive) => Some(archive.next().await),
        }
    }

    /// Whether nothing came for too long. The own disk may be slow.
    fn is_silent(&self, since: Instant) -> bool {
        match self {
            ArchiveSource::Here(_) => false,
            ArchiveSource::Elsewhere(archive) => since.elapsed() >= archive.longest_silence,
        }
    }
}

async fn prepare(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
) -> Result<PreparedArchive, LinkRefusal> {
    let client = link_request.client(state);
    let share = state.find(link_request.id, client)?;
    state.check_access(&share, link_request.request.head, client).await?;
    state.check_downloads_left(&share, client)?;
    let opened = match state.open_share(&share) {
        Ok(opened) if opened.kind == ShareKind::Directory => opened,
        Ok(opened) => return Err(LinkRefusal::OtherKind { instead: opened.kind }),
        Err(why) => return prepare_elsewhere(link_request, state, share, why).await,
    };
    if link_request.is_head() {
        return Ok(PreparedArchive { share, chunks: None });
    }
    let slot = state.archives.acquire(client)?;
    // The check of a large tree is slow. It runs only if a counted download could be lost.
    let is_checked = share.downloads().is_some();
    let pending = PendingArchive::begin(opened.file, share.display_name(), is_checked, slot);
    let pending = pending.map_err(|error| {
        tracing::warn!(%error, "cannot start the thread of an archive");
        LinkRefusal::Failed
    })?;
    let ready = pending.checked().await.map_err(|why| {
        state.warnings.warn_unreadable(share.id(), &why);
        LinkRefusal::NoArchive(why.in_words())
    })?;
    state.count_download(&share, client, false).await?;
    let chunks = ready.send().map_err(|_| LinkRefusal::Failed)?;
    state.counts.archives.one();
    Ok(PreparedArchive { share, chunks: Some(ArchiveSource::Here(chunks)) })
}

/// The archive as another node makes it, if the root is away here.
async fn prepare_elsewhere(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
    share: Arc<Share>,
    why: NotOpened,
) -> Result<PreparedArchive, LinkRefusal> {
    let client = link_request.client(state);
    if link_request.is_head() {
        return match state.contents_elsewhere(&share, why).await? {
            SharedContents::Directory(_) => Ok(PreparedArchive { share, chunks: None }),
            SharedContents::File(_) => Err(LinkRefusal::OtherKind { instead: ShareKind::File }),
        };
    }
    let slot = state.archives.acquire(client)?;
    let mut archive = PassedArchive::new(state.archive_elsewhere(&share, why).await?, slot);
    if share.downloads().is_some() {
        archive = archive.begun().await?;
    }
    state.count_download(&share, client, false).await?;
    state.counts.archives.one();
    Ok(PreparedArchive { share, chunks: Some(ArchiveSource::Elsewhere(archive)) })
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
    chunks: &mut ArchiveSource,
) -> Result<Option<ArchiveChunk>, SendFailure> {
    let began = Instant::now();
    while !chunks.is_silent(began) {
        match timeout(CHECK_EVERY, chunks.next()).await {
            // An empty chunk would end the body.
            Ok(Some(ArchiveChunk::Bytes(bytes))) if bytes.is_empty() => {}
            Ok(chunk) => {
                sending.restart_time_limit();
                return Ok(chunk);
            }
            Err(_) => sending.check()?,
        }
    }
    Err(SendFailure::Unreadable(silent_node()))
}
