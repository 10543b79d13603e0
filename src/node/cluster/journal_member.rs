//! The facts of this node for its connections, from its journal and its configuration.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reelyard_cluster::LocalMember;
use reelyard_core::settings::{EffectiveSetting, Scope};
use reelyard_journal::Journal;
use reelyard_protocol::cluster::{ElectionTimes, HelloSkips, SettingsDigest};
use reelyard_replication::{ClusterClockConfig, ElectionConfig, MemberRecord, NodeIdentity};

/// The journal, once it is open. The network starts before it.
#[derive(Clone, Default)]
pub struct OpenedJournal(Arc<OnceLock<Journal>>);

impl OpenedJournal {
    /// Makes the journal known. Only the first call has an effect.
    pub fn set(&self, journal: Journal) {
        // There is one journal in a node.
        let _ = self.0.set(journal);
    }

    /// The journal; none while it opens.
    pub fn get(&self) -> Option<&Journal> {
        self.0.get()
    }
}

/// This node as a member.
pub struct JournalMember {
    identity: NodeIdentity,
    /// They need a restart.
    times: ElectionTimes,
    /// Changed by a reload.
    settings: Mutex<SettingsDigest>,
    journal: OpenedJournal,
}

impl JournalMember {
    /// The node with this identity, and with these settings in force.
    pub fn new(
        identity: NodeIdentity,
        times: ElectionTimes,
        effective: &[EffectiveSetting],
        journal: OpenedJournal,
    ) -> Self {
        let settings = Mutex::new(digest(effective));
        JournalMember { identity, times, settings, journal }
    }

    /// Takes the settings of a reload.
    pub fn change_settings(&self, effective: &[EffectiveSetting]) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = digest(effective);
    }
}

/// The times of a node with these settings.
pub fn times(election: &ElectionConfig, clock: &ClusterClockConfig) -> ElectionTimes {
    let millis = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    ElectionTimes {
        heartbeat_ms: millis(election.heartbeat),
        election_min_ms: millis(election.election_min),
        election_max_ms: millis(election.election_max),
        clock_bound_ms: millis(clock.clock_bound),
    }
}

/// The digest of the settings that all nodes share. Secrets do not count: their values are not known here.
fn digest(effective: &[EffectiveSetting]) -> SettingsDigest {
    let mut hasher = blake3::Hasher::new();
    let shared = effective.iter().filter(|setting| setting.applies.scope == Scope::Cluster);
    for setting in shared.filter(|setting| !setting.is_secret) {
        let value = setting.value.as_deref().unwrap_or_default();
        hasher.update(format!("{}={value}\n", setting.key).as_bytes());
    }
    SettingsDigest(*hasher.finalize().as_bytes())
}

impl LocalMember for JournalMember {
    fn identity(&self) -> NodeIdentity {
        self.identity
    }

    fn times(&self) -> ElectionTimes {
        self.times
    }

    fn settings(&self) -> SettingsDigest {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None before the journal is open. The leader makes new connections all the time, so it learns them soon.
    fn skips(&self) -> HelloSkips {
        let Some(journal) = self.journal.get() else { return HelloSkips::default() };
        let (log, skipped) = journal.skipped_entries();
        HelloSkips { log: (log.start, log.end), skipped }
    }

    fn members(&self) -> Vec<(u64, MemberRecord)> {
        let members = self.journal.get().map(Journal::members).unwrap_or_default();
        members.into_iter().map(|member| (member.number, member.record)).collect()
    }

    fn present_leader(&self) -> Option<u64> {
        self.journal.get().and_then(Journal::present_leader)
    }
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::cluster::{PROTOCOL_VERSIONS, ProtocolVersions};

    use super::*;

    /// A node with another version would be connected, and understand no call.
    #[test]
    fn the_greeting_names_the_versions_of_the_calls() {
        let ProtocolVersions { min, max } = PROTOCOL_VERSIONS;
        let called = Journal::not_ready().first().copied();
        assert!(called.is_some_and(|called| (min..=max).contains(&called)), "{called:?}");
    }
}
