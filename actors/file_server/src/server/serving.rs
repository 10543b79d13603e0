//! One connection with its requests.

use std::sync::Arc;

use tokio::net::TcpStream;

use super::counts::ConnectionCounts;
use super::service::{Answered, ConnectionHandover, FileService, ServedRequest};
use super::settings::FileServerSettings;
use crate::connection::client_stream::ClientStream;
use crate::connection::handshake::{NoTls, establish, refuse_plain_http};
use crate::connection::limiter::ConnectionSlot;
use crate::connection::lingering_close;
use crate::connection::request_reader::{NoRequest, read_head};
use crate::connection::sending::{SendFailure, Sending};
use crate::connection::watch::{SendWatch, until_cut};
use crate::http::request_head::{BadHead, RequestHead};

/// The parts that all connections of a server share.
pub(super) struct ServingShared<S> {
    pub(super) service: Arc<S>,
    pub(super) settings: FileServerSettings,
    pub(super) counts: Arc<ConnectionCounts>,
}

/// The next step after a request.
enum NextStep {
    /// Read another request, after this many bytes of the current one. The watch may still cut the
    /// sent answer.
    NextRequest(usize, Option<Box<dyn SendWatch>>),
    /// Give the connection to the service.
    HandOver(Option<usize>),
    /// Close the connection.
    End,
}

/// Runs one connection from accept to close.
pub(super) async fn run<S: FileService>(
    stream: TcpStream,
    slot: ConnectionSlot,
    shared: Arc<ServingShared<S>>,
) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    slot.mark_idle();
    let certificate = shared.service.certificate();
    match establish(stream, certificate, shared.settings.request_timeout).await {
        Ok(stream) => {
            if let Some(connection) = serve(stream, slot, &shared).await {
                shared.service.take_over(connection);
            }
        }
        Err(why) => {
            slot.mark_busy();
            end_without_tls(why, &slot, &shared.counts).await;
        }
    }
}

async fn end_without_tls(why: NoTls, slot: &ConnectionSlot, counts: &ConnectionCounts) {
    let peer = slot.peer();
    match why {
        NoTls::Silent => return,
        NoTls::PlainHttp(stream) => {
            tracing::debug!(%peer, "a client sent a request without TLS");
            refuse_plain_http(&stream).await;
        }
        NoTls::Failed(error) => tracing::debug!(%peer, %error, "the TLS handshake failed"),
    }
    counts.no_tls.one();
}

/// Serves requests until the client leaves or fails, or the service takes over the connection.
async fn serve<S: FileService>(
    stream: ClientStream,
    slot: ConnectionSlot,
    shared: &ServingShared<S>,
) -> Option<ConnectionHandover> {
    let settings = &shared.settings;
    let mut buffer = Vec::with_capacity(1024);
    let mut watch = None;
    loop {
        slot.mark_idle();
        let read = tokio::select! {
            read = read_head(&stream, &mut buffer, settings.hosts, settings.request_timeout) => read,
            () = until_cut(watch.take()) => {
                stream.reset_at_close();
                return None;
            }
        };
        if !slot.mark_busy() {
            return None;
        }
        let next = match read {
            Ok(()) => answer(&stream, &buffer, &slot, shared).await,
            Err(NoRequest::Gone) => NextStep::End,
            Err(NoRequest::Bad(bad)) => {
                refuse_unread(&stream, &slot, bad, shared).await;
                NextStep::End
            }
        };
        match next {
            NextStep::NextRequest(length, of_answer) => {
                buffer.drain(..length);
                watch = of_answer;
            }
            NextStep::HandOver(length) => {
                return Some(ConnectionHandover { stream, read: buffer, length, slot });
            }
            NextStep::End => return None,
        }
    }
}

async fn answer<S: FileService>(
    stream: &ClientStream,
    buffer: &[u8],
    slot: &ConnectionSlot,
    shared: &ServingShared<S>,
) -> NextStep {
    let Ok(Some(head)) = RequestHead::parse(buffer) else { return NextStep::End };
    let request = ServedRequest::new(&head, stream, slot, shared.settings.send);
    match shared.service.answer(&request).await {
        Ok(Answered::Sent { keep_alive: true, watch }) => NextStep::NextRequest(head.length, watch),
        Ok(Answered::Sent { keep_alive: false, watch }) => {
            tokio::select! {
                () = lingering_close::close(stream) => {}
                () = until_cut(watch) => stream.reset_at_close(),
            }
            NextStep::End
        }
        Ok(Answered::HandOver { length }) => NextStep::HandOver(length),
        Err(SendFailure::Cut) => {
            stream.reset_at_close();
            NextStep::End
        }
        Err(SendFailure::Left | SendFailure::TooSlow | SendFailure::Unreadable(_)) => NextStep::End,
    }
}

async fn refuse_unread<S: FileService>(
    stream: &ClientStream,
    slot: &ConnectionSlot,
    bad: BadHead,
    shared: &ServingShared<S>,
) {
    let answer = shared.service.refuse_unread(bad);
    // If this send fails, the client only sees the close.
    let _ = Sending::new(stream, slot, shared.settings.send, None).bytes(&answer, false).await;
    lingering_close::close(stream).await;
}
