//! The one request of a node that is no member yet.

use std::time::Duration;

use reelyard_core::clock::Clock;
use reelyard_protocol::cluster::{
    ConnectionUse, JoinAnswer, JoinOutcome, JoinRequest, LARGEST_JOIN,
};
use tokio::time::timeout;

use super::connecting::{ConnectFailed, open};
use crate::transport::framing::{read_frame, write_frame};
use crate::transport::local_node::hello_of_newcomer;
use crate::transport::security::LinkSecurity;

/// Time limit for the answer: it is a change of the cluster.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Why a node did not become a member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinFailed {
    /// The member cannot be reached, or it broke off. The node may have a number already: the same request gets the
    /// same answer.
    #[error("{0}")]
    Unreachable(String),
    /// The cluster refuses the node.
    #[error("{why}")]
    Refused {
        /// A stable word for the reason.
        kind: String,
        /// The reason, with the remedy.
        why: String,
    },
}

/// Asks the member at `address` to make the sender a member too.
///
/// # Errors
/// When the member cannot be reached, or the cluster refuses.
pub async fn join_cluster(
    security: &LinkSecurity,
    address: &str,
    request: &JoinRequest,
) -> Result<JoinAnswer, JoinFailed> {
    let hello = hello_of_newcomer(&Clock::system(), ConnectionUse::Join, None);
    let (mut stream, _, _) = open(security, address, hello).await.map_err(of_connect)?;
    let broken = |why: &dyn std::fmt::Display| JoinFailed::Unreachable(format!("{address}: {why}"));
    write_frame(&mut stream, LARGEST_JOIN, &[], &request.encode())
        .await
        .map_err(|error| broken(&error))?;
    let read = timeout(ANSWER_TIME, read_frame(&mut stream, LARGEST_JOIN)).await;
    let read =
        read.map_err(|_| broken(&format!("no answer within {} s", ANSWER_TIME.as_secs())))?;
    let frame = read.map_err(|error| broken(&error))?;
    let frame = frame.ok_or_else(|| broken(&"it closed the connection without an answer"))?;
    match JoinOutcome::read(&frame).map_err(|error| broken(&error))? {
        JoinOutcome::Accepted(answer) => Ok(answer),
        JoinOutcome::Refused { kind, why } => Err(JoinFailed::Refused { kind, why }),
    }
}

fn of_connect(failed: ConnectFailed) -> JoinFailed {
    match failed {
        ConnectFailed::Unreachable(why) => JoinFailed::Unreachable(why),
        ConnectFailed::Refused(_, refusal) => {
            JoinFailed::Refused { kind: refusal.kind.word().to_owned(), why: refusal.why }
        }
    }
}
