//! The members of the cluster: their addresses, changes of the membership, and the contact with each of them.

mod live_quorum;
pub(super) mod member_node;
mod member_records;
mod membership;
pub(super) mod peer_contacts;
pub(super) mod promotion;

pub(super) use member_node::MemberNode;
pub use membership::{MemberChange, MemberChangeError};
