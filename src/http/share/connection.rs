//! One connection: request after request. Files and archives are sent from here; whatever else is
//! asked is handed to the pages, with what was read of it.

use std::sync::Arc;
use std::time::Duration;

use reelyard_actors::http_files::request_head::{BadHead, RequestHead};
use reelyard_actors::share_expiry::ShareId;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::answer::{Head, Length};
use super::begin::begin;
use super::line::Line;
use super::link::{self, Part};
use super::places::Place;
use super::refusal::Refusal;
use super::socket::{Broken, Sending};
use super::watch::Watch;
use super::{Shared, archive, download, farewell};

/// A connection whose request is for the pages.
pub(super) struct Handed {
    /// The connection.
    pub(super) line: Line,
    /// What was read of it already.
    pub(super) read: Vec<u8>,
    /// How many bytes the request takes; none where its head does not tell.
    pub(super) length: Option<usize>,
    /// Its place, to be kept until it ends.
    pub(super) place: Place,
}

/// One request for a file or an archive.
pub(super) struct Asked<'c> {
    pub(super) line: &'c Line,
    pub(super) head: &'c RequestHead<'c>,
    pub(super) place: &'c Place,
    pub(super) id: Option<ShareId>,
    /// Whether the connection stays open afterwards.
    pub(super) keep_alive: bool,
}

/// What comes after a request.
enum Next {
    /// Another one, after so many bytes of this one. What was sent of a download is watched.
    Request(usize, Option<Watch>),
    /// The pages' turn, with a request of so many bytes, if its head tells.
    Pages(Option<usize>),
    /// Nothing.
    End,
}

/// Why there is no request.
enum NoRequest {
    /// The client is gone or silent for too long, or its place is another's. Nothing to answer.
    Gone,
    /// What it sent is none.
    Bad(BadHead),
    /// It names no host, or more than one.
    Host,
}

/// Serves a client until it leaves, errs, or asks for a page: then it is handed back.
pub(super) async fn serve(line: Line, place: Place, shared: &Shared) -> Option<Handed> {
    let mut buffer = Vec::with_capacity(1024);
    let mut watch = None;
    loop {
        place.is_idle(true);
        let read = tokio::select! {
            read = read_head(&line, &mut buffer, shared.settings.request_timeout) => read,
            () = place.evicted() => Err(NoRequest::Gone),
            () = cut(watch.take()) => {
                line.take_back();
                Err(NoRequest::Gone)
            }
        };
        place.is_idle(false);
        let next = match read {
            Ok(()) => answer(&line, &buffer, &place, shared).await,
            Err(NoRequest::Gone) => Next::End,
            Err(bad @ (NoRequest::Bad(_) | NoRequest::Host)) => {
                shared.counts.requests.one();
                refuse_unread(&line, bad, shared).await;
                farewell::close(&line).await;
                Next::End
            }
        };
        match next {
            Next::Request(length, of_it) => {
                buffer.drain(..length);
                watch = of_it;
            }
            Next::Pages(length) => return Some(Handed { line, read: buffer, length, place }),
            Next::End => return None,
        }
    }
}

/// Returns when a download may not go on that `watch` watches over.
async fn cut(watch: Option<Watch>) {
    match watch {
        Some(watch) => watch.cut().await,
        None => std::future::pending().await,
    }
}

/// Reads until a whole head is in `buffer`. The client has `patience` for all of it, however
/// slowly it drips.
async fn read_head(line: &Line, buffer: &mut Vec<u8>, patience: Duration) -> Result<(), NoRequest> {
    let reading = async {
        loop {
            match RequestHead::parse(buffer) {
                Ok(Some(head)) if names_its_host(&head) => return Ok(()),
                Ok(Some(_)) => return Err(NoRequest::Host),
                Ok(None) => {}
                Err(bad) => return Err(NoRequest::Bad(bad)),
            }
            let mut chunk = [0; 4096];
            match line.read(&mut chunk).await {
                Ok(0) | Err(_) => return Err(NoRequest::Gone),
                Ok(read) => buffer.extend_from_slice(&chunk[..read]),
            }
        }
    };
    timeout(patience, reading).await.unwrap_or(Err(NoRequest::Gone))
}

async fn answer(line: &Line, buffer: &[u8], place: &Place, shared: &Shared) -> Next {
    let Ok(Some(head)) = RequestHead::parse(buffer) else { return Next::End };
    let (id, part) = match link::parse(head.path) {
        Some((id, part @ (Part::File | Part::Zip))) if matches!(head.method, "GET" | "HEAD") => {
            (id, part)
        }
        _ => return Next::Pages(head.length_with_body()),
    };
    shared.counts.requests.one();
    // A body that is not read would be taken for the next request, and to a client that knows no
    // chunks only the end of the connection says that an archive is whole.
    let ends_by_closing = part == Part::Zip && !head.is_1_1;
    let keep_alive = head.keep_alive && !head.has_body && !ends_by_closing;
    let asked = Asked { line, head: &head, place, id, keep_alive };
    let answered = match part {
        Part::Zip => archive::answer(&asked, shared).await,
        _ => download::answer(&asked, shared).await,
    };
    match answered {
        Ok(watch) if keep_alive => Next::Request(head.length, watch),
        Ok(watch) => {
            tokio::select! {
                () = farewell::close(line) => {}
                () = cut(watch) => line.take_back(),
            }
            Next::End
        }
        Err(broken) => {
            if matches!(broken, Broken::Cut) {
                line.take_back();
            }
            shared.count_broken(id, &broken);
            Next::End
        }
    }
}

impl Shared {
    fn count_broken(&self, id: Option<ShareId>, broken: &Broken) {
        match broken {
            Broken::Left => {}
            Broken::TooSlow => self.counts.too_slow.one(),
            Broken::Cut => {
                self.counts.cut.one();
                tracing::info!(?id, "a running download was cut");
            }
            Broken::Unreadable(error) => {
                self.counts.broken_off.one();
                tracing::warn!(?id, %error, "a download broke off");
            }
        }
    }
}

impl Asked<'_> {
    /// Whether only the head of the answer is wanted.
    pub(super) fn is_head(&self) -> bool {
        self.head.method == "HEAD"
    }

    /// Answers why not, in plain words.
    pub(super) async fn refuse(&self, refusal: &Refusal, shared: &Shared) -> Result<(), Broken> {
        if matches!(refusal, Refusal::Throttled(_) | Refusal::TooManyArchives) {
            shared.counts.throttled.one();
        }
        let mut head = Head::new(refusal.status(), self.keep_alive, shared.clock.now());
        if let Some(seconds) = refusal.retry_after() {
            head.line("Retry-After", seconds);
        }
        if let Refusal::Password { .. } = refusal {
            head.line("WWW-Authenticate", "Basic realm=\"share\", charset=\"UTF-8\"");
        }
        head.line("Cache-Control", "no-store");
        head.line("Content-Type", "text/plain; charset=utf-8");
        let text = refusal.text() + "\n";
        let mut answer = head.finish(Length::Bytes(text.len() as u64));
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

async fn refuse_unread(line: &Line, why: NoRequest, shared: &Shared) {
    let (status, text) = match why {
        NoRequest::Bad(BadHead::TooLong) => {
            ((431, "Request Header Fields Too Large"), "The request is too long.\n")
        }
        NoRequest::Bad(BadHead::Garbled) => ((400, "Bad Request"), "This is no request.\n"),
        NoRequest::Host => ((400, "Bad Request"), "A request names its host, and only one.\n"),
        NoRequest::Gone => return,
    };
    let mut head = Head::new(status, false, shared.clock.now());
    head.line("Content-Type", "text/plain; charset=utf-8");
    let mut answer = head.finish(Length::Bytes(text.len() as u64));
    answer.extend_from_slice(text.as_bytes());
    // A client that does not take even this learns it from the closed connection.
    let _ = Sending::new(line, shared.patience(), None).bytes(&answer, false).await;
}

/// What runs a connection.
pub(super) async fn run(stream: TcpStream, place: Place, shared: Arc<Shared>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Some(line) = begin(stream, &place, &shared).await else { return };
    if let Some(handed) = serve(line, place, &shared).await {
        shared.pages.take(handed);
    }
}
