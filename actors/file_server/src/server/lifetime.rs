//! The end of a server: first it retires, then it stops, and it waits for everything that it started.

use tokio::sync::{mpsc, watch};

/// Ends a server, and waits for its end.
pub struct ServerLifetime {
    retiring: watch::Sender<bool>,
    stopping: watch::Sender<bool>,
    /// None once the server has the last guard.
    alive: Option<mpsc::Sender<()>>,
    /// Returns none when every guard is gone.
    ended: mpsc::Receiver<()>,
}

/// Held by each part of a server while it runs. Cheap to clone.
#[derive(Clone)]
pub struct ServerGuard {
    stopping: watch::Receiver<bool>,
    _alive: Option<mpsc::Sender<()>>,
}

impl ServerLifetime {
    /// The lifetime of a new server.
    pub fn new() -> Self {
        let (alive, ended) = mpsc::channel(1);
        let (retiring, stopping) = (watch::Sender::new(false), watch::Sender::new(false));
        ServerLifetime { retiring, stopping, alive: Some(alive), ended }
    }

    /// A guard for a part that starts before the server.
    pub fn guard(&self) -> ServerGuard {
        ServerGuard { stopping: self.stopping.subscribe(), _alive: self.alive.clone() }
    }

    /// The guard for the server itself. After this, the lifetime ends with the last guard.
    pub(super) fn last_guard(&mut self) -> ServerGuard {
        ServerGuard { stopping: self.stopping.subscribe(), _alive: self.alive.take() }
    }

    pub(super) fn retiring(&self) -> watch::Receiver<bool> {
        self.retiring.subscribe()
    }

    pub(super) fn retire(&self) {
        self.retiring.send_replace(true);
    }

    pub(super) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Returns when every guard is gone.
    pub(super) async fn ended(&mut self) {
        while self.ended.recv().await.is_some() {}
    }

    /// As [`ServerLifetime::ended`], on a thread without a runtime.
    pub(super) fn wait_ended(&mut self) {
        while self.ended.blocking_recv().is_some() {}
    }
}

impl Default for ServerLifetime {
    fn default() -> Self {
        ServerLifetime::new()
    }
}

impl ServerGuard {
    /// Returns when the server stops.
    pub async fn stopped(&mut self) {
        // An error means that the server is gone.
        let _ = self.stopping.wait_for(|stopping| *stopping).await;
    }
}
