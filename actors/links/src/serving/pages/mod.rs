//! The pages of public links, served by actix-web on its own thread. A connection comes here for
//! one request, with the bytes that were already read.

mod handlers;
mod listing;
mod qr;
mod replayed_stream;
mod templates;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive};
use actix_service::{Service, ServiceFactory, map_config};
use actix_web::dev::AppConfig;
use actix_web::{App, web};
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;
use tokio::time::timeout;

use super::pages::replayed_stream::ReplayedStream;
use crate::ShareServerState;
use crate::connection::PageHandover;
use crate::connections::client_stream::Detached;
use crate::connections::connection_limiter::LinkConnectionSlot;

/// Largest number of connections that wait for a page.
const WAITING: usize = 256;

/// Largest size of a form in bytes.
const LONGEST_FORM: usize = 8 << 10;

/// Time limit to make and send an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// Hands connections to the thread of the pages.
pub(crate) struct PageHandoff(mpsc::Sender<PageConnection>);

/// A connection on its way between two runtimes.
pub(crate) struct PageConnection {
    line: Detached,
    read: Vec<u8>,
    length: Option<usize>,
    place: LinkConnectionSlot,
}

/// Whether a connection uses TLS; available to its requests.
pub(crate) struct UnderTls(bool);

/// The server address that the client connected to; available to its requests.
pub(crate) struct ReachedAt(SocketAddr);

impl PageHandoff {
    /// Creates the sender and the receiver of handed-over connections.
    pub(crate) fn new() -> (Self, mpsc::Receiver<PageConnection>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (PageHandoff(sender), receiver)
    }

    /// Hands over a connection. If too many wait, it is dropped and closed.
    pub(crate) fn take(&self, handed: PageHandover) {
        let PageHandover { line, read, length, place } = handed;
        if let Ok(line) = line.detach() {
            let taken = self.0.try_send(PageConnection { line, read, length, place });
            if taken.is_err() {
                tracing::warn!("dropped a connection: too many wait for a page of a share");
            }
        }
    }
}

/// Starts the thread of the pages; it runs until `stopping`. It drops `alive` when it has ended.
pub(crate) fn start(
    handed: mpsc::Receiver<PageConnection>,
    shared: &Arc<ShareServerState>,
    mut stopping: watch::Receiver<bool>,
    alive: mpsc::Sender<()>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("share-pages".into()).spawn(move || {
        let _alive = alive;
        LocalSet::new().block_on(&runtime, async move {
            tokio::select! {
                () = serve(handed, shared) => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
        });
    })?;
    Ok(())
}

async fn serve(mut handed: mpsc::Receiver<PageConnection>, shared: Arc<ShareServerState>) {
    let patience = shared.settings.request_timeout;
    let app = App::new().app_data(web::Data::from(shared)).configure(handlers::routes);
    let factory = HttpService::build()
        .keep_alive(KeepAlive::Disabled)
        .client_request_timeout(patience)
        .h1_allow_half_closed(false)
        .on_connect_ext(|connection: &ReplayedStream, of_it| {
            of_it.insert(UnderTls(connection.is_under_tls()));
            if let Some(addr) = connection.local_addr() {
                of_it.insert(ReachedAt(addr));
            }
        })
        .h1(map_config(app, |()| AppConfig::default()));
    let service = ServiceFactory::<(ReplayedStream, Option<SocketAddr>)>::new_service(&factory, ());
    let Ok(service) = service.await.map(Rc::new) else {
        return tracing::error!("cannot start the server of share pages");
    };
    while let Some(PageConnection { line, read, length, place }) = handed.recv().await {
        let peer = place.peer();
        let Ok(line) = line.attach() else { continue };
        let (service, connection) =
            (Rc::clone(&service), ReplayedStream::new((read, length), line, place));
        tokio::task::spawn_local(async move {
            // One request with a small answer: a slower client is probably hostile.
            let served = service.call((connection, Some(peer)));
            let _ = timeout(patience + ANSWER, served).await;
        });
    }
}
