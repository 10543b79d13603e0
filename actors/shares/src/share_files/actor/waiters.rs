//! Callers that wait for the end of a move.

use crate::share_expiry::Moved;
use crate::share_files::messages::MoveError;
use tokio::sync::oneshot;

pub(crate) type MoveReply = Result<Moved, MoveError>;

/// The callers that wait for the outcome of a request.
pub(crate) type MoveRequestWaiters = Vec<oneshot::Sender<MoveReply>>;
