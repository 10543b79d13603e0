//! The members of a cluster, as the log keeps them.

use std::fmt;

use reelyard_core::cluster_id::{ClusterId, StoreId};
use serde::{Deserialize, Serialize};

/// The highest format level that this program reads and writes. It rises with each new form in the log.
pub const FORMAT_LEVEL: u16 = 6;

/// The lowest format level of a member that can run together with this program. Nothing of a higher level is written
/// while a member has this one.
pub const LOWEST_FORMAT_LEVEL: u16 = 5;

/// How a node is known to itself: its store says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeIdentity {
    /// The cluster of its store.
    pub cluster: ClusterId,
    /// The number that the cluster gave it. No other node ever gets it.
    pub number: u64,
    /// The id of its store.
    pub store: StoreId,
}

/// The record of a member beside its number: which store it has, and where it is reached.
///
/// The log and snapshots keep it as one text, see [`MemberRecord::stored_text`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberRecord {
    /// The store that the number was given to. None for the founder of a store of earlier versions.
    pub store: Option<StoreId>,
    /// Address at which other members reach it, as `host:port`. Empty while it is alone.
    pub cluster_address: String,
    /// URL of its API. Empty while it is alone.
    pub api_address: String,
    /// The highest format level that its program reads and writes.
    pub format_level: u16,
    /// A number up to which all numbers were given before, also to nodes that are no members now.
    pub numbers_given: u64,
}

/// One member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The number that the cluster gave it.
    pub number: u64,
    /// Whether it votes. A learner only follows.
    pub is_voter: bool,
    /// Its store and its addresses.
    pub record: MemberRecord,
}

/// A stored record that this program cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the record of a member is not readable: {why}. Start the version of reelyard that wrote it"
)]
pub struct UnreadableMember {
    why: String,
}

/// The versions of a stored record.
#[derive(Serialize, Deserialize)]
#[serde(tag = "version")]
enum StoredMember {
    #[serde(rename = "1")]
    V1 { store: Option<StoreId>, cluster: String, api: String, level: u16, given: u64 },
}

impl MemberRecord {
    /// The record as one text. Earlier versions stored the bare address there.
    pub fn stored_text(&self) -> String {
        let stored = StoredMember::V1 {
            store: self.store,
            cluster: self.cluster_address.clone(),
            api: self.api_address.clone(),
            level: self.format_level,
            given: self.numbers_given,
        };
        // A record without maps and floats has a JSON form.
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads a text of any version: a bare address, or a record.
    ///
    /// # Errors
    /// When the text is a record of a later version.
    pub fn read(text: &str) -> Result<Self, UnreadableMember> {
        if !text.starts_with('{') {
            return Ok(MemberRecord {
                cluster_address: text.to_owned(),
                ..MemberRecord::default()
            });
        }
        let stored = serde_json::from_str(text);
        let StoredMember::V1 { store, cluster, api, level, given } =
            stored.map_err(|error| UnreadableMember { why: error.to_string() })?;
        Ok(MemberRecord {
            store,
            cluster_address: cluster,
            api_address: api,
            format_level: level,
            numbers_given: given,
        })
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = if self.is_voter { "voter" } else { "learner" };
        let address = &self.record.cluster_address;
        write!(f, "node {} ({role} at {address})", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_text_of_every_version_of_a_record_is_read() {
        let record = MemberRecord {
            store: Some(StoreId::from(7)),
            cluster_address: "10.0.0.1:8082".to_owned(),
            api_address: "https://a:8080".to_owned(),
            format_level: 1,
            numbers_given: 4,
        };
        let kept = r#"{"version":"1","store":"00000000000000000000000000000007","cluster":"10.0.0.1:8082","api":"https://a:8080","level":1,"given":4}"#;
        assert_eq!(record.stored_text(), kept);
        assert_eq!(MemberRecord::read(kept), Ok(record));
        let former = MemberRecord::read("10.0.0.1:8082").unwrap();
        assert_eq!((former.store, former.format_level), (None, 0));
        assert_eq!(former.cluster_address, "10.0.0.1:8082");
        assert_eq!(MemberRecord::read(""), Ok(MemberRecord::default()));
    }

    #[test]
    fn a_record_of_a_later_version_is_refused_in_words() {
        let refused = MemberRecord::read(r#"{"version":"2"}"#).unwrap_err().to_string();
        assert!(refused.contains("Start the version"), "{refused}");
    }
}
