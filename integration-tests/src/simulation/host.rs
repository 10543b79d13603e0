//! A storage host: its disk, and what any worker there answers. What it does by itself is in
//! [`SimulatedWorker`] and [`SimulatedCfw`].

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::FileName;
use reelyard_protocol::inventory::{InventoryLine, ListedFile, write_inventory};
use reelyard_protocol::legacy::cfw::write_df;

use super::context::Context;
use super::disk::{SimulatedCopy, SimulatedDisk};
use super::host_old::SimulatedCfw;
use super::host_ours::SimulatedWorker;
use super::messages::{SimulatedCall, SimulatedMessage, SimulatedResponse};
use super::parties::{Party, PartyTimer};
use super::scene::{HostPlan, SceneInputs};
use crate::tell;

/// The program that runs on a host.
pub enum SimulatedProgram {
    /// A Reelyard worker.
    Ours(SimulatedWorker),
    /// A Go cfw, with its defects.
    Old(SimulatedCfw),
}

/// A host.
pub struct SimulatedHost {
    /// Its number.
    pub id: usize,
    /// Its address.
    pub addr: HostAddr,
    /// What it is for.
    pub role: HostRole,
    /// Whether its worker is there.
    pub up: bool,
    /// Counts its starts and ends.
    pub life: u32,
    /// By how much its clock is wrong, in milliseconds.
    pub clock_off: i64,
    /// Its disk.
    pub disk: SimulatedDisk,
    /// What runs there.
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
        SimulatedHost { id, addr, role, up: false, life: 0, clock_off: 0, disk, program }
    }

    /// Itself.
    pub fn party(&self) -> Party {
        Party::Host(self.id)
    }

    /// Its clock.
    pub fn clock(&self, context: &Context) -> Millis {
        Millis(context.wall().0 + self.clock_off)
    }

    /// The worker starts, from what was durable.
    pub fn start(&mut self, context: &mut Context) {
        self.up = true;
        self.life += 1;
        self.disk.partial.clear();
        context.network.set_gone(self.party(), false);
        tell!(context, "{} starts ({})", self.party(), self.addr);
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

    /// `kill -9`: what is in memory is gone, what is on the disk stays.
    pub fn crash(&mut self, context: &mut Context) {
        self.up = false;
        self.life += 1;
        context.network.set_gone(self.party(), true);
        tell!(context, "{} is killed", self.party());
    }

    /// A timer goes off.
    pub fn ring(&mut self, context: &mut Context, timer: PartyTimer) {
        match self.program {
            SimulatedProgram::Ours(_) => self.ring_ours(context, timer),
            SimulatedProgram::Old(_) => self.ring_old(context, timer),
        }
    }

    /// A letter arrives.
    pub fn receive(
        &mut self,
        context: &mut Context,
        yard: &SceneInputs,
        from: Party,
        letter: SimulatedMessage,
    ) {
        match letter {
            SimulatedMessage::Call { id, call } => {
                let answer = self.answer(yard, &call);
                context.answer(self.party(), from, id, answer);
            }
            SimulatedMessage::Answer { id, answer } => self.answered(context, id, Some(answer)),
            SimulatedMessage::Raft(_) => {}
        }
    }

    /// A call has its answer, or has waited long enough.
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

/// Some bytes of a master: its content, its size, and how many there are.
fn read(yard: &SceneInputs, name: &FileName, offset: u64, length: u64) -> SimulatedResponse {
    match yard.masters.get(name) {
        None => SimulatedResponse::status(404),
        // What cannot be read breaks off half-way.
        Some(master) if !master.readable && offset + length > master.size / 2 => {
            SimulatedResponse::status(500)
        }
        Some(master) => {
            let bytes = length.min(master.size.saturating_sub(offset));
            let told = (master.content, master.size, bytes);
            SimulatedResponse::ok(serde_json::to_vec(&told).unwrap_or_default())
        }
    }
}

/// What [`read`] wrote: content, size, bytes.
pub(super) fn read_told(answer: &SimulatedResponse) -> Option<(u64, u64, u64)> {
    serde_json::from_slice(&answer.body).ok()
}
