//! Executes rounds of the Remover.

use std::collections::BTreeSet;
use std::time::Duration;

use reelyard_core::names::FileId;
use reelyard_yard::remover::{Intent, LookedSize, RemovalMode, WHILE_THERE_IS_MORE};

use super::queue::ScheduledEvent;
use super::simulation::Simulation;

impl Simulation {
    /// Runs a round of the Remover, and schedules the next one.
    pub(super) fn remove(&mut self) {
        let next = self.removal_round();
        self.queue.push(self.now.after(next), ScheduledEvent::RemovalRound);
    }

    /// Runs a round of the Remover. Its removals are confirmed and executed at once. Returns the
    /// time until the next round.
    pub(super) fn removal_round(&mut self) -> Duration {
        self.measures.removal_rounds += 1;
        let mut proposal = self.managers.propose(self.now);
        if !proposal.to_size.is_empty() {
            let size = |file: &FileId| (*file, LookedSize::Bytes(self.catalogue.size(*file)));
            self.managers.learn_sizes(proposal.to_size.iter().map(size).collect());
            proposal = self.managers.propose(self.now);
        }
        let mut next = self.rules.remover.interval;
        if !proposal.removals.is_empty() {
            for keeper in proposal.to_confirm() {
                self.look_at(keeper);
            }
            let (intents, _) = self.managers.confirm(proposal.removals, self.now);
            if self.rules.remover.mode == RemovalMode::On {
                if !intents.is_empty() {
                    next = next.min(WHILE_THERE_IS_MORE);
                }
                self.carry_out(&intents);
            } else {
                self.measures.only_decided += intents.len() as u64;
            }
        }
        next
    }

    fn carry_out(&mut self, intents: &[Intent]) {
        let mut lighter = BTreeSet::new();
        for intent in intents {
            if !self.managers.intend(intent, self.now) {
                continue;
            }
            let file = self.catalogue.names.intern(&intent.name);
            let size = self.catalogue.size(file);
            self.yard.went(intent.host, file, size);
            self.managers.removed((intent.host, file), intent, self.now);
            self.measures.all.removed.add(size);
            self.measures.removed_for.entry(intent.reason.code()).or_default().add(size);
            let for_room = intent.keeper.is_none();
            self.measures.churn.went(file, for_room, self.now);
            if for_room {
                self.measures.gone_for_room.insert(file.0);
            }
            lighter.insert(intent.host);
        }
        if !lighter.is_empty() {
            lighter.into_iter().for_each(|host| self.look_at(host));
            self.managers.record_due(self.now);
            self.request_tick();
        }
    }
}
