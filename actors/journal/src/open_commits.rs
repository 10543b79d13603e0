//! Counts commits that have no answer yet.

use std::sync::Arc;

use tokio::sync::watch;

/// The commits that were accepted and are not answered. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct OpenCommits(Arc<watch::Sender<usize>>);

impl OpenCommits {
    /// Counts one more commit until the value is dropped.
    pub(crate) fn begin(&self) -> OpenCommit {
        self.0.send_modify(|open| *open += 1);
        OpenCommit(self.0.clone())
    }

    /// Waits until every commit is answered.
    pub(crate) async fn all_answered(&self) {
        // This handle keeps the sender alive.
        let _ = self.0.subscribe().wait_for(|open| *open == 0).await;
    }
}

/// One commit without an answer.
pub(crate) struct OpenCommit(Arc<watch::Sender<usize>>);

impl Drop for OpenCommit {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}
