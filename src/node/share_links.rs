//! The public links of a node: served as soon as there is anything that may be shared.

use std::net::SocketAddr;
use std::sync::Arc;

use reelyard_actors::clock::Clock;
use reelyard_actors::journal::{Journal, Leadership};
use reelyard_actors::share_expiry::ShareBoard;

use super::{Live, NodeError, Wiring, settings};
use crate::config::NodeConfig;
use crate::http::share::{Collaborators, Roots, ShareServer, ShareServerMeter};
use crate::tls::Certificate;

/// The public links, if they are served.
pub(super) struct ShareLinks {
    server: Option<ShareServer>,
    view: Arc<ShareLinksView>,
}

/// What others need to know of them.
pub struct ShareLinksView {
    /// What may be shared.
    pub roots: Roots,
    /// Where they are served.
    addr: Option<SocketAddr>,
    live: Live,
    /// What was served; none where nothing is.
    pub meter: Option<ShareServerMeter>,
}

/// Opens what may be shared, as far as it is there.
pub(super) fn open_roots(config: &NodeConfig) -> Roots {
    let named = &config.share.roots.0;
    Roots::open(named.iter().map(|(name, dir)| (name.clone(), dir.clone())))
}

impl ShareLinks {
    /// Serves the links of what may be shared.
    pub(super) fn start(
        live: &Live,
        roots: Roots,
        journal: &Journal,
        actors: &Wiring,
        clock: &Clock,
    ) -> Result<Self, NodeError> {
        let config = &live.now().config;
        let named = &config.share.roots.0;
        let server = if named.is_empty() {
            None
        } else {
            let collaborators = Collaborators {
                roots: roots.clone(),
                board: actors.share_board.clone(),
                take: actors.share_expiry.route(),
                clock: clock.clone(),
                not_ready: not_ready(journal, &actors.share_board),
                certificate: certificate(live),
            };
            let listen = config.share.listen;
            let server = ShareServer::start(settings::share_server(config), collaborators)
                .map_err(|error| NodeError::Listen(listen, error))?;
            let tls = config.share.tls.certificate().is_some();
            tracing::info!(listen = %server.addr(), roots = named.len(), tls, "links of shares are served");
            Some(server)
        };
        let meter = server.as_ref().map(ShareServer::meter);
        let addr = server.as_ref().map(ShareServer::addr);
        let view = Arc::new(ShareLinksView { roots, meter, addr, live: live.clone() });
        Ok(ShareLinks { server, view })
    }

    pub(super) fn view(&self) -> Arc<ShareLinksView> {
        Arc::clone(&self.view)
    }

    pub(super) async fn stop(self) {
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}

impl ShareLinksView {
    /// What links begin with.
    pub fn public_url(&self) -> String {
        let in_force = self.live.now();
        let share = &in_force.config.share;
        match &share.public_url {
            Some(url) => url.as_str().to_owned(),
            None => {
                let scheme = if share.tls.certificate().is_some() { "https" } else { "http" };
                format!("{scheme}://{}", self.addr.unwrap_or(share.listen))
            }
        }
    }
}

/// What is shown to whoever connects now: a reload may change it.
fn certificate(live: &Live) -> Arc<dyn Fn() -> Option<Certificate> + Send + Sync> {
    let live = live.clone();
    Arc::new(move || live.now().config.share.tls.certificate().cloned())
}

/// Without a leader nobody knows whether a share was taken back a moment ago, and before the journal
/// was read nobody knows any.
fn not_ready(
    journal: &Journal,
    board: &ShareBoard,
) -> Arc<dyn Fn() -> Option<String> + Send + Sync> {
    let (leadership, board) = (journal.leadership(), board.clone());
    Arc::new(move || match *leadership.borrow() {
        _ if !board.is_up() => Some("the node is starting".to_owned()),
        Leadership::Leading { .. } | Leadership::Following { .. } => None,
        Leadership::Nobody => Some("no node leads the yard".to_owned()),
        Leadership::Stopped => Some("the node is stopping".to_owned()),
    })
}
