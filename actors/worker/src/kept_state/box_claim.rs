//! The claim of a pool on boxes, as a worker stores it.

use reelyard_core::manager::YardId;
use reelyard_protocol::boxes::{FenceToken, IdRange, PoolName};
use serde::{Deserialize, Serialize};

/// The boxes that one pool has here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxClaim {
    /// The cluster of the pool; none if a node of an older version sent the request.
    pub cluster: Option<YardId>,
    /// The name of the pool.
    pub pool: PoolName,
    /// The name of its set of hooks.
    pub hooks: String,
    /// Its ranges of ids.
    pub ids: Vec<IdRange>,
    /// A token that was served; no token above `token + TOKENS_A_WRITE - 1` was served.
    pub token: FenceToken,
}
