//! Asking for the small files of a run before their turn: all requests leave at once, and the
//! source's answers follow one another without a pause.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use reelyard_file_server::data_port::master_path;

use super::{Copying, Fetcher};
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::fetching::source_link::{AnswerHead, SourceLink};

/// Requests that were sent ahead and are not answered yet. If one fails, each file is requested
/// separately when its turn comes.
#[derive(Default)]
pub struct RequestPipeline {
    asked: Mutex<Option<PipelinedRequests>>,
    /// Whether a master turned out too large for a run: what comes behind it would wait.
    is_held_up: AtomicBool,
}

struct PipelinedRequests {
    addr: SocketAddr,
    /// The paths that answers are still to come for, in their order.
    paths: VecDeque<String>,
    /// Not here while one of the answers is read.
    link: Option<SourceLink>,
}

impl RequestPipeline {
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

    /// The connection on which the answer comes that `copying` waits for, if it comes next.
    fn link_to(&self, copying: &Copying<'_>) -> Option<SourceLink> {
        let mut asked = self.asked();
        let comes_next = asked.as_mut().is_some_and(|asked| {
            asked.addr == copying.addr
                && asked.paths.pop_front().is_some_and(|path| path == copying.path)
        });
        if !comes_next {
            *asked = None;
        }
        asked.as_mut()?.link.take()
    }

    /// Keeps the connection if more answers come on it, all others having been read; else hands it
    /// back.
    pub(super) fn put_back(&self, link: SourceLink) -> Option<SourceLink> {
        match &mut *self.asked() {
            Some(asked) if link.unanswered() > 0 => {
                debug_assert_eq!(link.unanswered(), asked.paths.len());
                asked.link = Some(link);
                None
            }
            _ => Some(link),
        }
    }
}

impl Fetcher {
    /// Requests the masters of a batch, in its order. Copies from a source whose data port is not known
    /// yet are not requested ahead.
    pub fn pipeline_requests<'a>(
        &self,
        run: impl Iterator<Item = &'a CopyOrder>,
    ) -> RequestPipeline {
        let mut run = run.peekable();
        let addr = run.peek().and_then(|first| self.known_data_port(first));
        let Some(addr) = addr else { return RequestPipeline::default() };
        let paths: VecDeque<String> =
            run.map(|order| master_path(&order.dir, &order.name, false)).collect();
        let link = self.links.take(addr);
        let link = link.map_or_else(
            || SourceLink::connect(addr, self.timeouts, &CopyCancellation::default()),
            Ok,
        );
        let requests: Vec<String> =
            paths.iter().map(|path| self.request(addr, path, &[])).collect();
        match link.and_then(|mut link| link.send(&requests).map(|()| link)) {
            Ok(link) => {
                let asked = PipelinedRequests { addr, paths, link: Some(link) };
                RequestPipeline {
                    asked: Mutex::new(Some(asked)),
                    is_held_up: AtomicBool::default(),
                }
            }
            // Each copy connects by itself and reports its own error.
            Err(_) => RequestPipeline::default(),
        }
    }

    /// The answer that was asked for ahead. None if there is none, or the connection broke off.
    pub(super) fn pipelined_answer(
        &self,
        copying: &Copying<'_>,
    ) -> Option<(SourceLink, AnswerHead)> {
        let mut link = copying.ahead.link_to(copying)?;
        link.watch(copying.cancel).ok()?;
        let head = link.answer().ok()?;
        Some((link, head))
    }
}
