//! Why a request about a host is refused.

use reelyard_core::host::HostAddr;
use reelyard_replication::CommitError;

use crate::task_manager::state::event::TaskRefusal;

/// Why a host was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostRefused {
    /// There is no such host (404).
    #[error("{0} is not a host of this yard")]
    NoSuchHost(HostAddr),
    /// The host is in the configuration, which alone sets its role and removes it (409).
    #[error("{0} is in the configuration: change it there and reload")]
    Configured(HostAddr),
    /// It could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl HostRefused {
    /// A change that was decided but refused when it came to be applied.
    pub fn at_apply(refusal: &TaskRefusal, host: HostAddr) -> Self {
        match refusal {
            TaskRefusal::Configured(host) => HostRefused::Configured(*host),
            _ => HostRefused::NoSuchHost(host),
        }
    }
}
