//! A network in memory between the journals of one test, with links that can be cut.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use reelyard_core::event::PieceId;
use reelyard_journal::{Journal, JournalOptions, NodeUnreachable, Transport};
use reelyard_replication::{CallKind, CallTarget, MemberRecord};

/// The node ids of a cluster of three.
pub const NODES: [u64; 3] = [1, 2, 3];

/// The network. Clones share the same network.
#[derive(Clone, Default)]
pub struct MemoryHub(Arc<Mutex<HubState>>);

#[derive(Default)]
struct HubState {
    journals: BTreeMap<u64, Journal>,
    /// Nodes without any connection to the others.
    isolated: BTreeSet<u64>,
    /// Nodes that get nothing from others, and whose own calls arrive.
    deaf: BTreeSet<u64>,
    /// Nodes that get nothing from others, except answers to their own calls.
    hidden: BTreeSet<u64>,
    /// Whether no new connection can be made. Calls arrive.
    refuses_connections: bool,
    /// How many new connections were not made because of that.
    refused_connections: u64,
    /// Calls of each node that did not arrive because its links are cut.
    refused: BTreeMap<u64, u64>,
    /// Whether no entries of a log arrive, while votes and heartbeats do.
    holds_log: bool,
    /// How many calls with entries did not arrive because of that.
    held: u64,
    /// The time of a call to its node, and of an answer back.
    way: Duration,
    /// A fault for the next part of a snapshot with data.
    snapshot_fault: Option<SnapshotFault>,
    /// How many parts of snapshots with data were sent.
    snapshot_parts: u64,
    /// Whether elections come early.
    is_quick: bool,
}

/// A fault of the link that carries a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotFault {
    /// One bit of the data arrives changed.
    Damage,
    /// The part arrives, and its answer does not.
    LostAnswer,
    /// The part does not arrive.
    LostPart,
    /// The answer that the snapshot is installed does not arrive.
    LostOutcome,
}

/// The position of the kind in a call, and the kind of a part of a snapshot.
const KIND_AT: usize = 1;
const SNAPSHOT_PART: u8 = 2;

/// The beginning of the answer that a snapshot is installed, after its version.
const SNAPSHOT_DONE: [u8; 2] = [2, 2];

/// A part with at least this length has data.
const WITH_DATA: usize = 300;

impl MemoryHub {
    /// A network whose nodes elect another leader within half a second. A busy machine may then change it too often.
    pub fn quick() -> Self {
        let hub = MemoryHub::default();
        hub.state().is_quick = true;
        hub
    }

    /// Opens the journal of one of three nodes, connected to the others, with these settings. The last one founds the
    /// cluster, so open it when the others are there: it leads at once. When the leader is lost, another node leads
    /// after one or two seconds.
    pub async fn open(&self, alone: JournalOptions, piece: PieceId) -> Journal {
        let is_founder = Some(&alone.node) == NODES.last();
        let founders = NODES.map(|node| (node, MemberRecord::default()));
        // The bounds of an election are six and twelve heartbeats.
        let heartbeat = Duration::from_millis(if self.state().is_quick { 25 } else { 100 });
        self.open_member(
            JournalOptions {
                founders: founders.into_iter().filter(|_| is_founder).collect(),
                heartbeat,
                election: (6 * heartbeat, 12 * heartbeat),
                ..alone
            },
            piece,
        )
        .await
    }

    /// Opens the journal of a node with these settings, connected to the others.
    ///
    /// # Panics
    /// Panics when it cannot be opened.
    pub async fn open_member(&self, options: JournalOptions, piece: PieceId) -> Journal {
        let node = options.node;
        let journal = Journal::open(options, self.transport(node), &[piece]).await;
        let journal = journal.unwrap_or_else(|why| panic!("node {node}: {why}"));
        self.attach(node, journal.clone());
        journal
    }

    /// The transport that node `node` uses.
    pub fn transport(&self, node: u64) -> Arc<dyn Transport> {
        Arc::new(HubTransport { hub: self.clone(), node })
    }

    /// Makes node `node` reachable.
    pub fn attach(&self, node: u64, journal: Journal) {
        self.state().journals.insert(node, journal);
    }

    /// Cuts every link of `node`, also for answers in transit.
    pub fn isolate(&self, node: u64) {
        self.state().isolated.insert(node);
    }

    /// Lets `node` get no calls and no answers. Its own calls arrive.
    pub fn deafen(&self, node: u64) {
        self.state().deaf.insert(node);
    }

    /// Lets no call arrive at `node`. Its own calls arrive, and their answers too.
    pub fn hide(&self, node: u64) {
        self.state().hidden.insert(node);
    }

    /// Lets no new connection be made, or lets them be made again. Calls arrive, over the connections that are there.
    pub fn refuse_connections(&self, refuses: bool) {
        self.state().refuses_connections = refuses;
    }

    /// How many new connections were not made because of that.
    pub fn refused_connections(&self) -> u64 {
        self.state().refused_connections
    }

    /// How many calls of `node` did not arrive because its links are cut.
    pub fn refused_calls(&self, node: u64) -> u64 {
        self.state().refused.get(&node).copied().unwrap_or_default()
    }

    /// Lets no entries of a log arrive, or lets them arrive again. Votes and heartbeats arrive.
    pub fn hold_log(&self, holds: bool) {
        self.state().holds_log = holds;
    }

    /// How many calls with entries did not arrive because they were held.
    pub fn held_calls(&self) -> u64 {
        self.state().held
    }

    /// Whether a call of this kind is held now.
    fn holds(&self, kind: CallKind) -> bool {
        let mut state = self.state();
        let is_held = state.holds_log && kind == CallKind::Log;
        state.held += u64::from(is_held);
        is_held
    }

    /// Lets each call take this time to its node, and each answer this time back.
    pub fn set_way(&self, way: Duration) {
        self.state().way = way;
    }

    /// Restores the links of `node` to nodes that are not isolated.
    pub fn rejoin(&self, node: u64) {
        self.state().isolated.remove(&node);
    }

    /// Whether no link is cut.
    pub fn is_whole(&self) -> bool {
        self.state().isolated.is_empty()
    }

    /// Lets the next part of a snapshot with data meet this fault.
    pub fn disturb_snapshot(&self, fault: SnapshotFault) {
        self.state().snapshot_fault = Some(fault);
    }

    /// Whether the fault has happened.
    pub fn was_disturbed(&self) -> bool {
        self.state().snapshot_fault.is_none()
    }

    /// How many parts of snapshots with data were sent.
    pub fn snapshot_parts(&self) -> u64 {
        self.state().snapshot_parts
    }

    fn fault_of(&self, request: &[u8]) -> Option<SnapshotFault> {
        if request.get(KIND_AT) != Some(&SNAPSHOT_PART) || request.len() <= WITH_DATA {
            return None;
        }
        let mut state = self.state();
        state.snapshot_parts += 1;
        state.snapshot_fault.take_if(|fault| *fault != SnapshotFault::LostOutcome)
    }

    fn loses_outcome(&self, answer: &[u8]) -> bool {
        let is_done =
            answer.get(KIND_AT..).is_some_and(|answer| answer.starts_with(&SNAPSHOT_DONE));
        let mut state = self.state();
        let fault =
            state.snapshot_fault.take_if(|fault| is_done && *fault == SnapshotFault::LostOutcome);
        fault.is_some()
    }

    /// Restores every link.
    pub fn heal(&self) {
        let mut state = self.state();
        state.isolated.clear();
        state.deaf.clear();
        state.hidden.clear();
    }

    fn reach(&self, from: u64, to: u64) -> Result<Journal, NodeUnreachable> {
        let mut state = self.state();
        let is_cut = state.isolated.contains(&from) || state.isolated.contains(&to);
        if is_cut || state.deaf.contains(&to) {
            *state.refused.entry(from).or_default() += 1;
            return Err(NodeUnreachable { node: to, why: "the link is cut".to_owned() });
        }
        let unknown = || NodeUnreachable { node: to, why: "no journal is attached".to_owned() };
        state.journals.get(&to).cloned().ok_or_else(unknown)
    }

    /// The journal that a call arrives at.
    fn call_to(&self, from: u64, to: u64) -> Result<Journal, NodeUnreachable> {
        if self.state().hidden.contains(&to) {
            return Err(NodeUnreachable { node: to, why: "no connection is made".to_owned() });
        }
        self.reach(from, to)
    }

    fn connect_to(&self, from: u64, to: u64) -> Result<(), NodeUnreachable> {
        let mut state = self.state();
        if state.refuses_connections {
            state.refused_connections += 1;
            let why = "the certificate is not valid".to_owned();
            return Err(NodeUnreachable { node: to, why });
        }
        drop(state);
        self.call_to(from, to).map(drop)
    }

    async fn carry(
        self,
        node: u64,
        target: u64,
        request: Vec<u8>,
    ) -> Result<Vec<u8>, NodeUnreachable> {
        let way = self.state().way;
        tokio::time::sleep(way).await;
        let answer = self.call_to(node, target)?.answer(node, &request).await;
        tokio::time::sleep(way).await;
        self.reach(target, node)?;
        Ok(answer)
    }

    fn state(&self) -> MutexGuard<'_, HubState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct HubTransport {
    hub: MemoryHub,
    node: u64,
}

impl Transport for HubTransport {
    fn call(
        &self,
        target: &CallTarget,
        kind: CallKind,
        mut request: Vec<u8>,
    ) -> BoxFuture<'static, Result<Vec<u8>, NodeUnreachable>> {
        let (hub, node, target) = (self.hub.clone(), self.node, target.node);
        Box::pin(async move {
            let lost =
                || NodeUnreachable { node: target, why: "the connection is lost".to_owned() };
            if hub.holds(kind) {
                return Err(lost());
            }
            let fault = hub.fault_of(&request);
            match fault {
                Some(SnapshotFault::Damage) => {
                    let last = request.len() - 1;
                    request[last] ^= 1;
                }
                Some(SnapshotFault::LostPart) => return Err(lost()),
                Some(SnapshotFault::LostAnswer | SnapshotFault::LostOutcome) | None => {}
            }
            // A call arrives, also when nobody waits for its answer any more.
            let answer = tokio::spawn(hub.clone().carry(node, target, request)).await;
            let answer = answer.map_err(|_| lost())??;
            let is_lost = fault == Some(SnapshotFault::LostAnswer) || hub.loses_outcome(&answer);
            if is_lost { Err(lost()) } else { Ok(answer) }
        })
    }

    fn connect(&self, target: &CallTarget) -> BoxFuture<'static, Result<(), NodeUnreachable>> {
        let connected = self.hub.connect_to(self.node, target.node);
        Box::pin(async move { connected })
    }
}
