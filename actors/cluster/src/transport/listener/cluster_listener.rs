//! The listener: it can be stopped, and started again on another address, while the node runs.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::accepting::AcceptLoop;
use super::connection_slots::{ConnectionSlots, ListenerLimits};
use super::service::ClusterService;
use crate::transport::local_node::LocalNode;
use crate::transport::security::LinkSecurity;

/// Why the listener did not start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address needs encryption. The text names the remedies.
    #[error("cluster.listen: {0}")]
    NeedsTls(String),
    /// The address cannot be used.
    #[error("cluster.listen: {address} cannot be used: {error}")]
    Bind {
        /// Its port is 0 if any free one will do.
        address: SocketAddr,
        /// The error of the system.
        error: io::Error,
    },
}

/// Accepts connections of other nodes until it is stopped or dropped. Then its connections end, except streams of
/// forwarded requests that the service handed over.
#[derive(Debug)]
pub struct ClusterListener {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl ClusterListener {
    /// Listens on `address`. The connections run on `runtime`.
    ///
    /// # Errors
    /// When the address is in use, or when it is no loopback address and the node has no certificates.
    pub fn start(
        runtime: &Handle,
        local: Arc<LocalNode>,
        service: Arc<dyn ClusterService>,
        address: SocketAddr,
        limits: ListenerLimits,
    ) -> Result<Self, ListenError> {
        let security = local.security();
        security.check_address(address).map_err(ListenError::NeedsTls)?;
        let failed = |error| ListenError::Bind { address, error };
        let listener = bind(runtime, address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        match security {
            LinkSecurity::Tls(_) => tracing::info!(%address, "listening for other nodes, with TLS"),
            LinkSecurity::PlainOnLoopback => tracing::info!(
                %address, "listening for other nodes on this machine, without TLS"
            ),
            LinkSecurity::PlainEverywhere => tracing::warn!(
                %address,
                "listening for other nodes without TLS: everybody in this network can act as a node"
            ),
        }
        let slots = ConnectionSlots::new(limits);
        let accepting = AcceptLoop { listener, local, service, slots };
        Ok(ClusterListener { address, accepting: runtime.spawn(accepting.run()) })
    }

    /// The address, with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the connections. Afterwards the address is free.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // It was aborted, and ends with that.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for ClusterListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn bind(runtime: &Handle, address: SocketAddr) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let _runtime = runtime.enter();
    TcpListener::from_std(listener)
}
