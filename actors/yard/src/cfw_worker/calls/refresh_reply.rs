//! The callers of a refresh.

use crate::cfw_worker::{AskFailure, Inventory};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The receiver of the answer to one [`Refresh`].
pub(crate) type RefreshReply = oneshot::Sender<Result<Arc<Inventory>, AskFailure>>;
