//! How the actor makes its view.

use std::sync::Arc;

use super::plan::Part;
use super::{PlanView, PlannedHost, RoundView, SkippedFile, TaskManager, TaskManagerView};
use crate::clock::Millis;
use crate::manager::ManagerBadge;

impl TaskManager {
    /// Renews the view on the board.
    pub(super) fn show(&self) {
        let now = self.clock.now();
        let book = self.seat.piece();
        let open = book.open();
        let progress = self.signs.all().filter(|(task, _)| open.contains_key(task));
        if let (Some(badge), Some(cluster)) = (&self.badge, book.cluster()) {
            badge.set_cluster(cluster);
        }
        let placements = book.placements().iter().map(|(host, held)| (*host, held.files.clone()));
        self.board.show(TaskManagerView {
            at: now,
            epoch: self.seat.epoch(),
            open: open.clone(),
            ended: book.ended().clone(),
            progress: progress.collect(),
            back_offs: Arc::clone(book.back_offs()),
            hosts: self.planned_hosts(),
            placements: placements.collect(),
            plan: self.plan_view(),
            manager: self.badge.as_ref().and_then(ManagerBadge::id),
            strangers: self.strangers.at(now).cloned().collect(),
            counters: self.counters,
        });
    }

    fn planned_hosts(&self) -> Vec<PlannedHost> {
        let parts = self.last_round.as_ref().map(|last| &last.round.parts);
        let part = |host| -> Option<&Part> { parts?.get(&host) };
        let hosts = self.hosts.iter().map(|(addr, host)| {
            let placement = self.seat.piece().placement(addr).filter(|held| held.complete);
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

    fn plan_view(&self) -> PlanView {
        let (graded, wanted, too_big) = self.planner.counts();
        let names = self.seat.piece().names();
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
pub(super) struct LastRound {
    pub(super) at: Millis,
    pub(super) took: std::time::Duration,
    pub(super) round: super::plan::Round,
}
