//! Requests for the small files of a batch before their turn. All requests are sent at once, and the
//! source answers them without a pause.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::downloader::fetching::source_link::SourceLink;
use crate::downloader::fetching::source_stream::SourcePort;

/// Requests that were sent ahead and are not answered yet. If one fails, each file is requested
/// separately at its turn.
#[derive(Default)]
pub struct RequestPipeline {
    asked: Mutex<Option<PipelinedRequests>>,
    /// Whether a master was too large for a batch, so that the files behind it would wait.
    is_held_up: AtomicBool,
}

struct PipelinedRequests {
    port: SourcePort,
    /// The paths of the expected answers, in their order.
    paths: VecDeque<String>,
    /// None while one of the answers is read.
    link: Option<SourceLink>,
}

impl RequestPipeline {
    /// The pipeline of a connection on which the requests for `paths` were sent.
    pub(super) fn of(port: SourcePort, paths: VecDeque<String>, link: SourceLink) -> Self {
        let asked = PipelinedRequests { port, paths, link: Some(link) };
        RequestPipeline { asked: Mutex::new(Some(asked)), is_held_up: AtomicBool::default() }
    }

    fn asked(&self) -> MutexGuard<'_, Option<PipelinedRequests>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks that a master is too large for a batch.
    pub(super) fn hold_up(&self) {
        self.is_held_up.store(true, Ordering::Relaxed);
    }

    /// Whether a master was too large for the batch. Resets the mark.
    pub fn is_held_up(&self) -> bool {
        self.is_held_up.swap(false, Ordering::Relaxed)
    }

    /// The connection with the answer for `path` of the source at `port`, if it is the next answer.
    pub(super) fn link_to(&self, port: SourcePort, path: &str) -> Option<SourceLink> {
        let mut asked = self.asked();
        let comes_next = asked.as_mut().is_some_and(|asked| {
            asked.port == port && asked.paths.pop_front().is_some_and(|next| next == path)
        });
        if !comes_next {
            *asked = None;
        }
        asked.as_mut()?.link.take()
    }

    /// Keeps the connection if further answers are expected on it and all others have been read.
    /// Otherwise returns it.
    pub(super) fn put_back(&self, link: SourceLink) -> Option<SourceLink> {
        match &mut *self.asked() {
            Some(asked) if link.unanswered() > 0 => {
                assert_eq!(link.unanswered(), asked.paths.len());
                asked.link = Some(link);
                None
            }
            _ => Some(link),
        }
    }
}
