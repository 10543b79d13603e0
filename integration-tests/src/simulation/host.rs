//! A storage host: its disk, and what any worker there answers. What it does by itself is in
//! [`Ours`] and [`Old`].

use reelyard_actors::clock::Millis;
use reelyard_actors::host::{HostAddr, HostRole};
use reelyard_actors::names::FileName;
use reelyard_actors::wire::cfw::write_df;
use reelyard_actors::wire::inventory::{InventoryLine, ListedFile, write_inventory};

use super::context::Context;
use super::disk::{Copy, Disk};
use super::host_old::Old;
use super::host_ours::Ours;
use super::letters::{Answer, Call, Letter};
use super::parties::{Party, Timer};
use super::scene::{HostPlan, Yard};
use crate::tell;

/// The program that runs on a host.
pub enum Program {
    /// A Reelyard worker.
    Ours(Ours),
    /// A Go cfw, with its defects.
    Old(Old),
}

/// A host.
pub struct Host {
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
    pub disk: Disk,
    /// What runs there.
    pub program: Program,
}

impl Host {
    /// A host that was never started.
    pub fn new(id: usize, plan: &HostPlan, nodes: usize, yard: &Yard) -> Self {
        let mut disk = Disk { capacity: plan.capacity, ..Disk::default() };
        for name in &plan.holds {
            if let Some(master) = yard.masters.get(name) {
                let copy = Copy { content: master.content, size: master.size, task: None };
                disk.files.insert(name.clone(), copy);
            }
        }
        let program = match plan.ours {
            true => Program::Ours(Ours::new(plan.at_once, plan.fetches_from_old, nodes)),
            false => Program::Old(Old::default()),
        };
        let (addr, role) = (plan.addr, plan.role);
        Host { id, addr, role, up: false, life: 0, clock_off: 0, disk, program }
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
            Program::Ours(ours) => ours.restart(),
            Program::Old(old) => old.restart(),
        }
        if self.role.is_destination() {
            let draw = context.rng.u64(0..500);
            context.after(draw, self.party(), self.life, Timer::Ask);
            context.after(draw + 1, self.party(), self.life, Timer::Deliver);
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
    pub fn ring(&mut self, context: &mut Context, timer: Timer) {
        match self.program {
            Program::Ours(_) => self.ring_ours(context, timer),
            Program::Old(_) => self.ring_old(context, timer),
        }
    }

    /// A letter arrives.
    pub fn receive(&mut self, context: &mut Context, yard: &Yard, from: Party, letter: Letter) {
        match letter {
            Letter::Call { id, call } => {
                let answer = self.answer(yard, &call);
                context.answer(self.party(), from, id, answer);
            }
            Letter::Answer { id, answer } => self.answered(context, id, Some(answer)),
            Letter::Raft(_) => {}
        }
    }

    /// A call has its answer, or has waited long enough.
    pub(super) fn answered(&mut self, context: &mut Context, id: u64, answer: Option<Answer>) {
        match self.program {
            Program::Ours(_) => self.answered_ours(context, id, answer),
            Program::Old(_) => self.answered_old(context, id, answer),
        }
    }

    fn answer(&self, yard: &Yard, call: &Call) -> Answer {
        match call {
            Call::Heartbeat => Answer::ok([]),
            Call::Info => match &self.program {
                Program::Ours(ours) => ours.info(self.addr, self.role),
                Program::Old(_) => Answer::status(404),
            },
            Call::Disk => Answer::ok(write_df(self.disk.figures())),
            Call::Files => {
                let mut body = Vec::new();
                for name in self.disk.files.keys() {
                    body.extend_from_slice(name.as_bytes());
                    body.push(b'\n');
                }
                Answer::ok(body)
            }
            Call::Inventory => {
                Answer::ok(write_inventory(self.disk.files.iter().map(|(name, copy)| {
                    InventoryLine::File(ListedFile { name, size: copy.size, modified: Millis(0) })
                })))
            }
            Call::Read { name, offset, length } if self.role.is_source() => {
                read(yard, name, *offset, *length)
            }
            Call::Hash { .. } if matches!(self.program, Program::Old(_)) => Answer::status(404),
            Call::Hash { name } if self.role.is_source() => match yard.masters.get(name) {
                Some(master) => Answer::ok(serde_json::to_vec(&master.content).unwrap_or_default()),
                None => Answer::status(404),
            },
            _ => Answer::status(404),
        }
    }
}

/// Some bytes of a master: its content, its size, and how many there are.
fn read(yard: &Yard, name: &FileName, offset: u64, length: u64) -> Answer {
    match yard.masters.get(name) {
        None => Answer::status(404),
        // What cannot be read breaks off half-way.
        Some(master) if !master.readable && offset + length > master.size / 2 => {
            Answer::status(500)
        }
        Some(master) => {
            let bytes = length.min(master.size.saturating_sub(offset));
            let told = (master.content, master.size, bytes);
            Answer::ok(serde_json::to_vec(&told).unwrap_or_default())
        }
    }
}

/// What [`read`] wrote: content, size, bytes.
pub(super) fn read_told(answer: &Answer) -> Option<(u64, u64, u64)> {
    serde_json::from_slice(&answer.body).ok()
}
