//! Observes all events and checks the invariants. It keeps its own record of the committed events when any
//! node first applies them, and of the true content of the disks. It uses no code under test for its checks.

mod disks;
mod entries;
mod hashes;
pub mod record;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use reelyard_api::{Granted, GrantedLease};
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_shares::share_expiry::ShareId;
use reelyard_yard::task_manager::TaskSettings;

use crate::simulation::environment::parties::Party;
use crate::simulation::invariants::boxes::leases;
use crate::simulation::invariants::copies::{holdings, removals};
use crate::simulation::invariants::fencing::ServedLeaders;
use crate::simulation::invariants::plans::wires;
use crate::simulation::invariants::{Exceptions, links};
use crate::simulation::scene::Scene;
use record::JudgeRecord;

/// A state or an event that breaks a promise of Reelyard.
#[derive(Clone, Debug)]
pub struct InvariantViolation {
    /// The name of the invariant, as in the test output.
    pub invariant: &'static str,
    /// A description of the violation, with the values.
    pub what: String,
}

/// The judge of one run.
pub struct Judge {
    /// The first violation.
    pub broken: Option<InvariantViolation>,
    /// The judge's own record of committed events.
    pub record: JudgeRecord,
    /// The number of exceptions to "one copy".
    pub exceptions: Exceptions,
    /// Acknowledged commits since the last check: index and term.
    pub acknowledged: Vec<(u64, u64)>,
    /// The number of acknowledged commits.
    pub commits: u64,
    /// The number of published copies.
    pub copies: u64,
    /// The number of commits of deposed leaders that `apply` refused.
    pub deposed: u64,
    /// Every complete content that a master ever had.
    pub versions: BTreeSet<(FileName, u64)>,
    /// The shares and their links.
    pub shares: links::SharesOnRecord,
    /// The removals of copies.
    pub removals: removals::RemovalsOnRecord,
    /// The leaders for which workers acted.
    pub served: ServedLeaders,
    /// The leases of boxes.
    pub leases: leases::LeaseRecord,
    /// The true holders of each file.
    pub on_disk: holdings::OnDisk,
    parties: BTreeMap<HostAddr, Party>,
    programs: BTreeMap<HostAddr, wires::ProgramCapabilities>,
    settings: TaskSettings,
    progress: BTreeMap<TaskId, Vec<(usize, Millis)>>,
    leaders: BTreeMap<u64, usize>,
    /// The present time in virtual milliseconds.
    pub now: u64,
    /// Whether the clock of a node ever jumped.
    pub clocks_jumped: bool,
}

impl Judge {
    /// A judge of this scene.
    pub fn new(scene: &Scene) -> Self {
        let parties = scene.hosts.iter().enumerate();
        Judge {
            broken: None,
            record: JudgeRecord::default(),
            exceptions: Exceptions::default(),
            acknowledged: Vec::new(),
            commits: 0,
            copies: 0,
            deposed: 0,
            versions: BTreeSet::new(),
            shares: links::SharesOnRecord::default(),
            removals: removals::RemovalsOnRecord::default(),
            served: ServedLeaders::default(),
            leases: leases::LeaseRecord::default(),
            on_disk: BTreeMap::new(),
            parties: parties.map(|(number, host)| (host.addr, Party::Host(number))).collect(),
            programs: scene
                .hosts
                .iter()
                .map(|host| (host.addr, wires::ProgramCapabilities::of(host)))
                .collect(),
            settings: scene.settings.clone(),
            progress: BTreeMap::new(),
            leaders: BTreeMap::new(),
            now: 0,
            clocks_jumped: false,
        }
    }

    /// The party with this address.
    pub fn party_at(&self, host: HostAddr) -> Option<Party> {
        self.parties.get(&host).copied()
    }

    /// Whether the host with this address runs a Reelyard worker.
    pub fn is_ours(&self, host: HostAddr) -> bool {
        self.programs.get(&host).is_some_and(|program| program.ours)
    }

    /// Records a violation. Only the first one is kept.
    pub fn fail(&mut self, invariant: &'static str, what: String) {
        self.broken.get_or_insert(InvariantViolation { invariant, what });
    }

    /// Records the result of a check.
    pub fn check(&mut self, (invariant, verdict): (&'static str, Result<(), String>)) {
        if let Err(what) = verdict {
            self.fail(invariant, what);
        }
    }

    /// Records that a node leads in an epoch.
    pub fn leads(&mut self, node: usize, epoch: u64) {
        let before = *self.leaders.entry(epoch).or_insert(node);
        if before != node {
            self.fail("log", format!("node{node} and node{before} lead in epoch {epoch}"));
        }
    }

    /// Records the answer of a node to a request for a link.
    pub fn opened(&mut self, by: links::AnsweringNode, id: ShareId, answer: links::LinkAnswer) {
        let verdict = self.shares.check(by, id, answer);
        self.check((links::NAME, verdict));
    }

    /// Records that a node served a link without counting the download.
    pub fn served_uncounted(&mut self, id: ShareId) {
        let verdict = self.shares.check_uncounted(id);
        self.check((links::NAME, verdict));
    }

    /// Records an answer to a job: it may promise leases.
    pub fn answered_job(&mut self, body: &[u8]) {
        let granted = serde_json::from_slice::<Granted>(body).map(|granted| granted.leases);
        let renewed = || serde_json::from_slice::<GrantedLease>(body).map(|lease| vec![lease]);
        for lease in granted.or_else(|_| renewed()).unwrap_or_default() {
            let left = u64::try_from(lease.left.0.as_millis()).unwrap_or(u64::MAX);
            self.leases.promise(self.now, lease.lease_id, left);
        }
    }

    /// Records that a worker acts for the leader of an epoch.
    pub fn acts_for(&mut self, host: HostAddr, epoch: Epoch) {
        let verdict = self.served.act(host, epoch);
        self.check(verdict);
    }

    /// Whether a later leader was elected: decisions of this epoch have no effect any more.
    pub fn is_deposed(&self, epoch: Epoch) -> bool {
        self.leaders.keys().next_back().is_some_and(|latest| *latest > epoch.0)
    }
}
