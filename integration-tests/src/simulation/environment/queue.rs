//! The queue of a simulation: the future events, by virtual time and then by order of insertion.

use std::collections::BTreeMap;

use super::messages::SimulatedEnvelope;
use super::parties::{Party, PartyTimer};
use crate::simulation::scene::operator::OperatorAction;

/// A due action, with the machine that it concerns.
#[derive(Clone, Debug)]
pub enum SimulationEvent {
    /// A message arrives.
    Arrives(SimulatedEnvelope),
    /// A party's timer fires; it has no effect on a later life of that party.
    Rings {
        /// The owner of the timer.
        party: Party,
        /// The life that set the timer.
        life: u32,
        /// The purpose of the timer.
        timer: PartyTimer,
    },
    /// The operator, or a random fault, acts.
    Done(OperatorAction),
}

/// The future events and the present time.
#[derive(Debug, Default)]
pub struct SimulationQueue {
    /// Virtual milliseconds since the simulation began.
    now: u64,
    arrived: u64,
    coming: BTreeMap<(u64, u64), SimulationEvent>,
}

impl SimulationQueue {
    /// Virtual milliseconds since the start of the simulation.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Adds an event `after` milliseconds from now.
    pub fn push(&mut self, after: u64, event: SimulationEvent) {
        self.arrived += 1;
        self.coming.insert((self.now + after, self.arrived), event);
    }

    /// The time of the next event.
    pub fn next_at(&self) -> Option<u64> {
        self.coming.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Takes the next event that is due by `now`.
    pub fn next(&mut self) -> Option<SimulationEvent> {
        self.next_at().filter(|at| *at <= self.now)?;
        self.coming.pop_first().map(|(_, event)| event)
    }

    /// Moves the time forward.
    pub fn advance_to(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Removes all remaining actions of the operator.
    pub fn drop_actions(&mut self) {
        self.coming
            .retain(|_, event| !matches!(event, SimulationEvent::Done(action) if !action.lasts()));
    }
}
