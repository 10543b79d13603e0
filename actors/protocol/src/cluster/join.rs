//! The request of a node to become a member, and the answer.

use std::fmt;

use reelyard_core::cluster_id::{ClusterId, StoreId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::hello::FormatLevels;

/// Version of both messages, as their first byte.
const VERSION: u8 = 1;

/// The longest request or answer that is read, in bytes.
pub const LARGEST_JOIN: usize = 64 << 10;

/// The secret of an invitation. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JoinSecret(pub String);

impl fmt::Debug for JoinSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinSecret")
    }
}

/// A node asks to become a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// The secret of the invitation.
    pub secret: JoinSecret,
    /// The store of the node. The number is given to it alone.
    pub store: StoreId,
    /// Address at which members reach the node, as `host:port`.
    pub cluster_address: String,
    /// URL of its API.
    pub api_address: String,
    /// Version of its program.
    pub program: String,
    /// The format levels of its program.
    pub levels: FormatLevels,
}

/// A member, as the answer names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedMember {
    /// The number that the cluster gave it.
    pub number: u64,
    /// Whether it votes.
    pub is_voter: bool,
    /// None for the founder of a store of earlier versions.
    pub store: Option<StoreId>,
    /// Address at which other members reach it, as `host:port`.
    pub cluster_address: String,
    /// URL of its API.
    pub api_address: String,
    /// The highest format level of its program.
    pub format_level: u16,
}

/// The place of a new node in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinAnswer {
    /// The id for the store of the new node.
    pub cluster: ClusterId,
    /// The number of the new node.
    pub number: u64,
    /// The members, the new one not included.
    pub members: Vec<JoinedMember>,
}

/// The answer to a [`JoinRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinOutcome {
    /// The node has a number now.
    Accepted(JoinAnswer),
    /// The node gets no number.
    Refused {
        /// A stable word for the reason.
        kind: String,
        /// The reason for a person, with the remedy.
        why: String,
    },
}

/// A request or an answer that this program cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadJoinMessage {
    /// Another program wrote it in a form that this one does not know.
    #[error(
        "it has version {0} of the request to join, and this program knows version {VERSION}: run the same version of reelyard on all nodes"
    )]
    AnotherVersion(u8),
    /// It cannot be parsed.
    #[error("it is no request to join and no answer to one")]
    Garbage,
}

impl JoinRequest {
    /// The bytes of the frame, without its length.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// When it is of another version, or no request.
    pub fn read(frame: &[u8]) -> Result<Self, BadJoinMessage> {
        read(frame)
    }
}

impl JoinOutcome {
    /// The bytes of the frame, without its length.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// When it is of another version, or no answer.
    pub fn read(frame: &[u8]) -> Result<Self, BadJoinMessage> {
        read(frame)
    }
}

fn encode(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    // Encoding into a growing vector fails only for values that no message contains. The receiver refuses
    // an empty body.
    bytes.extend(postcard::to_stdvec(message).unwrap_or_default());
    bytes
}

fn read<T: DeserializeOwned>(frame: &[u8]) -> Result<T, BadJoinMessage> {
    match frame.split_first() {
        Some((&VERSION, body)) => postcard::from_bytes(body).map_err(|_| BadJoinMessage::Garbage),
        Some((&other, _)) => Err(BadJoinMessage::AnotherVersion(other)),
        None => Err(BadJoinMessage::Garbage),
    }
}
