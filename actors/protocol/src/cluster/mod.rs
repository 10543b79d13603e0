//! The bytes between the nodes of a cluster: hello, refusal, frames, and the request of a node to join.
//!
//! Each connection begins with one [`Greeting`] in both directions. Its first bytes have the same place in all
//! versions, so a program of any version can refuse another one in words.

mod frame;
mod greeting;
mod hello;
mod join;
mod refusal;
#[cfg(test)]
mod sent_bytes;
pub mod shared_files;

pub use frame::{CallAnswerHead, CallHead, FRAME_LENGTH_BYTES, FrameTooLarge, frame_length};
pub use greeting::{
    BadGreeting, Greeting, LARGEST_GREETING, PROTOCOL_VERSIONS, ProtocolVersions, ReadGreeting,
};
pub use hello::{
    AddressedNode, ConnectionUse, ElectionTimes, FormatLevels, HelloNode, HelloSkips, NodeHello,
    SettingsDigest,
};
pub use join::{
    BadJoinMessage, JoinAnswer, JoinOutcome, JoinRequest, JoinSecret, JoinedMember, LARGEST_JOIN,
};
pub use refusal::{ConnectionRefusal, RefusalKind};
