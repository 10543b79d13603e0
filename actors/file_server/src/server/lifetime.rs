//! The end of a server: first it retires, then it stops, and it waits for everything that it started.

use tokio::sync::{mpsc, watch};

/// The steps of a server to its end, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ServerPhase {
    Serving,
    /// It accepts no more connections.
    Retired,
    /// Every part ends at once.
    Stopped,
}

/// Ends a server, and waits for its end.
pub struct ServerLifetime {
    phase: watch::Sender<ServerPhase>,
    /// The source of the guards; none once the server waits for its end.
    alive: Option<mpsc::Sender<()>>,
    /// Returns none when every guard was dropped.
    ended: mpsc::Receiver<()>,
}

/// Held by each part of a server while it runs. Cheap to clone.
#[derive(Clone)]
pub struct ServerGuard {
    phase: watch::Receiver<ServerPhase>,
    _alive: Option<mpsc::Sender<()>>,
}

impl ServerLifetime {
    /// A guard for a part that starts now.
    pub fn guard(&self) -> ServerGuard {
        ServerGuard { phase: self.phase.subscribe(), _alive: self.alive.clone() }
    }

    pub(super) fn retire(&self) {
        self.phase.send_replace(ServerPhase::Retired);
    }

    pub(super) fn stop(&self) {
        self.phase.send_replace(ServerPhase::Stopped);
    }

    /// Returns when every guard was dropped.
    pub(super) async fn ended(&mut self) {
        self.alive = None;
        while self.ended.recv().await.is_some() {}
    }
}

impl Default for ServerLifetime {
    fn default() -> Self {
        let (alive, ended) = mpsc::channel(1);
        let phase = watch::Sender::new(ServerPhase::Serving);
        ServerLifetime { phase, alive: Some(alive), ended }
    }
}

impl ServerGuard {
    /// Returns when the server retires or stops.
    pub(super) async fn retired(&mut self) {
        self.reached(ServerPhase::Retired).await;
    }

    /// Returns when the server stops.
    pub async fn stopped(&mut self) {
        self.reached(ServerPhase::Stopped).await;
    }

    async fn reached(&mut self, phase: ServerPhase) {
        // An error means that the server has ended.
        let _ = self.phase.wait_for(|reached| *reached >= phase).await;
    }
}
