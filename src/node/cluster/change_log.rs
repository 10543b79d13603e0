//! One log line for each change of the leader and of the members, and their counts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use reelyard_journal::Journal;
use reelyard_replication::{Leadership, Member};

/// Counts since the start of this node.
#[derive(Debug, Default)]
pub struct ClusterCounts {
    leaders: AtomicU64,
    forwarded: AtomicU64,
}

impl ClusterCounts {
    /// How often another leader began, as this node saw it. The first one counts.
    pub fn leaders(&self) -> u64 {
        self.leaders.load(Ordering::Relaxed)
    }

    /// Requests that this node passed on to the leader.
    pub fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// A request was passed on.
    pub fn forward(&self) {
        self.forwarded.fetch_add(1, Ordering::Relaxed);
    }

    /// Follows the journal until it stops.
    pub async fn follow(&self, journal: Journal) {
        let (mut leadership, mut changes) = (journal.leadership(), journal.member_changes());
        let (mut led_by, mut members) = (None, changes.borrow_and_update().clone());
        loop {
            let now = *leadership.borrow_and_update();
            if now == Leadership::Stopped {
                return;
            }
            self.log_leader(&journal, now, &mut led_by);
            let after = changes.borrow_and_update().clone();
            log_members(&members, &after);
            members = after;
            tokio::select! {
                changed = leadership.changed() => if changed.is_err() { return },
                changed = changes.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Logs and counts another leader. `led_by` is the last one.
    fn log_leader(&self, journal: &Journal, now: Leadership, led_by: &mut Option<u64>) {
        let own = journal.identity().number;
        let leader = match now {
            Leadership::Leading { .. } => Some(own),
            Leadership::Following { leader } => Some(leader),
            Leadership::Nobody | Leadership::Stopped => None,
        };
        if *led_by == leader {
            return;
        }
        *led_by = leader;
        if leader.is_some() {
            self.leaders.fetch_add(1, Ordering::Relaxed);
        }
        match leader {
            // The journal logs it.
            Some(leader) if leader == own => {}
            Some(leader) => tracing::info!(leader, "another node leads"),
            None => tracing::warn!("no node leads: changes wait until one does"),
        }
    }
}

/// Logs the differences of two lists of members. The first list of a node is no change.
fn log_members(before: &[Member], after: &[Member]) {
    if before.is_empty() {
        return;
    }
    let by_number = |members: &[Member]| -> BTreeMap<u64, Member> {
        members.iter().map(|member| (member.number, member.clone())).collect()
    };
    let (before, after) = (by_number(before), by_number(after));
    for (number, member) in &after {
        let address = &member.record.cluster_address;
        match before.get(number) {
            None => {
                tracing::info!(node = number, address, "a node is a member now, without a vote")
            }
            Some(former) if former.is_voter != member.is_voter => {
                tracing::info!(
                    node = number,
                    votes = member.is_voter,
                    "the vote of a member changed"
                );
            }
            Some(former) if former.record.cluster_address != *address => {
                tracing::info!(node = number, address, "the address of a member changed");
            }
            Some(_) => {}
        }
    }
    for number in before.keys().filter(|number| !after.contains_key(number)) {
        tracing::info!(node = number, "a node is no member any more");
    }
}
