//! The cluster of this node, and its number there.

use reelyard_journal::{found_cluster, has_store, stored_identity};
use reelyard_replication::NodeIdentity;

use super::node_error::NodeError;
use super::settings::journal_dir;
use crate::config::NodeConfig;

/// The number of a node that founds a cluster.
const FIRST: u64 = 1;

/// The identity of this node. A node with an empty directory founds a cluster of its own. A node that is configured as
/// one of several does not: an emptied disk would become a second cluster.
///
/// # Errors
/// The node is one of several and has no identity, `node_id` is another one, or the store cannot be read.
pub fn identify(config: &NodeConfig) -> Result<NodeIdentity, NodeError> {
    let dir = journal_dir(&config.data_dir);
    let stored = stored_identity(&dir)?;
    if stored.is_none() && config.cluster.listen.is_some() && !has_store(&dir) {
        return Err(NodeError::NoCluster(config.data_dir.display().to_string()));
    }
    let wanted = config.node_id.map(u64::from);
    let identity = found_cluster(&dir, wanted.unwrap_or(FIRST))?;
    match wanted {
        Some(wanted) if wanted != identity.number => Err(NodeError::AnotherNumber {
            data_dir: config.data_dir.display().to_string(),
            wanted,
            number: identity.number,
        }),
        _ => Ok(identity),
    }
}
