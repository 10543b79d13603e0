//! The actions of the operator and the random faults, carried out.

use std::collections::BTreeSet;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::catalog::MasterLook;

use super::SimulationWorld;
use crate::simulation::environment::parties::{Party, PartyTimer};
use crate::simulation::environment::queue::SimulationEvent;
use crate::simulation::hosts::disk::SimulatedCopy;
use crate::simulation::hosts::host::SimulatedHost;
use crate::simulation::node::SimulatedNode;
use crate::simulation::scene::MASTERS;
use crate::simulation::scene::operator::OperatorAction;
use crate::trace;

impl SimulationWorld {
    pub(super) fn perform_action(&mut self, action: OperatorAction) {
        if !action.lasts() {
            trace!(self.context, "{action:?}");
        }
        let SimulationWorld { context, yard, nodes, hosts, jobs, .. } = self;
        match action {
            OperatorAction::Kill(Party::Node(id)) if nodes[id].up => nodes[id].crash(context),
            OperatorAction::Kill(Party::Host(id)) if hosts[id].up => hosts[id].crash(context),
            OperatorAction::Start(Party::Node(id)) if !nodes[id].up => nodes[id].start(context),
            OperatorAction::Start(Party::Host(id)) if !hosts[id].up => hosts[id].start(context),
            OperatorAction::Kill(Party::Job(id)) if jobs[id].up => jobs[id].crash(context),
            OperatorAction::Start(Party::Job(id)) if !jobs[id].up => jobs[id].start(context),
            OperatorAction::Kill(_) | OperatorAction::Start(_) => {}
            OperatorAction::OwnerPanics(id, piece) if nodes[id].up => {
                nodes[id].owner_panics(context, yard, piece);
            }
            OperatorAction::OwnerPanics(..) => {}
            OperatorAction::Cut(a, b, both) => {
                context.network.cut(a, b);
                if both {
                    context.network.cut(b, a);
                }
            }
            OperatorAction::Join(a, b, both) => {
                context.network.join(a, b);
                if both {
                    context.network.join(b, a);
                }
            }
            OperatorAction::Slow(a, b, most) => context.network.slow(a, b, most),
            OperatorAction::Jump(Party::Node(id), by) => {
                nodes[id].machine.step_by(by);
                context.judge.clocks_jumped = true;
                context.judge.leases.clocks_were_apart = true;
                self.record_clocks();
            }
            OperatorAction::Jump(Party::Host(id), by) => hosts[id].clock_off += by,
            OperatorAction::Jump(Party::Job(_) | Party::Visitor(_), _) => {}
            OperatorAction::PutPool { size } => match leading(nodes) {
                Some(node) => node.put_pool(context, size),
                None => context.queue.push(3000, SimulationEvent::Done(action)),
            },
            OperatorAction::Pin(name, pinned) => {
                if let Some(node) = leading(nodes) {
                    node.pin(context, name, pinned);
                }
            }
            OperatorAction::RevokeLease => {
                if let Some(node) = leading(nodes) {
                    node.revoke_lease(context);
                }
            }
            OperatorAction::Cancel { task, request } => self.cancel(task, request),
            OperatorAction::LookUp { node, life, number, names } => {
                self.look_up((node, life, number), &names);
            }
            OperatorAction::Heat(name, hits) => {
                yard.hot.insert(name, hits);
                yard.changes[1] += 1;
            }
            OperatorAction::Cool(name) => {
                yard.hot.remove(&name);
                yard.changes[1] += 1;
            }
            OperatorAction::Rank(fewer) => {
                let mut names: Vec<FileName> = yard.masters.keys().cloned().collect();
                context.rng.shuffle(&mut names);
                names.truncate(names.len() - names.len() / 8 * fewer);
                yard.ranking = names;
                yard.changes[0] += 1;
            }
            OperatorAction::Write(name) => {
                let size = context.rng.u64(1..=40) * 1_000_000;
                yard.write(&name, size, true);
                yard.changes[2] += 1;
                context.judge.versions = yard.versions.clone();
            }
            OperatorAction::Remove(name) => {
                yard.masters.remove(&name);
                yard.changes[2] += 1;
            }
            OperatorAction::Fill(id, bytes) => {
                let disk = &mut hosts[id].disk;
                disk.other = disk.other.saturating_add_signed(bytes);
            }
            OperatorAction::Put(id, name) => {
                let host = &mut hosts[id];
                if host.role.is_destination() {
                    let copy = SimulatedCopy { content: 0, size: 1_000_000, task: None };
                    host.disk.files.insert(name.clone(), copy);
                    context.judge.by_hand(host.addr, &name, true);
                }
            }
            OperatorAction::Delete(id, name) => hosts[id].delete_by_hand(context, &name),
            OperatorAction::DeleteOneOfSeveral => {
                let copies = hosts.iter().flat_map(|host| host.disk.files.keys());
                let names: BTreeSet<FileName> = copies.cloned().collect();
                let holders = |name: &FileName| {
                    let holds = |host: &&SimulatedHost| host.disk.files.contains_key(name);
                    hosts.iter().filter(holds).map(|host| host.id).collect::<Vec<usize>>()
                };
                let several = names.into_iter().map(|name| (holders(&name), name));
                let several: Vec<_> = several.filter(|(holders, _)| holders.len() > 1).collect();
                if !several.is_empty() {
                    let (holders, name) = &several[context.rng.usize(0..several.len())];
                    let id = holders[context.rng.usize(0..holders.len())];
                    hosts[id].delete_by_hand(context, name);
                }
            }
        }
    }

    /// Sends the operator's request to the leader. Without a leader it tries again later.
    fn cancel(&mut self, task: Option<TaskId>, request: RequestId) {
        match leading(&mut self.nodes) {
            Some(node) => node.cancel(&mut self.context, task, request),
            None => self
                .context
                .queue
                .push(3000, SimulationEvent::Done(OperatorAction::Cancel { task, request })),
        }
    }

    /// Searches for masters on behalf of a node; the search may fail.
    fn look_up(&mut self, (node, life, number): (Party, u32, u64), names: &[FileName]) {
        let in_vain = self.context.chance(3);
        let look = |name: &FileName| match self.yard.masters.get(name) {
            Some(master) => MasterLook::Found {
                dir: Arc::from(MASTERS),
                size: master.size,
                modified: Millis(0),
            },
            None => MasterLook::Absent,
        };
        let seen = names.iter().map(|name| (name.clone(), look(name))).collect();
        let seen = (!in_vain).then_some(seen);
        let after = if in_vain { 6000 } else { 1 };
        self.context.after(after, node, life, PartyTimer::LookedUp { number, seen });
    }
}

/// A node that leads.
fn leading(nodes: &mut [SimulatedNode]) -> Option<&mut SimulatedNode> {
    nodes.iter_mut().find(|node| node.up && node.epoch().is_some())
}
