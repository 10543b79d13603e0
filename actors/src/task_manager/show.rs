//! How the view is made. Pure.

use super::dispatcher::{Dispatcher, Standing};
use super::plan::Part;
use super::state::TaskBook;
use super::{
    BackOffView, PlanView, PlannedHost, RoundView, SkippedFile, TaskManager, TaskManagerView,
};
use crate::clock::Millis;
use crate::event::Epoch;

impl TaskManager {
    /// Renews the view on the board.
    pub(super) fn show(&mut self) {
        let (now, epoch) = (self.clock.now(), self.seat.epoch());
        let (dispatcher, standing) = self.at(now);
        let view = dispatcher.view(standing, epoch);
        self.board.show(view);
    }
}

impl Dispatcher {
    /// What there is to see; `epoch` is the one that this node leads in.
    pub fn view(&self, standing: Standing<'_>, epoch: Option<Epoch>) -> TaskManagerView {
        let Standing { book, now, .. } = standing;
        let open = book.open();
        let progress = self.signs.all().filter(|(task, _)| open.contains_key(task));
        let back_offs = book.back_offs().iter().map(|(blamed, back_off)| BackOffView {
            blamed: blamed.clone(),
            back_off: back_off.clone(),
            holds: back_off.holds(now),
        });
        let placements = book.placements().iter().map(|(host, held)| (*host, held.files.clone()));
        TaskManagerView {
            at: now,
            epoch,
            open: open.clone(),
            ended: book.ended().clone(),
            progress: progress.collect(),
            back_offs: back_offs.collect(),
            hosts: self.planned_hosts(book),
            placements: placements.collect(),
            plan: self.plan_view(book),
            counters: self.counters,
        }
    }

    fn planned_hosts(&self, book: &TaskBook) -> Vec<PlannedHost> {
        let parts = self.last_round.as_ref().map(|last| &last.round.parts);
        let part = |host| -> Option<&Part> { parts?.get(&host) };
        let hosts = self.hosts.iter().map(|(addr, host)| {
            let placement = book.placement(addr).filter(|held| held.complete);
            PlannedHost {
                host: addr,
                role: host.role,
                health: host.health,
                kind: host.kind,
                files: placement.map(|held| held.files.len()),
                serving: 0,
                fetching: 0,
                on_its_way: 0,
                room: host.room(self.settings.storage_limit_percent),
                no_source: None,
                no_destination: None,
            }
            .with_part(part(addr))
        });
        hosts.collect()
    }

    fn plan_view(&self, book: &TaskBook) -> PlanView {
        let (graded, wanted, too_big) = self.planner.counts();
        let names = book.names();
        let last = self.last_round.as_ref().map(|last| RoundView {
            at: last.at,
            took_us: u64::try_from(last.took.as_micros()).unwrap_or(u64::MAX),
            planned: last.round.tasks.len(),
            to_look_up: last.round.to_look_up.len(),
            waiting: last.round.waiting.clone(),
            skipped: last.round.skipped.clone(),
            examples: last
                .round
                .examples
                .iter()
                .map(|&(file, why)| SkippedFile { file: names.name(file), why })
                .collect(),
        });
        PlanView { graded, wanted, too_big, last }
    }
}

/// A round that was planned.
#[derive(Debug)]
pub(super) struct LastRound {
    pub(super) at: Millis,
    pub(super) took: std::time::Duration,
    pub(super) round: super::plan::Round,
}
