//! The cluster, as the API shows it.

use std::collections::BTreeMap;

use reelyard_core::cluster_id::{ClusterId, StoreId};
use reelyard_core::event::Epoch;
use serde::{Deserialize, Serialize};

/// Lifetime of an invitation to a cluster, unless its maker wants another one.
pub const INVITATION_TTL: &str = "15m";

/// The outcome of a transfer of the lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LeadTransfer {
    /// Number of the node that leads now.
    pub leader: u64,
}

/// The cluster, as the node that answers knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ClusterView {
    /// Id of the cluster. A node of another cluster is refused.
    #[schema(value_type = String)]
    pub cluster: ClusterId,
    /// Number of the node that answers.
    pub node: u64,
    /// Number of the leader. Missing while the node knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<u64>,
    /// The newest term that the node knows.
    pub epoch: Epoch,
    /// Index of the last entry that is applied on this node.
    pub applied: u64,
    /// How often another leader began since the start of the node that answers.
    pub leader_changes: u64,
    /// Requests that the node passed on to the leader since its start.
    pub forwarded: u64,
    /// Connections between nodes that one side refused, since the start of the node that answers, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// Why a change would not succeed now. Missing if one would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindrance: Option<String>,
    /// Everything about the cluster that needs attention, in words.
    pub warnings: Vec<String>,
    /// All members, by number.
    pub members: Vec<MemberInfo>,
}

/// Whether a member leads, votes, or only copies.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MemberRank {
    /// It leads.
    Leader,
    /// It votes, and follows the leader.
    Voter,
    /// It has no vote. It gets one after it was up to date for ten seconds.
    Learner,
}

/// How far a snapshot has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SnapshotProgressView {
    /// Bytes that the receiver has.
    pub sent: u64,
    /// Bytes of the whole snapshot.
    pub bytes: u64,
}

/// One member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MemberInfo {
    /// Its number. No other node ever gets it.
    pub number: u64,
    /// Whether it leads, votes, or only copies.
    pub rank: MemberRank,
    /// Address at which other nodes reach it. Empty while it is alone without `cluster.listen`.
    pub cluster_address: String,
    /// URL of its API.
    pub api_address: String,
    /// Id of its store. Missing for the founder of a store of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub store: Option<StoreId>,
    /// How many entries it is behind. Only the leader knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// About how many bytes of the log it is behind. Only the leader knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_bytes: Option<u64>,
    /// For how many milliseconds it lacks an entry. Only the leader knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_ms: Option<u64>,
    /// A snapshot on its way to it. Only the leader sends one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotProgressView>,
    /// The highest format level of its program. The lowest one of all members is used.
    pub format_level: u16,
    /// Whether the settings of the cluster in its file differ from those of the node that answers.
    pub settings_differ: bool,
    /// Milliseconds since its last message to the node that answers. On the leader: since its last answer to a call of
    /// the leader. Missing for the node that answers, and before the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact_ms: Option<u64>,
    /// Time of a message there and back, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<u64>,
    /// How far its wall clock is ahead, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_skew_ms: Option<i64>,
    /// Version of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it cannot be reached, or why one of both nodes refuses the other. Missing while all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}
