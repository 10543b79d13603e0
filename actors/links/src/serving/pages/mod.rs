//! The pages of public links, served by actix-web on its own thread. A connection comes here for
//! one request, with the bytes that were already read.

mod handlers;
pub(crate) mod listing;
mod models;
mod qr;
mod replayed_stream;

pub use qr::qr_picture;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive};
use actix_service::{Service, ServiceFactory, map_config};
use actix_web::dev::AppConfig;
use actix_web::{App, web};
use reelyard_file_server::server::ServerGuard;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio::time::timeout;

use super::page_handoff::{PageConnection, ReachedAt, UnderTls};
use super::pages::replayed_stream::ReplayedStream;
use crate::state::ShareServerState;

/// Time limit to make and send an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// Starts the thread of the pages; it runs until the server stops.
pub(crate) fn start(
    handed: mpsc::Receiver<PageConnection>,
    state: &Arc<ShareServerState>,
    mut guard: ServerGuard,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let state = Arc::clone(state);
    std::thread::Builder::new().name("share-pages".into()).spawn(move || {
        LocalSet::new().block_on(&runtime, async move {
            tokio::select! {
                () = serve(handed, state) => {}
                () = guard.stopped() => {}
            }
        });
    })?;
    Ok(())
}

async fn serve(mut handed: mpsc::Receiver<PageConnection>, state: Arc<ShareServerState>) {
    let limit = state.settings.request_timeout;
    let app = App::new().app_data(web::Data::from(state)).configure(handlers::routes);
    let factory = HttpService::build()
        .keep_alive(KeepAlive::Disabled)
        .client_request_timeout(limit)
        .h1_allow_half_closed(false)
        .on_connect_ext(|connection: &ReplayedStream, of_it| {
            of_it.insert(UnderTls(connection.uses_tls()));
            if let Some(addr) = connection.local_addr() {
                of_it.insert(ReachedAt(addr));
            }
        })
        .h1(map_config(app, |()| AppConfig::default()));
    let service = ServiceFactory::<(ReplayedStream, Option<SocketAddr>)>::new_service(&factory, ());
    let Ok(service) = service.await.map(Rc::new) else {
        return tracing::error!("cannot start the server of share pages");
    };
    while let Some(PageConnection { stream, read, length, slot }) = handed.recv().await {
        let peer = slot.peer();
        let Ok(stream) = stream.attach() else { continue };
        let (service, connection) =
            (Rc::clone(&service), ReplayedStream::new((read, length), stream, slot));
        tokio::task::spawn_local(async move {
            // One request with a small answer: a slower client is probably hostile.
            let served = service.call((connection, Some(peer)));
            let _ = timeout(limit + ANSWER, served).await;
        });
    }
}
