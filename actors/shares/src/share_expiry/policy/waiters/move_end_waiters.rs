//! Callers that wait for the ends of moves.

use crate::share_expiry::MoveAnswer;
use std::collections::HashMap;
use tokio::sync::oneshot;

/// The callers that wait for the ends of moves.
pub(crate) type MoveEndWaiters = HashMap<u64, Vec<oneshot::Sender<MoveAnswer>>>;
