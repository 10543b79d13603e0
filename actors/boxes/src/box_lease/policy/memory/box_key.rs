//! How the actor names one box.

use reelyard_protocol::boxes::{BoxNumber, PoolName};

/// A box by pool and number.
pub(crate) type BoxKey = (PoolName, BoxNumber);
