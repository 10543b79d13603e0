//! The limit of pages that are computed at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits the pages that are computed at once to the processors: more would only slow each other down.
#[derive(Clone, Debug)]
pub struct PageWorkLimit(Arc<Semaphore>);

impl Default for PageWorkLimit {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, NonZeroUsize::get);
        PageWorkLimit(Arc::new(Semaphore::new(processors)))
    }
}

impl PageWorkLimit {
    /// Waits for a place among the pages that are computed. None while the node stops.
    pub async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}
