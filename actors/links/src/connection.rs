//! One connection with its requests. This module sends files and archives. It hands every other
//! request to the pages, with the bytes that were already read.

use std::sync::Arc;
use std::time::Duration;

use reelyard_file_server::http_files::request_head::{BadHead, RequestHead};
use reelyard_shares::share_expiry::ShareId;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::ShareServerState;
use crate::access::link::{self, LinkResource};
use crate::access::refusal::LinkRefusal;
use crate::connections::begin::begin;
use crate::connections::client_stream::ClientStream;
use crate::connections::connection_limiter::LinkConnectionSlot;
use crate::connections::lingering_close;
use crate::connections::socket::{SendFailure, Sending};
use crate::serving::answer::{BodyLength, ResponseHead};
use crate::serving::watch::DownloadWatch;
use crate::serving::{archive, download};

/// A connection that is handed to the pages.
pub(super) struct PageHandover {
    /// Stream to the client.
    pub(super) line: ClientStream,
    /// Bytes that were already read from the connection.
    pub(super) read: Vec<u8>,
    /// Length of the request in bytes. None if its head does not say it.
    pub(super) length: Option<usize>,
    /// Connection slot, held until the connection ends.
    pub(super) place: LinkConnectionSlot,
}

/// One request for a file or an archive.
pub(super) struct LinkRequest<'c> {
    pub(super) line: &'c ClientStream,
    pub(super) head: &'c RequestHead<'c>,
    pub(super) place: &'c LinkConnectionSlot,
    pub(super) id: Option<ShareId>,
    /// Whether the connection stays open after the answer.
    pub(super) keep_alive: bool,
}

/// The next step after a request.
enum Next {
    /// Read another request, after this many bytes of the current one. The watch may still cut the
    /// sent download.
    Request(usize, Option<DownloadWatch>),
    /// Hand the connection to the pages. The length of the request is none if its head does not say
    /// it.
    Pages(Option<usize>),
    /// Close the connection.
    End,
}

/// Why no request was read.
enum UnreadableRequest {
    /// The client is gone or silent for too long, or lost its slot. There is no answer.
    Gone,
    /// The head is not valid HTTP.
    Bad(BadHead),
    /// The `Host` header is missing or repeated.
    Host,
}

/// Serves requests until the client leaves, fails, or asks for a page. The page request is
/// returned.
pub(super) async fn serve(
    line: ClientStream,
    place: LinkConnectionSlot,
    shared: &ShareServerState,
) -> Option<PageHandover> {
    let mut buffer = Vec::with_capacity(1024);
    let mut watch = None;
    loop {
        place.is_idle(true);
        let read = tokio::select! {
            read = read_head(&line, &mut buffer, shared.settings.request_timeout) => read,
            () = place.evicted() => Err(UnreadableRequest::Gone),
            () = cut(watch.take()) => {
                line.discard_unsent();
                Err(UnreadableRequest::Gone)
            }
        };
        place.is_idle(false);
        let next = match read {
            Ok(()) => answer(&line, &buffer, &place, shared).await,
            Err(UnreadableRequest::Gone) => Next::End,
            Err(bad @ (UnreadableRequest::Bad(_) | UnreadableRequest::Host)) => {
                shared.counts.requests.one();
                refuse_unread(&line, bad, shared).await;
                lingering_close::close(&line).await;
                Next::End
            }
        };
        match next {
            Next::Request(length, of_it) => {
                buffer.drain(..length);
                watch = of_it;
            }
            Next::Pages(length) => return Some(PageHandover { line, read: buffer, length, place }),
            Next::End => return None,
        }
    }
}

/// Returns when `watch` ends the download.
async fn cut(watch: Option<DownloadWatch>) {
    match watch {
        Some(watch) => watch.cut().await,
        None => std::future::pending().await,
    }
}

/// Reads until `buffer` has a complete head. `patience` limits the total time, also for slow
/// clients.
async fn read_head(
    line: &ClientStream,
    buffer: &mut Vec<u8>,
    patience: Duration,
) -> Result<(), UnreadableRequest> {
    let reading = async {
        loop {
            match RequestHead::parse(buffer) {
                Ok(Some(head)) if names_its_host(&head) => return Ok(()),
                Ok(Some(_)) => return Err(UnreadableRequest::Host),
                Ok(None) => {}
                Err(bad) => return Err(UnreadableRequest::Bad(bad)),
            }
            let mut chunk = [0; 4096];
            match line.read(&mut chunk).await {
                Ok(0) | Err(_) => return Err(UnreadableRequest::Gone),
                Ok(read) => buffer.extend_from_slice(&chunk[..read]),
            }
        }
    };
    timeout(patience, reading).await.unwrap_or(Err(UnreadableRequest::Gone))
}

async fn answer(
    line: &ClientStream,
    buffer: &[u8],
    place: &LinkConnectionSlot,
    shared: &ShareServerState,
) -> Next {
    let Ok(Some(head)) = RequestHead::parse(buffer) else { return Next::End };
    let (id, part) = match link::parse(head.path) {
        Some((id, part @ (LinkResource::File | LinkResource::Zip)))
            if matches!(head.method, "GET" | "HEAD") =>
        {
            (id, part)
        }
        _ => return Next::Pages(head.length_with_body()),
    };
    shared.counts.requests.one();
    // An unread body would be parsed as the next request. And for an HTTP/1.0 client only the end
    // of the connection marks a complete archive.
    let ends_by_closing = part == LinkResource::Zip && !head.is_1_1;
    let keep_alive = head.keep_alive && !head.has_body && !ends_by_closing;
    let asked = LinkRequest { line, head: &head, place, id, keep_alive };
    let answered = match part {
        LinkResource::Zip => archive::answer(&asked, shared).await,
        _ => download::answer(&asked, shared).await,
    };
    match answered {
        Ok(watch) if keep_alive => Next::Request(head.length, watch),
        Ok(watch) => {
            tokio::select! {
                () = lingering_close::close(line) => {}
                () = cut(watch) => line.discard_unsent(),
            }
            Next::End
        }
        Err(broken) => {
            if matches!(broken, SendFailure::Cut) {
                line.discard_unsent();
            }
            shared.count_broken(id, &broken);
            Next::End
        }
    }
}

impl ShareServerState {
    fn count_broken(&self, id: Option<ShareId>, broken: &SendFailure) {
        match broken {
            SendFailure::Left => {}
            SendFailure::TooSlow => self.counts.too_slow.one(),
            SendFailure::Cut => {
                self.counts.cut.one();
                tracing::info!(?id, "a running download was cut");
            }
            SendFailure::Unreadable(error) => {
                self.counts.broken_off.one();
                tracing::warn!(?id, %error, "a download failed");
            }
        }
    }
}

impl LinkRequest<'_> {
    /// Whether the answer has no body.
    pub(super) fn is_head(&self) -> bool {
        self.head.method == "HEAD"
    }

    /// Refuses the request with plain text.
    pub(super) async fn refuse(
        &self,
        refusal: &LinkRefusal,
        shared: &ShareServerState,
    ) -> Result<(), SendFailure> {
        if matches!(refusal, LinkRefusal::Throttled(_) | LinkRefusal::TooManyArchives) {
            shared.counts.throttled.one();
        }
        let mut head = ResponseHead::new(refusal.status(), self.keep_alive, shared.clock.now());
        if let Some(seconds) = refusal.retry_after() {
            head.line("Retry-After", seconds);
        }
        if let LinkRefusal::Password { .. } = refusal {
            head.line("WWW-Authenticate", "Basic realm=\"share\", charset=\"UTF-8\"");
        }
        head.line("Cache-Control", "no-store");
        head.line("Content-Type", "text/plain; charset=utf-8");
        let text = refusal.text() + "\n";
        let mut answer = head.finish(BodyLength::Bytes(text.len() as u64));
        if !self.is_head() {
            answer.extend_from_slice(text.as_bytes());
        }
        Sending::new(self.line, shared.patience(), None).bytes(&answer, false).await
    }
}

/// Whether a request has exactly one `Host`, which HTTP/1.1 requires; HTTP/1.0 may omit it (RFC
/// 9112, 3.2).
fn names_its_host(head: &RequestHead<'_>) -> bool {
    let hosts = head.all("host").count();
    hosts == 1 || hosts == 0 && !head.is_1_1
}

async fn refuse_unread(line: &ClientStream, why: UnreadableRequest, shared: &ShareServerState) {
    let (status, text) = match why {
        UnreadableRequest::Bad(BadHead::TooLong) => {
            ((431, "Request Header Fields Too Large"), "The request is too long.\n")
        }
        UnreadableRequest::Bad(BadHead::Garbled) => {
            ((400, "Bad Request"), "This is not an HTTP request.\n")
        }
        UnreadableRequest::Host => {
            ((400, "Bad Request"), "A request needs exactly one Host header.\n")
        }
        UnreadableRequest::Gone => return,
    };
    let mut head = ResponseHead::new(status, false, shared.clock.now());
    head.line("Content-Type", "text/plain; charset=utf-8");
    let mut answer = head.finish(BodyLength::Bytes(text.len() as u64));
    answer.extend_from_slice(text.as_bytes());
    // If this send fails, the client only sees the close.
    let _ = Sending::new(line, shared.patience(), None).bytes(&answer, false).await;
}

/// Runs one connection from accept to close.
pub(super) async fn run(
    stream: TcpStream,
    place: LinkConnectionSlot,
    shared: Arc<ShareServerState>,
) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Some(line) = begin(stream, &place, &shared).await else { return };
    if let Some(handed) = serve(line, place, &shared).await {
        shared.pages.take(handed);
    }
}
