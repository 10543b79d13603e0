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
use crate::connection::watch::until_cut;
use crate::http::request_head::RequestHead;

/// The parts that all connections of a server share.
pub(super) struct ServingShared<S> {
    pub(super) service: Arc<S>,
    pub(super) settings: FileServerSettings,
    pub(super) counts: Arc<ConnectionCounts>,
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
        if let Err(why) = read {
            refuse_unread(&stream, &slot, why, shared).await;
            return None;
        }
        let Ok(Some(head)) = RequestHead::parse(&buffer) else { return None };
        let request = ServedRequest::new(&head, &stream, &slot, settings.send);
        match shared.service.answer(&request).await {
            Ok(Answered::Sent { keep_alive: true, watch: of_answer }) => {
                let length = head.length;
                buffer.drain(..length);
                watch = of_answer;
            }
            Ok(Answered::Sent { keep_alive: false, watch }) => {
                tokio::select! {
                    () = lingering_close::close(&stream) => {}
                    () = until_cut(watch) => stream.reset_at_close(),
                }
                return None;
            }
            Ok(Answered::HandOver { length }) => {
                return Some(ConnectionHandover { stream, read: buffer, length, slot });
            }
            Err(SendFailure::Cut) => {
                stream.reset_at_close();
                return None;
            }
            Err(_) => return None,
        }
    }
}

async fn refuse_unread<S: FileService>(
    stream: &ClientStream,
    slot: &ConnectionSlot,
    why: NoRequest,
    shared: &ServingShared<S>,
) {
    let NoRequest::Bad(bad) = why else { return };
    let answer = shared.service.refuse_unread(bad);
    // If this send fails, the client only sees the close.
    let _ = Sending::new(stream, slot, shared.settings.send, None).bytes(&answer, false).await;
    lingering_close::close(stream).await;
}
