//! Known sources: the addresses of their data ports, and reusable connections.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::attempt::Copying;
use crate::downloader::fetching::source_link::{AnswerHead, SourceLink};
use crate::downloader::fetching::source_stream::SourcePort;

/// How long an unused connection is kept: less than a source waits for the next request.
const IDLE: Duration = Duration::from_secs(10);

/// How many unused connections to one source are kept.
const MOST_IDLE: usize = 8;

/// How long the data port of a source is remembered.
const DATA_PORT_IS_GOOD_FOR: Duration = Duration::from_secs(10);

/// Idle connections to sources.
#[derive(Default)]
pub(super) struct IdleSourceLinks(Mutex<HashMap<SourcePort, Vec<(Instant, SourceLink)>>>);

/// The data ports of sources, and the times when they were found.
#[derive(Default)]
pub(super) struct DataPorts(Mutex<HashMap<SocketAddr, (Instant, SourcePort)>>);

impl DataPorts {
    pub(super) fn of(&self, source: SocketAddr) -> Option<SourcePort> {
        let mut known = self.known();
        known.retain(|_, (since, _)| since.elapsed() < DATA_PORT_IS_GOOD_FOR);
        known.get(&source).map(|&(_, port)| port)
    }

    pub(super) fn remember(&self, source: SocketAddr, port: SourcePort) {
        self.known().insert(source, (Instant::now(), port));
    }

    /// The source did not answer. Another program may be there now.
    pub(super) fn forget(&self, port: SourcePort) {
        self.known().retain(|_, (_, known)| *known != port);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SocketAddr, (Instant, SourcePort)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleSourceLinks {
    pub(super) fn take(&self, port: SourcePort) -> Option<SourceLink> {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, idle| {
            idle.retain(|(since, _)| since.elapsed() < IDLE);
            !idle.is_empty()
        });
        links.get_mut(&port)?.pop().map(|(_, link)| link)
    }

    /// Keeps a connection for the next copy, if its last answer was read to its end. A connection
    /// with a reduced rate is closed.
    pub(super) fn put_back(&self, copying: &Copying<'_>, link: SourceLink, head: &AnswerHead) {
        copying.cancel.release();
        if !head.keep_alive || link.is_slowed() {
            return;
        }
        let Some(link) = copying.ahead.put_back(link).filter(SourceLink::is_idle) else {
            return;
        };
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = links.entry(copying.port).or_default();
        if idle.len() < MOST_IDLE {
            idle.push((Instant::now(), link));
        }
    }
}
