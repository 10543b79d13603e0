//! The manager of a yard: the identity of a cluster and of its nodes, as hosts receive it.
//!
//! A cluster draws its id when it leads for the first time, and keeps it: it is part of the durable
//! state. Workers record the id of each caller, so that they can distinguish two clusters on the same
//! hosts.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::secret_id::IdSource;

/// Header of a node's calls to our workers: its [`ManagerId`].
pub const MANAGER_HEADER: &str = "Reelyard-Manager";

/// The id of a yard, as its hosts know it: 128 bits, drawn once; 32 hex digits in text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct YardId(pub u128);

impl YardId {
    /// The next one of `ids`.
    pub fn draw(ids: &mut IdSource) -> Self {
        YardId(ids.draw_public())
    }
}

impl fmt::Display for YardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for YardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "YardId({self})")
    }
}

/// A node of a cluster; `<cluster>/<node>` in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagerId {
    /// The id of the cluster.
    pub cluster: YardId,
    /// The number of the node in it.
    pub node: u64,
}

/// A text that names no manager.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a manager: expected 32 hex digits, a slash and a number")]
pub struct BadManagerId(String);

impl fmt::Display for ManagerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.node)
    }
}

impl FromStr for ManagerId {
    type Err = BadManagerId;

    fn from_str(text: &str) -> Result<Self, BadManagerId> {
        let parts = text.split_once('/').filter(|(cluster, _)| cluster.len() == 32);
        let read = parts.and_then(|(cluster, node)| {
            let cluster = YardId(u128::from_str_radix(cluster, 16).ok()?);
            Some(ManagerId { cluster, node: node.parse().ok()? })
        });
        // The log repeats only a part of the data that a foreign manager sent.
        read.ok_or_else(|| BadManagerId(text.chars().take(60).collect()))
    }
}

impl Serialize for ManagerId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ManagerId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

// On disk an id is bytes, in only one form.
impl Serialize for YardId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.to_le_bytes().serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for YardId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            let read = u128::from_str_radix(&text, 16);
            read.map(YardId).map_err(serde::de::Error::custom)
        } else {
            <[u8; 16]>::deserialize(deserializer).map(u128::from_le_bytes).map(YardId)
        }
    }
}

/// The identity that a node sends to hosts: its number, and its cluster's id once that is known. Clones
/// share the same identity.
#[derive(Clone, Debug)]
pub struct ManagerIdentity {
    node: u64,
    cluster: Arc<OnceLock<YardId>>,
}

impl ManagerIdentity {
    /// The identity of this node, before its cluster is known.
    pub fn of_node(node: u64) -> Self {
        ManagerIdentity { node, cluster: Arc::default() }
    }

    /// The number of the node in its cluster.
    pub fn node(&self) -> u64 {
        self.node
    }

    /// The node's cluster is known.
    pub fn set_cluster(&self, cluster: YardId) {
        // A cluster never changes its id: the first known id stays.
        let _ = self.cluster.set(cluster);
    }

    /// The identity for calls; none while the cluster's id is unknown.
    pub fn id(&self) -> Option<ManagerId> {
        self.cluster.get().map(|cluster| ManagerId { cluster: *cluster, node: self.node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_text_that_reads_back() {
        let id = ManagerId { cluster: YardId(0xab), node: 3 };
        assert_eq!(id.to_string(), "000000000000000000000000000000ab/3");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "ab/3", "000000000000000000000000000000ab", "x", "/"] {
            assert!(bad.parse::<ManagerId>().is_err(), "{bad}");
        }
        let bytes = postcard::to_stdvec(&id.cluster).unwrap();
        assert_eq!(postcard::from_bytes::<YardId>(&bytes).unwrap(), id.cluster);
    }
}
