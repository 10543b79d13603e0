//! A storage host: its disk, and the answers that every worker there gives. The worker's own actions are in
//! [`SimulatedWorker`] and [`SimulatedCfw`].

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::FileName;
use reelyard_protocol::inventory::{InventoryLine, ListedFile, write_inventory};
use reelyard_protocol::legacy::cfw::write_df;

use super::boxes::SimulatedBoxWorker;
use super::cfw::SimulatedCfw;
use super::disk::{SimulatedCopy, SimulatedDisk};
use super::worker::SimulatedWorker;
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{
    BoxHostCall, SimulatedCall, SimulatedMessage, SimulatedResponse,
};
use crate::simulation::environment::parties::{Party, PartyTimer};
use crate::simulation::scene::{HostPlan, SceneInputs};
use crate::trace;

/// The program that runs on a host.
pub enum SimulatedProgram {
    /// A Reelyard worker.
    Ours(SimulatedWorker),
    /// A Go cfw, with its defects.
    Old(SimulatedCfw),
}

/// A storage host with its disk and its program.
pub struct SimulatedHost {
    /// The index of the host in the world.
    pub id: usize,
    /// The address in the configuration of the nodes.
    pub addr: HostAddr,
    /// Whether the host is a source or a destination.
    pub role: HostRole,
    /// Whether its worker runs.
    pub up: bool,
    /// Increases with each start and end of the worker. Timers of earlier lives have no effect.
    pub life: u32,
    /// The error of its clock, in milliseconds.
    pub clock_off: i64,
    /// The disk, which outlives the worker.
    pub disk: SimulatedDisk,
    /// Its boxes, which outlive the worker.
    pub boxes: SimulatedBoxWorker,
    /// The program on the host.
    pub program: SimulatedProgram,
}

impl SimulatedHost {
    /// A host that was never started.
    pub fn new(id: usize, plan: &HostPlan, nodes: usize, yard: &SceneInputs) -> Self {
        let mut disk = SimulatedDisk { capacity: plan.capacity, ..SimulatedDisk::default() };
        for name in &plan.holds {
            if let Some(master) = yard.masters.get(name) {
                let copy = SimulatedCopy { content: master.content, size: master.size, task: None };
                disk.files.insert(name.clone(), copy);
            }
        }
        let program = match plan.ours {
            true => SimulatedProgram::Ours(SimulatedWorker::new(
                plan.at_once,
                plan.fetches_from_old,
                nodes,
            )),
            false => SimulatedProgram::Old(SimulatedCfw::default()),
        };
        let (addr, role) = (plan.addr, plan.role);
        let boxes = SimulatedBoxWorker::new();
        SimulatedHost { id, addr, role, up: false, life: 0, clock_off: 0, disk, boxes, program }
    }

    /// The identity of this host in the network.
    pub fn party(&self) -> Party {
        Party::Host(self.id)
    }

    /// The wall clock of this host, with its error.
    pub fn clock(&self, context: &Context) -> Millis {
        Millis(context.wall().0 + self.clock_off)
    }

    /// Starts the worker from its durable state.
    pub fn start(&mut self, context: &mut Context) {
        self.up = true;
        self.life += 1;
        self.disk.partial.clear();
        context.network.set_gone(self.party(), false);
        trace!(context, "{} starts ({})", self.party(), self.addr);
        match &mut self.program {
            SimulatedProgram::Ours(ours) => ours.restart(),
            SimulatedProgram::Old(old) => old.restart(),
        }
        if self.role.is_destination() {
            let draw = context.rng.u64(0..500);
            context.after(draw, self.party(), self.life, PartyTimer::Ask);
            context.after(draw + 1, self.party(), self.life, PartyTimer::Deliver);
        }
    }

    /// Ends the worker as SIGKILL does: memory is lost, the disk stays.
    pub fn crash(&mut self, context: &mut Context) {
        self.up = false;
        self.life += 1;
        context.network.set_gone(self.party(), true);
        trace!(context, "{} is killed", self.party());
    }

    /// Handles a timer.
    pub fn ring(&mut self, context: &mut Context, timer: PartyTimer) {
        if let PartyTimer::HookEnds { caller, hook } = timer {
            let answer = self.boxes.end(&hook);
            return context.answer(self.party(), caller.0, caller.1, answer);
        }
        match self.program {
            SimulatedProgram::Ours(_) => self.ring_ours(context, timer),
            SimulatedProgram::Old(_) => self.ring_old(context, timer),
        }
    }

    /// Handles a message.
    pub fn receive(
        &mut self,
        context: &mut Context,
        yard: &SceneInputs,
        from: Party,
        letter: SimulatedMessage,
    ) {
        match letter {
            SimulatedMessage::Call { id, call: SimulatedCall::Hook(call) } => {
                self.use_boxes(context, (from, id), &call);
            }
            SimulatedMessage::Call { id, call: SimulatedCall::Delete { name, epoch } } => {
                let answer = self.delete(context, &name, epoch);
                context.answer(self.party(), from, id, answer);
            }
            SimulatedMessage::Call { id, call } => {
                let answer = self.answer(yard, &call);
                context.answer(self.party(), from, id, answer);
            }
            SimulatedMessage::Answer { id, answer } => self.answered(context, id, Some(answer)),
            SimulatedMessage::Raft(_) => {}
        }
    }

    /// Deletes a copy. A Reelyard worker obeys only the latest leader.
    fn delete(
        &mut self,
        context: &mut Context,
        name: &FileName,
        epoch: Option<Epoch>,
    ) -> SimulatedResponse {
        if epoch.is_some_and(|epoch| !self.obeys(context, epoch)) {
            return SimulatedResponse::status(412);
        }
        if self.disk.files.remove(name).is_none() {
            return SimulatedResponse::status(404);
        }
        trace!(context, "{} deletes {name:?}", self.party());
        context.judge.deleted(self.addr, name);
        SimulatedResponse::status(200)
    }

    /// Deletes a copy by hand, if it is there.
    pub fn delete_by_hand(&mut self, context: &mut Context, name: &FileName) {
        if self.disk.files.remove(name).is_some() {
            trace!(context, "{} loses {name:?}", self.party());
            context.judge.by_hand(self.addr, name, false);
        }
    }

    /// Whether the worker obeys the leader of this epoch. An old cfw obeys every caller.
    pub(super) fn obeys(&mut self, context: &mut Context, epoch: Epoch) -> bool {
        let SimulatedProgram::Ours(ours) = &mut self.program else { return true };
        let obeys = ours.observe_epoch(epoch);
        if obeys {
            context.judge.acts_for(self.addr, epoch);
        }
        obeys
    }

    /// Carries out a request for boxes. A hook takes some time.
    fn use_boxes(&mut self, context: &mut Context, caller: (Party, u64), call: &BoxHostCall) {
        let epoch = match call {
            BoxHostCall::Run(run) => Some(run.place.epoch),
            BoxHostCall::Inspect(inspect) => Some(inspect.place.epoch),
            BoxHostCall::Probe => None,
        };
        let obeys = epoch.is_none_or(|epoch| self.obeys(context, epoch));
        let answer = match call {
            _ if !obeys => SimulatedResponse::status(409),
            BoxHostCall::Run(run) => {
                let hook = self.boxes.begin(context, run);
                let after = context.rng.u64(5..1500);
                let ends = PartyTimer::HookEnds { caller, hook };
                return context.after(after, self.party(), self.life, ends);
            }
            BoxHostCall::Inspect(inspect) => self.boxes.inspect(inspect),
            BoxHostCall::Probe => SimulatedResponse::status(200),
        };
        context.answer(self.party(), caller.0, caller.1, answer);
    }

    /// Handles the answer to a call, or its timeout.
    pub(super) fn answered(
        &mut self,
        context: &mut Context,
        id: u64,
        answer: Option<SimulatedResponse>,
    ) {
        match self.program {
            SimulatedProgram::Ours(_) => self.answered_ours(context, id, answer),
            SimulatedProgram::Old(_) => self.answered_old(context, id, answer),
        }
    }

    fn answer(&self, yard: &SceneInputs, call: &SimulatedCall) -> SimulatedResponse {
        match call {
            SimulatedCall::Heartbeat => SimulatedResponse::ok([]),
            SimulatedCall::Info => match &self.program {
                SimulatedProgram::Ours(ours) => ours.info(self.addr, self.role),
                SimulatedProgram::Old(_) => SimulatedResponse::status(404),
            },
            SimulatedCall::Disk => SimulatedResponse::ok(write_df(self.disk.figures())),
            SimulatedCall::Files => {
                let mut body = Vec::new();
                for name in self.disk.files.keys() {
                    body.extend_from_slice(name.as_bytes());
                    body.push(b'\n');
                }
                SimulatedResponse::ok(body)
            }
            SimulatedCall::Inventory => SimulatedResponse::ok(write_inventory(
                self.disk.files.iter().map(|(name, copy)| {
                    InventoryLine::File(ListedFile { name, size: copy.size, modified: Millis(0) })
                }),
            )),
            SimulatedCall::Read { name, offset, length } if self.role.is_source() => {
                read(yard, name, *offset, *length)
            }
            SimulatedCall::Hash { .. } if matches!(self.program, SimulatedProgram::Old(_)) => {
                SimulatedResponse::status(404)
            }
            SimulatedCall::Hash { name } if self.role.is_source() => match yard.masters.get(name) {
                Some(master) => {
                    SimulatedResponse::ok(serde_json::to_vec(&master.content).unwrap_or_default())
                }
                None => SimulatedResponse::status(404),
            },
            _ => SimulatedResponse::status(404),
        }
    }
}

/// Reads bytes of a master. The answer holds content, size and number of bytes.
fn read(yard: &SceneInputs, name: &FileName, offset: u64, length: u64) -> SimulatedResponse {
    match yard.masters.get(name) {
        None => SimulatedResponse::status(404),
        // A read of a damaged master fails in the second half.
        Some(master) if !master.readable && offset + length > master.size / 2 => {
            SimulatedResponse::status(500)
        }
        Some(master) => {
            let bytes = length.min(master.size.saturating_sub(offset));
            let result = (master.content, master.size, bytes);
            SimulatedResponse::ok(serde_json::to_vec(&result).unwrap_or_default())
        }
    }
}

/// Parses an answer of [`read`]: content, size, bytes.
pub(super) fn parsed(answer: &SimulatedResponse) -> Option<(u64, u64, u64)> {
    serde_json::from_slice(&answer.body).ok()
}
