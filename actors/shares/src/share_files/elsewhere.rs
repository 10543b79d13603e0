//! The files of shares at the other nodes of a cluster.

use futures::future::{BoxFuture, FutureExt, ready};

use crate::share_expiry::ShareId;

/// Asks the other nodes for a file that is missing here. A mirror may be late on one node.
pub trait FilesElsewhere: Send + Sync {
    /// Whether every other member says that it does not have the file of the share either. A silent one may have it.
    fn all_lack(&self, id: ShareId) -> BoxFuture<'_, bool>;
}

/// There are no other nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NowhereElse;

impl FilesElsewhere for NowhereElse {
    fn all_lack(&self, _: ShareId) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }
}
