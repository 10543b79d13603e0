//! Why a box was not obtained, or was lost.

use reelyard_api::Problem;
use reelyard_protocol::node_address::BadNodeAddress;

use crate::cluster_client::NoNodeAnswered;

/// Why a box was not obtained, or was lost.
#[derive(Debug, thiserror::Error)]
pub enum BoxClientError {
    /// The address of the node is not valid.
    #[error(transparent)]
    BadUrl(#[from] BadNodeAddress),
    /// The request has an invalid value.
    #[error("{0}")]
    BadRequest(String),
    /// No box was free within the wait.
    #[error("{}", .0.detail)]
    NoBoxInTime(Problem),
    /// The node refused the request.
    #[error("the node refused: {0}")]
    Refused(Problem),
    /// No node answered, or the answer is not valid.
    #[error(transparent)]
    Unreachable(#[from] NoNodeAnswered),
    /// The lease ended while it was held.
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// A lease ended while it was held. Another holder may now have the box.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease of box {box_id} of pool {pool} is lost: {why}")]
pub struct Lost {
    /// Name of the pool that the lease belongs to.
    pub pool: String,
    /// Number of the box, or the id that was drawn for it.
    pub box_id: u32,
    /// The cause as text, for people and the log.
    pub why: String,
}
