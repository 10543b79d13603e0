//! `GET|HEAD /s/{id}/file`: the bytes of a shared file.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Bytes;
use reelyard_file_server::http::conditions::{
    ConditionalResponse, Validators, evaluate, http_date, resumes_another,
};
use reelyard_file_server::http::response_head::{BodyLength, ResponseHead};
use reelyard_file_server::{CHECK_EVERY, FileBody, SendFailure, SendWatch, Sending};
use reelyard_protocol::cluster::shared_files::SharedFileFacts;
use reelyard_shares::share_expiry::Share;
use tokio::time::{Instant, timeout};

use super::link_head::{disposition, link_head, media_type};
use super::link_request::LinkRequest;
use crate::access::refusal::LinkRefusal;
use crate::access::roots::OpenedShare;
use crate::other_nodes::PassedBytes;
use crate::serving::file_source::FileSource;
use crate::state::{DisplayName, ShareServerState};

/// A download ends if the node with its file sends nothing for this long.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_secs(10);

/// Answers one request for a file. Returns the watch over the bytes that were sent.
pub(crate) async fn answer(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
) -> Result<Option<Box<dyn SendWatch>>, SendFailure> {
    let prepared = prepare(link_request, state).await;
    let send = |prepared| send(link_request, state, prepared);
    link_request.answer(state, prepared, |prepared| &prepared.share, send).await
}

/// A file that is ready to be sent, or the answer instead of it.
struct PreparedDownload {
    share: Arc<Share>,
    body: DownloadBody,
    size: u64,
    current: Validators,
    response: ConditionalResponse,
}

/// The bytes of a download.
enum DownloadBody {
    /// A file of this node.
    File(OpenedShare),
    /// The selected bytes, as another node sends them.
    Passed(PassedBytes),
    /// The answer has no bytes.
    None,
}

async fn prepare(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
) -> Result<PreparedDownload, LinkRefusal> {
    let (head, client) = (link_request.request.head, link_request.client(state));
    let share = state.find(link_request.id, client)?;
    state.check_access(&share, head, client).await?;
    state.check_downloads_left(&share, client)?;
    let source = state.file_of(&share).await?;
    let (current, size) = match &source {
        FileSource::Here(opened) => (validators(&opened.metadata), opened.metadata.size()),
        FileSource::Elsewhere(file) => {
            let SharedFileFacts { size, etag, modified } = file.facts().clone();
            (Validators { etag, modified }, size)
        }
    };
    let response = evaluate(head, &current, size);
    let range = response.range(size).filter(|_| !link_request.is_head());
    let body = match (source, range.clone().filter(|range| !range.is_empty())) {
        (_, None) => DownloadBody::None,
        (FileSource::Here(opened), Some(_)) => DownloadBody::File(opened),
        // Nothing is counted for a file that the other node does not send.
        (FileSource::Elsewhere(mut file), Some(range)) => {
            let fetched = file.fetch(range).await;
            DownloadBody::Passed(fetched.map_err(|error| state.not_fetched(&share, &error))?)
        }
    };
    let prepared = PreparedDownload { share, body, size, current, response };
    if range.is_some() {
        // A range that covers the whole file counts like a normal download.
        let ranged =
            matches!(&prepared.response, ConditionalResponse::Part(range) if *range != (0..size));
        let taken = state.count_download(&prepared.share, client, ranged).await;
        taken.map_err(|why| match state.held(&prepared.share, client, why) {
            LinkRefusal::Held if resumes_another(head, &prepared.current) => LinkRefusal::Replaced,
            why => why,
        })?;
        state.counts.downloads.one();
    }
    Ok(prepared)
}

async fn send(
    link_request: &LinkRequest<'_>,
    state: &ShareServerState,
    prepared: PreparedDownload,
) -> Result<Option<Box<dyn SendWatch>>, SendFailure> {
    let status = prepared.response.status();
    link_request.sent.begin(status.0);
    let mut head = link_head(status, link_request.keep_alive, state.clock.now());
    describe(&mut head, &prepared);
    let range = prepared.response.range(prepared.size);
    let length = match (&prepared.response, &range) {
        (ConditionalResponse::NotModified, _) => BodyLength::NoBody,
        (_, Some(range)) => BodyLength::Bytes(range.end - range.start),
        (_, None) => BodyLength::Bytes(0),
    };
    let head = head.finish(length);
    let range = match (&prepared.body, range) {
        (DownloadBody::None, _) | (_, None) => {
            return link_request.request.send(&head).await.map(|()| None);
        }
        (_, Some(range)) => range,
    };
    let mut sending = link_request.request.sending(Some(Box::new(state.watch(&prepared.share))));
    sending.bytes(&head, true).await?;
    let of_head = sending.sent();
    let sent = match prepared.body {
        DownloadBody::File(opened) => sending.file(&opened, range).await,
        DownloadBody::Passed(bytes) => {
            pass_through(&mut sending, bytes, range.end - range.start).await
        }
        DownloadBody::None => Ok(()),
    };
    state.counts.bytes.add(sending.sent() - of_head);
    link_request.sent.add(sending.sent() - of_head);
    sent.map(|()| sending.finish())
}

/// Sends `length` bytes as they arrive from another node.
async fn pass_through(
    sending: &mut Sending<'_>,
    mut bytes: PassedBytes,
    length: u64,
) -> Result<(), SendFailure> {
    let mut left = length;
    while left > 0 {
        let piece = match bytes.try_recv() {
            Ok(piece) => Some(piece),
            Err(_) => {
                let check = || sending.check().and_then(|()| sending.check_client());
                let piece = next_piece(&mut bytes, check).await?;
                // The client was not slow: it waited for the other node.
                sending.restart_time_limit();
                piece
            }
        };
        let ended = || io::Error::other("the node with the file ended the transfer");
        let piece = piece.unwrap_or_else(|| Err(ended()));
        let piece = piece.map_err(SendFailure::Unreadable)?;
        let taken = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        sending.bytes(&piece[..taken], true).await?;
        left -= taken as u64;
    }
    sending.bytes(&[], false).await
}

/// Waits for the next piece, while `check` allows it. None is the end.
async fn next_piece(
    bytes: &mut PassedBytes,
    mut check: impl FnMut() -> Result<(), SendFailure>,
) -> Result<Option<io::Result<Bytes>>, SendFailure> {
    let began = Instant::now();
    while began.elapsed() < LONGEST_SILENCE {
        if let Ok(piece) = timeout(CHECK_EVERY, bytes.recv()).await {
            return Ok(piece);
        }
        check()?;
    }
    Err(SendFailure::Unreadable(silent_node()))
}

/// Another node sent nothing for [`LONGEST_SILENCE`].
pub(super) fn silent_node() -> io::Error {
    let seconds = LONGEST_SILENCE.as_secs();
    let silent = format!("the node with the file sent nothing for {seconds} s");
    io::Error::new(io::ErrorKind::TimedOut, silent)
}

impl FileBody for OpenedShare {
    fn file(&self) -> &File {
        &self.file
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        OpenedShare::is_unchanged(self)
    }

    /// Bytes are counted at the end of the download.
    fn record_sent(&self, _count: u64, _position: u64) {}
}

fn describe(head: &mut ResponseHead, prepared: &PreparedDownload) {
    let PreparedDownload { share, current, response, size, .. } = prepared;
    head.header("ETag", &current.etag);
    head.header("Last-Modified", http_date(current.modified));
    head.header("Accept-Ranges", "bytes");
    // Caching is allowed, but a revalidation must notice that the link has ended.
    head.header("Cache-Control", "private, no-cache");
    response.describe_range(head, *size);
    if matches!(response, ConditionalResponse::NotModified | ConditionalResponse::Failed) {
        return;
    }
    let name = share.display_name();
    head.header("Content-Type", media_type(name));
    head.header("Content-Disposition", disposition(name));
    // If a browser displays the file anyway, its scripts must not run.
    head.header("Content-Security-Policy", "sandbox; default-src 'none'");
}

/// The entity tag of a file, which a rename does not change. It is a hash, because device and inode
/// are internal.
pub(crate) fn validators(metadata: &Metadata) -> Validators {
    let mut hasher = blake3::Hasher::new();
    for part in [metadata.dev(), metadata.ino(), metadata.size()] {
        hasher.update(&part.to_le_bytes());
    }
    for part in [metadata.mtime(), metadata.mtime_nsec()] {
        hasher.update(&part.to_le_bytes());
    }
    let hash = hasher.finalize().to_hex();
    let modified = u64::try_from(metadata.mtime()).unwrap_or(0);
    Validators { etag: format!("\"{}\"", &hash[..24]), modified }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_node_ends_the_download_after_ten_seconds() {
        let (sender, mut bytes) = mpsc::channel(1);
        let mut checks = 0;
        let began = Instant::now();
        let ended = next_piece(&mut bytes, || {
            checks += 1;
            Ok(())
        });
        let ended = ended.await.unwrap_err();
        assert!(matches!(ended, SendFailure::Unreadable(_)), "{ended}");
        assert_eq!((began.elapsed(), checks), (LONGEST_SILENCE, 40));
        sender.send(Ok(Bytes::from_static(b"late"))).await.unwrap();
        let piece = next_piece(&mut bytes, || Ok(())).await.unwrap();
        assert_eq!(piece.unwrap().unwrap(), "late");
    }

    #[tokio::test(start_paused = true)]
    async fn a_visitor_who_leaves_ends_the_wait() {
        let (_sender, mut bytes) = mpsc::channel(1);
        let began = Instant::now();
        let left = next_piece(&mut bytes, || Err(SendFailure::Left)).await.unwrap_err();
        assert!(matches!(left, SendFailure::Left), "{left}");
        assert_eq!(began.elapsed(), CHECK_EVERY);
    }
}
