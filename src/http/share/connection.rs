//! One connection: request after request. Files and archives are sent from here; whatever else is
//! asked is handed to the pages, with what was read of it.

use std::sync::Arc;
use std::time::Duration;

use reelyard_actors::http_files::request_head::{BadHead, RequestHead};
use reelyard_actors::share_expiry::ShareId;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::answer::{BodyLength, ResponseHead};
use super::begin::begin;
use super::client_stream::ClientStream;
use super::connection_limiter::LinkConnectionSlot;
use super::link::{self, LinkResource};
use super::refusal::LinkRefusal;
use super::socket::{SendFailure, Sending};
use super::watch::DownloadWatch;
use super::{ShareServerState, archive, download, lingering_close};

/// A connection whose request is for the pages.
pub(super) struct PageHandover {
    /// The connection.
    pub(super) line: ClientStream,
    /// What was read of it already.
    pub(super) read: Vec<u8>,
    /// How many bytes the request takes; none where its head does not tell.
    pub(super) length: Option<usize>,
    /// Its place, to be kept until it ends.
    pub(super) place: LinkConnectionSlot,
}

/// One request for a file or an archive.
pub(super) struct LinkRequest<'c> {
    pub(super) line: &'c ClientStream,
    pub(super) head: &'c RequestHead<'c>,
    pub(super) place: &'c LinkConnectionSlot,
    pub(super) id: Option<ShareId>,
    /// Whether the connection stays open afterwards.
    pub(super) keep_alive: bool,
}

/// What comes after a request.
enum Next {
    /// Another one, after so many bytes of this one. What was sent of a download is watched.
    Request(usize, Option<DownloadWatch>),
    /// The pages' turn, with a request of so many bytes, if its head tells.
    Pages(Option<usize>),
    /// Nothing.
    End,
}

/// Why there is no request.
enum UnreadableRequest {
    /// The client is gone or silent for too long, or its place is another's. Nothing to answer.
    Gone,
    /// What it sent is none.
    Bad(BadHead),
    /// It names no host, or more than one.
    Host,
}

/// Serves a client until it leaves, errs, or asks for a page: then it is handed back.
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

/// Returns when a download may not go on that `watch` watches over.
async fn cut(watch: Option<DownloadWatch>) {
    match watch {
        Some(watch) => watch.cut().await,
        None => std::future::pending().await,
    }
}

/// Reads until a whole head is in `buffer`. The client has `patience` for all of it, however
/// slowly it drips.
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
    // A body that is not read would be taken for the next request, and to a client that knows no
    // chunks only the end of the connection says that an archive is whole.
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
    /// Whether only the head of the answer is wanted.
    pub(super) fn is_head(&self) -> bool {
        self.head.method == "HEAD"
    }

    /// Answers why not, in plain words.
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

/// Whether a request has the one `Host` that HTTP/1.1 asks for, and none has two (RFC 9112, 3.2).
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
    // A client that does not take even this learns it from the closed connection.
    let _ = Sending::new(line, shared.patience(), None).bytes(&answer, false).await;
}

/// What runs a connection.
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
