//! The shared state of a simulation: the queue, random numbers, the network, the trace, the judge.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use tokio::sync::Notify;

use super::machine::WALL;
use super::messages::{SimulatedCall, SimulatedEnvelope, SimulatedMessage, SimulatedResponse};
use super::network::{MessageDelivery, SimulatedNetwork};
use super::parties::{Party, PartyTimer};
use super::queue::{SimulationEvent, SimulationQueue};
use super::trace::Trace;
use crate::simulation::judge::Judge;

/// Everything outside the parties; each party changes it during its own events.
pub struct Context {
    /// Rings when an actor has a request.
    pub wake: Arc<Notify>,
    /// The future events, by time.
    pub queue: SimulationQueue,
    /// The source of all random decisions.
    pub rng: fastrand::Rng,
    /// The simulated network, with its losses and cuts.
    pub network: SimulatedNetwork,
    /// A record of all events, to compare runs.
    pub trace: Trace,
    /// The checks of the invariants.
    pub judge: Judge,
    /// The latest leader. The single address that old cfws know leads to it.
    pub leader: usize,
    /// The percentage of calls to that address that reach a random node instead.
    pub astray: u32,
    nodes: usize,
    calls: u64,
}

/// Adds a line to the trace.
#[macro_export]
macro_rules! trace {
    ($context:expr, $($line:tt)*) => {{
        let now = $context.queue.now();
        $context.trace.record(now, format_args!($($line)*));
    }};
}

impl Context {
    /// The context at the start of a simulation.
    pub fn new(seed: u64, nodes: usize, judge: Judge) -> Self {
        Context {
            wake: Arc::default(),
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

    /// Virtual milliseconds since the start of the simulation.
    pub fn now(&self) -> u64 {
        self.queue.now()
    }

    /// The correct wall clock, without the errors of the parties.
    pub fn wall(&self) -> Millis {
        Millis(WALL).after(Duration::from_millis(self.now()))
    }

    /// True with this probability in percent.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    /// The node behind the single address that old cfws know.
    pub fn service(&mut self) -> Party {
        let astray = self.chance(self.astray);
        Party::Node(if astray { self.rng.usize(0..self.nodes) } else { self.leader })
    }

    /// A random request id, equal for equal seeds.
    pub fn request(&mut self) -> RequestId {
        RequestId(self.rng.u128(..))
    }

    /// Sets a timer for the present life of a party.
    pub fn after(&mut self, millis: u64, party: Party, life: u32, timer: PartyTimer) {
        self.queue.push(millis, SimulationEvent::Rings { party, life, timer });
    }

    /// Sends a message.
    pub fn send(&mut self, from: Party, to: Party, letter: SimulatedMessage) {
        if let MessageDelivery::Arrives(delay) = self.network.delivery(from, to, &mut self.rng) {
            self.queue
                .push(delay, SimulationEvent::Arrives(SimulatedEnvelope { from, to, letter }));
        }
    }

    /// Sends a call. The caller's timer fires after `patience` milliseconds.
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

    /// Sends the answer to a call.
    pub fn answer(&mut self, from: Party, to: Party, id: u64, answer: SimulatedResponse) {
        self.send(from, to, SimulatedMessage::Answer { id, answer });
    }
}
