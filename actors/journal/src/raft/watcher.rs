//! Watches the raft node: founds its cluster, notices leaders, takes snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use openraft::ServerState;
use openraft::error::{Fatal, InitializeError, RaftError};
use reelyard_core::event::Epoch;
use reelyard_replication::{Leadership, MemberRecord};

use super::lead::ClockWatch;
use super::members::MemberNode;
use super::members::peer_contacts::PeerContacts;
use super::members::promotion::LearnerWatch;
use super::members::{MemberChange, MemberChangeError};
use super::node::RaftNode;
use super::runtime::TickGate;
use super::{Metrics, Raft};
use crate::owners::PieceOwners;

/// When nothing is written, a snapshot is due after this fraction (1/16) of the usual log size. Only the
/// snapshot frees the memory of the log.
const QUIET_LOG_PART: u64 = 16;

/// When nothing is written, a snapshot is due only if the log has this fraction (1/8) of the size of the last
/// snapshot. So the disk writes at most eight bytes for a byte of the log.
const QUIET_SNAPSHOT_PART: u64 = 8;

/// How often a single leader checks its own state if nothing has changed. No other node can depose it,
/// so only a snapshot can become due meanwhile, and the interval considers that.
const ALONE: Duration = Duration::from_secs(10);

/// The task that watches over the node.
pub(super) struct RaftWatcher {
    pub(super) node: Arc<RaftNode>,
    pub(super) owners: Arc<PieceOwners>,
    pub(super) ticks: TickGate,
    pub(super) founders: BTreeMap<u64, MemberRecord>,
    pub(super) contacts: PeerContacts,
    pub(super) heartbeat: Duration,
    pub(super) snapshot_log_bytes: u64,
    pub(super) snapshot_when_quiet: Duration,
}

/// How long the log has had its current length.
struct LogQuietPeriod {
    log: u64,
    since: Instant,
}

impl LogQuietPeriod {
    /// How long nothing was written, if the log behind the last snapshot has this length now.
    fn look(&mut self, log: u64) -> Duration {
        if std::mem::replace(&mut self.log, log) != log {
            self.since = Instant::now();
        }
        self.since.elapsed()
    }
}

/// The bytes of the log behind the last snapshot at which the next one is due.
#[derive(Debug, PartialEq, Eq)]
struct LogBytesDue {
    at_once: u64,
    when_quiet: u64,
}

impl LogBytesDue {
    /// With a usual log size of `usual` bytes, after a snapshot of `snapshot` bytes.
    fn of(usual: u64, snapshot: u64) -> Self {
        LogBytesDue {
            at_once: usual.max(snapshot),
            when_quiet: (usual / QUIET_LOG_PART).max(snapshot / QUIET_SNAPSHOT_PART),
        }
    }
}

/// That this node leads.
#[derive(Clone, Copy)]
struct ConfirmedLead {
    epoch: Epoch,
    /// Before a quorum was asked to confirm it.
    asked: Instant,
}

impl ConfirmedLead {
    /// Whether a quorum has answered within `patience`. Its last answer is `silence` old by the metrics, which may
    /// still show a state from before the confirmation.
    fn is_recent(self, silence: Option<Duration>, now: Instant, patience: Duration) -> bool {
        let confirmed = now.saturating_duration_since(self.asked);
        silence.map_or(confirmed, |silence| silence.min(confirmed)) <= patience
    }
}

impl RaftWatcher {
    pub(super) async fn until_it_ends(&self, raft: Raft) {
        let raft = self.node.raft.get_or_init(|| raft);
        if let Err(error) = self.found(raft).await {
            return self.fail(&error);
        }
        tokio::select! {
            () = self.watch(raft) => {}
            () = self.node.stand_when_due(raft) => self.fail("the raft node panicked"),
            () = self.node.lead_only_with_room(raft) => {}
            () = self.node.lead_only_in_reach(raft) => {}
        }
    }

    async fn watch(&self, raft: &Raft) {
        let mut metrics = raft.metrics();
        let mut seen = Instant::now();
        let mut leading = None;
        let mut learners = LearnerWatch::default();
        let mut clock = ClockWatch::default();
        let mut quiet = LogQuietPeriod { log: 0, since: Instant::now() };
        loop {
            let now = metrics.borrow_and_update().clone();
            if let Err(error) = &now.running_state {
                return match error {
                    Fatal::Stopped => self.publish_leadership(Leadership::Stopped),
                    error => self.fail(&error.to_string()),
                };
            }
            let entries = now.last_log_index.map_or(0, |last| last + 1);
            self.node.pace.record(entries, Instant::now());
            let voters = now.membership_config.membership().get_joint_config();
            self.node.peers.quorum.set_voters(voters);
            leading = self.update_leader(raft, &now, seen.elapsed(), leading).await;
            let until_quiet = self.take_snapshot_if_due(raft, &mut quiet).await;
            // A single leader sends no heartbeats and cannot lose an election.
            let members = now.membership_config.membership();
            let is_alone =
                leading.is_some() && members.nodes().map(|(id, _)| id).eq([&self.node.id]);
            self.ticks.open(!is_alone);
            if is_alone {
                purge_covered(raft, &now).await;
            }
            if leading.is_some()
                && let Some(number) = learners.due(&now, Instant::now(), |node| {
                    self.contacts.is_live(node, self.node.patience)
                })
            {
                self.promote(number);
            }
            if leading.is_some() {
                self.finish_change(&now);
            }
            clock.look(&self.node, leading.is_some());
            let patience = if is_alone { until_quiet.unwrap_or(ALONE) } else { self.heartbeat };
            match tokio::time::timeout(patience, metrics.changed()).await {
                Ok(Ok(())) => seen = Instant::now(),
                Ok(Err(_)) => return self.fail("the raft node panicked"),
                Err(_) => {}
            }
        }
    }

    /// Ends a change of the members that an earlier leader has begun: both its sets of voters count until then.
    fn finish_change(&self, metrics: &Metrics) {
        let membership = &metrics.membership_config;
        let is_applied = membership.log_id().is_none_or(|at| metrics.last_applied >= Some(at));
        if membership.membership().get_joint_config().len() > 1 && is_applied {
            let node = self.node.clone();
            tokio::spawn(async move { node.finish_change().await });
        }
    }

    /// Gives a learner a vote, beside the other work. If it fails, the next look tries again.
    fn promote(&self, number: u64) {
        let node = self.node.clone();
        tokio::spawn(async move {
            match node.change_members(MemberChange::Promote { number }).await {
                // The node logs each change of its members.
                Ok(()) | Err(MemberChangeError::InProgress) => {}
                Err(error) => tracing::warn!(node = number, %error, "a learner got no vote"),
            }
        });
    }

    /// Founds the cluster, if the store is empty and this node is among the founders.
    async fn found(&self, raft: &Raft) -> Result<(), String> {
        let initialized = raft.is_initialized().await.map_err(|error| error.to_string())?;
        if !initialized && !self.founders.is_empty() {
            let founders = self.founders.iter();
            let members: BTreeMap<u64, MemberNode> =
                founders.map(|(&id, record)| (id, MemberNode(record.clone()))).collect();
            match raft.initialize(members).await {
                // Another founder was quicker.
                Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        // A single voter waits for no other node.
        let metrics = raft.metrics().borrow().clone();
        if self.is_alone(&metrics) && metrics.current_leader.is_none() {
            raft.trigger().elect().await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Whether this node is the only voter.
    fn is_alone(&self, metrics: &Metrics) -> bool {
        metrics.membership_config.membership().voter_ids().eq([self.node.id])
    }

    /// Records the current leader, and answers the epoch in which this node leads.
    async fn update_leader(
        &self,
        raft: &Raft,
        metrics: &Metrics,
        age: Duration,
        leading: Option<ConfirmedLead>,
    ) -> Option<ConfirmedLead> {
        let epoch = Epoch(metrics.current_term);
        let is_leader =
            metrics.state == ServerState::Leader && metrics.current_leader == Some(self.node.id);
        if let Some(lead) = leading.filter(|lead| is_leader && lead.epoch == epoch) {
            let silence = metrics.millis_since_quorum_ack.map(Duration::from_millis);
            let silence = silence.map(|silence| silence + age);
            // No other node can lead a cluster with one member, however slow its disk is.
            if lead.is_recent(silence, Instant::now(), self.node.patience) || self.is_alone(metrics)
            {
                return leading;
            }
            tracing::warn!(%epoch, "no quorum answers: this node makes no decisions until one does");
        }
        let known = match metrics.current_leader {
            Some(leader) if leader != self.node.id => Leadership::Following { leader },
            _ => Leadership::Nobody,
        };
        self.publish_leadership(known);
        let asked = Instant::now();
        if !is_leader || !self.confirmed(raft, metrics).await {
            return None;
        }
        tracing::info!(%epoch, "this node leads");
        self.publish_leadership(Leadership::Leading { epoch });
        Some(ConfirmedLead { epoch, asked })
    }

    /// Whether a quorum confirms that this node leads, and everything before is applied here, by
    /// owners that are all there.
    async fn confirmed(&self, raft: &Raft, metrics: &Metrics) -> bool {
        let confirm = async {
            self.node.caught_up(raft, &self.owners, Epoch(metrics.current_term)).await?;
            // If a snapshot has everything, no owner needs to apply it.
            self.owners.all_owners_ready().await.ok()?;
            let now = raft.metrics().borrow().clone();
            let still = now.current_term == metrics.current_term
                && now.current_leader == Some(self.node.id);
            still.then_some(())
        };
        matches!(tokio::time::timeout(self.node.patience, confirm).await, Ok(Some(())))
    }

    /// Answers after how long a snapshot is due if nothing is written until then; none if none becomes
    /// due.
    async fn take_snapshot_if_due(
        &self,
        raft: &Raft,
        quiet: &mut LogQuietPeriod,
    ) -> Option<Duration> {
        let growth = &self.node.growth;
        let snapshot = growth.snapshot_bytes.load(Ordering::Relaxed);
        let due = LogBytesDue::of(self.snapshot_log_bytes, snapshot);
        let log = growth.since_snapshot.load(Ordering::Relaxed);
        let until_quiet = self.snapshot_when_quiet.saturating_sub(quiet.look(log));
        if log < due.when_quiet {
            return None;
        }
        if log < due.at_once && !until_quiet.is_zero() {
            return Some(until_quiet);
        }
        // openraft takes no second snapshot while one is being written. The caller notices the end of
        // the first one.
        let _ = raft.trigger().snapshot().await;
        None
    }

    fn publish_leadership(&self, leadership: Leadership) {
        self.node.publish_leadership(&self.owners, leadership);
    }

    pub(super) fn fail(&self, why: &str) {
        self.node.fail(&self.owners, why);
    }
}

/// Drops the log up to the snapshot. openraft itself keeps some entries for followers, and there are none.
async fn purge_covered(raft: &Raft, metrics: &Metrics) {
    let Some(covered) = metrics.snapshot.filter(|covered| metrics.purged < Some(*covered)) else {
        return;
    };
    // It fails only if the raft node has ended, which its metrics report.
    let _ = raft.trigger().purge_log(covered.index).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_confirmed_lead_does_not_end_by_older_metrics() {
        let (asked, second) = (Instant::now(), Duration::from_secs(1));
        let lead = ConfirmedLead { epoch: Epoch(1), asked };
        for (silence, passed, expected) in [
            (Some(60 * second), second, true),
            (None, second, true),
            (Some(60 * second), 2 * second, false),
            (None, 2 * second, false),
            (Some(second), 9 * second, true),
        ] {
            let is_recent = lead.is_recent(silence, asked + passed, second);
            assert_eq!(is_recent, expected, "{silence:?} {passed:?}");
        }
    }

    #[test]
    fn a_quiet_log_is_short_unless_the_snapshot_is_large() {
        let due = |snapshot| LogBytesDue::of(16 * MIB, snapshot);
        assert_eq!(due(0), LogBytesDue { at_once: 16 * MIB, when_quiet: MIB });
        assert_eq!(due(8 * MIB), LogBytesDue { at_once: 16 * MIB, when_quiet: MIB });
        assert_eq!(due(80 * MIB), LogBytesDue { at_once: 80 * MIB, when_quiet: 10 * MIB });
    }
}
