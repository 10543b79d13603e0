//! When the hosts of pools are probed, and since when each is silent.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use reelyard_core::host::HostAddr;

use crate::box_lease::policy::memory::queue::WaiterId;
use crate::box_lease::policy::memory::schedule::KeyedDeadlines;

/// The probed state of hosts. In memory only.
#[derive(Default)]
pub(crate) struct BoxHostProbes {
    pub(crate) due: KeyedDeadlines<HostAddr>,
    /// Hosts with a running probe.
    pub(crate) asked: HashSet<HostAddr>,
    /// Hosts that did not answer the last probe, and why.
    pub(crate) silent: HashMap<HostAddr, String>,
    /// The callers to answer if the host does not answer at once.
    pub(crate) overdue: HashMap<HostAddr, Vec<WaiterId>>,
}

impl BoxHostProbes {
    /// Why a host does not answer, if it does not.
    pub(crate) fn silence(&self, host: HostAddr) -> Option<&String> {
        self.silent.get(&host)
    }

    /// When a host is probed next.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.due.next()
    }
}
