//! The one queue of a simulation: what happens next, by virtual time and then by order of arrival.

use std::collections::BTreeMap;

use super::messages::SimulatedEnvelope;
use super::operator::OperatorAction;
use super::parties::{Party, PartyTimer};

/// Something that happens.
#[derive(Clone, Debug)]
pub enum SimulationEvent {
    /// A letter arrives.
    Arrives(SimulatedEnvelope),
    /// A party's timer goes off; it means nothing to a later life of that party.
    Rings {
        /// Whose it is.
        party: Party,
        /// The life in which it was set.
        life: u32,
        /// What it is for.
        timer: PartyTimer,
    },
    /// The operator, or fate, does something.
    Done(OperatorAction),
}

/// What is to happen, and what time it is.
#[derive(Debug, Default)]
pub struct SimulationQueue {
    /// Milliseconds since the simulation began.
    now: u64,
    arrived: u64,
    coming: BTreeMap<(u64, u64), SimulationEvent>,
}

impl SimulationQueue {
    /// Virtual milliseconds since the beginning.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Lets something happen `after` milliseconds from now.
    pub fn push(&mut self, after: u64, happening: SimulationEvent) {
        self.arrived += 1;
        self.coming.insert((self.now + after, self.arrived), happening);
    }

    /// Moves on to the next happening, unless it lies behind `until`.
    pub fn next(&mut self, until: u64) -> Option<SimulationEvent> {
        let (&(at, _), _) = self.coming.first_key_value()?;
        if at > until {
            self.now = until;
            return None;
        }
        self.now = at;
        self.coming.pop_first().map(|(_, happening)| happening)
    }

    /// Drops everything that the operator still had in mind.
    pub fn drop_actions(&mut self) {
        self.coming.retain(
            |_, happening| !matches!(happening, SimulationEvent::Done(deed) if !deed.lasts()),
        );
    }
}
