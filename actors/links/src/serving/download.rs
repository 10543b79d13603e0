//! `GET|HEAD /s/{id}/file`: the bytes of a shared file.

use std::fs::Metadata;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use reelyard_shares::share_expiry::{Share, ShareKind};

use super::answer::{BodyLength, ResponseHead, disposition, media_type};
use super::conditions::{
    ConditionalResponse, Validators, answer as judge, http_date, resumes_another,
};
use super::watch::DownloadWatch;
use crate::access::refusal::LinkRefusal;
use crate::access::roots::OpenedShare;
use crate::connection::LinkRequest;
use crate::connections::socket::{SendFailure, Sending};
use crate::{DisplayName, ShareServerState};

/// Answers one request for a file. Returns the watch over the bytes that were sent.
pub(crate) async fn answer(
    asked: &LinkRequest<'_>,
    shared: &ShareServerState,
) -> Result<Option<DownloadWatch>, SendFailure> {
    match begin(asked, shared).await {
        Ok(begun) => send(asked, shared, begun).await,
        Err(refusal) => asked.refuse(&refusal, shared).await.map(|()| None),
    }
}

/// A file that is ready to be sent, or the answer instead of it.
struct PreparedDownload {
    share: Arc<Share>,
    opened: OpenedShare,
    size: u64,
    is: Validators,
    answer: ConditionalResponse,
}

impl PreparedDownload {
    /// The bytes of the body; none for an answer without a body.
    fn range(&self) -> Option<Range<u64>> {
        match &self.answer {
            ConditionalResponse::Whole => Some(0..self.size),
            ConditionalResponse::Part(range) => Some(range.clone()),
            ConditionalResponse::NotModified
            | ConditionalResponse::Failed
            | ConditionalResponse::Unsatisfiable => None,
        }
    }
}

async fn begin(
    asked: &LinkRequest<'_>,
    shared: &ShareServerState,
) -> Result<PreparedDownload, LinkRefusal> {
    let client = shared.client(asked.place.peer().ip(), asked.head.all("x-forwarded-for"));
    let share = shared.find(asked.id, client)?;
    shared.check_access(&share, asked.head, client).await?;
    shared.check_downloads_left(&share, client)?;
    let opened = shared.open(&share, ShareKind::File)?;
    let (is, size) = (validators(&opened.metadata), opened.metadata.size());
    let answer = judge(asked.head, &is, size);
    let begun = PreparedDownload { share, opened, size, is, answer };
    if begun.range().is_some() && !asked.is_head() {
        // A range that covers the whole file counts like a normal download.
        let ranged =
            matches!(&begun.answer, ConditionalResponse::Part(range) if *range != (0..size));
        let taken = shared.take(&begun.share, client, ranged).await;
        taken.map_err(|why| match shared.held(&begun.share, client, why) {
            LinkRefusal::Held if resumes_another(asked.head, &begun.is) => LinkRefusal::Replaced,
            why => why,
        })?;
        shared.counts.downloads.one();
    }
    Ok(begun)
}

async fn send(
    asked: &LinkRequest<'_>,
    shared: &ShareServerState,
    begun: PreparedDownload,
) -> Result<Option<DownloadWatch>, SendFailure> {
    let mut head = ResponseHead::new(begun.answer.status(), asked.keep_alive, shared.clock.now());
    describe(&mut head, &begun);
    let range = begun.range();
    let length = match (&begun.answer, &range) {
        (ConditionalResponse::NotModified, _) => BodyLength::NoBody,
        (_, Some(range)) => BodyLength::Bytes(range.end - range.start),
        (_, None) => BodyLength::Bytes(0),
    };
    let range = range.filter(|range| !asked.is_head() && !range.is_empty());
    let watch = range.is_some().then(|| shared.watch(&begun.share));
    let mut sending = Sending::new(asked.line, shared.patience(), watch);
    sending.bytes(&head.finish(length), range.is_some()).await?;
    let Some(range) = range else { return Ok(None) };
    let of_head = sending.sent();
    let sent = sending.file(&begun.opened, range).await;
    shared.counts.bytes.add(sending.sent() - of_head);
    sent.map(|()| sending.finish())
}

fn describe(head: &mut ResponseHead, begun: &PreparedDownload) {
    let PreparedDownload { share, is, answer, size, .. } = begun;
    head.line("ETag", &is.etag);
    head.line("Last-Modified", http_date(is.modified));
    head.line("Accept-Ranges", "bytes");
    // Caching is allowed, but a revalidation must notice that the link has ended.
    head.line("Cache-Control", "private, no-cache");
    match answer {
        ConditionalResponse::Part(range) => {
            head.line(
                "Content-Range",
                format_args!("bytes {}-{}/{size}", range.start, range.end - 1),
            );
        }
        ConditionalResponse::Unsatisfiable => {
            head.line("Content-Range", format_args!("bytes */{size}"))
        }
        ConditionalResponse::NotModified | ConditionalResponse::Failed => return,
        ConditionalResponse::Whole => {}
    }
    let name = share.display_name();
    head.line("Content-Type", media_type(name));
    head.line("Content-Disposition", disposition(name));
    // If a browser displays the file anyway, its scripts must not run.
    head.line("Content-Security-Policy", "sandbox; default-src 'none'");
}

/// The entity tag of a file, which a rename does not change. It is a hash, because device and inode
/// are internal.
fn validators(metadata: &Metadata) -> Validators {
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
