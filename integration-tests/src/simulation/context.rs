//! What every party of a simulation gets at: the queue, chance, the network, the trace, the judge.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;

use super::judge::Judge;
use super::messages::{SimulatedCall, SimulatedEnvelope, SimulatedMessage, SimulatedResponse};
use super::network::{MessageFate, SimulatedNetwork};
use super::parties::{Party, PartyTimer};
use super::queue::{SimulationEvent, SimulationQueue};
use super::trace::Trace;

/// The wall clock at the beginning of a simulation: Unix milliseconds.
const WALL: i64 = 1_780_000_000_000;

/// Everything outside the parties.
pub struct Context {
    /// What happens when.
    pub queue: SimulationQueue,
    /// All chance comes from here.
    pub rng: fastrand::Rng,
    /// The network.
    pub network: SimulatedNetwork,
    /// What happened.
    pub trace: Trace,
    /// Whether it was right.
    pub judge: Judge,
    /// The node that began to lead last: where the old cfws' one address leads.
    pub leader: usize,
    /// How many calls of a hundred to that address go to some node instead.
    pub astray: u32,
    nodes: usize,
    calls: u64,
}

/// A line of the trace.
#[macro_export]
macro_rules! tell {
    ($context:expr, $($line:tt)*) => {{
        let now = $context.queue.now();
        $context.trace.note(now, format_args!($($line)*));
    }};
}

impl Context {
    /// Nothing has happened yet.
    pub fn new(seed: u64, nodes: usize, judge: Judge) -> Self {
        Context {
            queue: SimulationQueue::default(),
            rng: fastrand::Rng::with_seed(seed),
            network: SimulatedNetwork::default(),
            trace: Trace::default(),
            judge,
            leader: 0,
            astray: 15,
            nodes,
            calls: 0,
        }
    }

    /// Virtual milliseconds since the beginning.
    pub fn now(&self) -> u64 {
        self.queue.now()
    }

    /// The true wall clock.
    pub fn wall(&self) -> Millis {
        Millis(WALL).after(Duration::from_millis(self.now()))
    }

    /// True so many times of a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    /// The node behind the one address that old cfws know.
    pub fn service(&mut self) -> Party {
        let astray = self.chance(self.astray);
        Party::Node(if astray { self.rng.usize(0..self.nodes) } else { self.leader })
    }

    /// An id for a request.
    pub fn request(&mut self) -> RequestId {
        RequestId(self.rng.u128(..))
    }

    /// Sets a timer of a party's present life.
    pub fn after(&mut self, millis: u64, party: Party, life: u32, timer: PartyTimer) {
        self.queue.push(millis, SimulationEvent::Rings { party, life, timer });
    }

    /// Sends a letter.
    pub fn send(&mut self, from: Party, to: Party, letter: SimulatedMessage) {
        if let MessageFate::Arrives(delay) = self.network.fate(from, to, &mut self.rng) {
            self.queue
                .push(delay, SimulationEvent::Arrives(SimulatedEnvelope { from, to, letter }));
        }
    }

    /// Calls somebody; the caller's timer goes off after `patience` milliseconds.
    pub fn call(
        &mut self,
        from: Party,
        life: u32,
        to: Party,
        call: SimulatedCall,
        patience: u64,
    ) -> u64 {
        self.calls += 1;
        let id = self.calls;
        self.after(patience, from, life, PartyTimer::CallIsOver(id));
        self.send(from, to, SimulatedMessage::Call { id, call });
        id
    }

    /// Answers a call.
    pub fn answer(&mut self, from: Party, to: Party, id: u64, answer: SimulatedResponse) {
        self.send(from, to, SimulatedMessage::Answer { id, answer });
    }
}
