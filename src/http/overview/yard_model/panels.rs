//! The panels below the figures.

use std::cmp::Reverse;

use reelyard_boxes::box_lease::{BoxPhase, PoolStatus};
use reelyard_console::Moment;
use reelyard_console::pages::files::FileCondition;
use reelyard_console::pages::hosts::{HostCondition, HostLine};
use reelyard_console::pages::why::PassedReason;
use reelyard_console::pages::yard::{
    CopyLine, DiskSummary, DueLink, HotLine, PoolSummary, WaitLine,
};
use reelyard_console::parts::boxes::BoxCondition;
use reelyard_console::parts::disks::DiskOfHost;
use reelyard_core::names::FileId;
use reelyard_shares::share_expiry::ShareLookup;
use reelyard_yard::task_manager::{PlannerWaits, Skip};
use reelyard_yard::task_manager::{TaskManagerView, TaskState};

use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::copy_lines::copy_line;
use crate::http::overview::yard_model::reasons::passed;
use crate::http::overview::yard_model::recent;
use crate::http::overview::{PlacedFiles, ShareCounts, YardViews};

/// Copies under way that the page shows.
const COPIES: usize = 9;
/// Hot files that the page shows.
const HOT: usize = 5;
/// Links that end next.
const DUE: usize = 5;

/// Copies under way.
pub fn copies(views: &YardViews<'_>) -> Vec<CopyLine> {
    let open = views.tasks.open.values();
    let working = open.filter(|task| task.state == TaskState::Working);
    let line = |task| copy_line(&views.tasks, &views.catalog, task, views.state);
    working.take(COPIES).map(|task| line(task)).collect()
}

/// Files that wait, by reason.
pub fn waits(tasks: &TaskManagerView) -> Vec<WaitLine> {
    let Some(last) = &tasks.plan.last else { return Vec::new() };
    let mut waits: Vec<WaitLine> = last
        .skipped
        .iter()
        .filter(|(why, _)| {
            !matches!(why, Skip::Placed | Skip::Ignored | Skip::Ungraded | Skip::UnderWay)
        })
        .filter_map(|(why, files)| Some(WaitLine { reason: passed(*why)?, files: *files }))
        .collect();
    // A round ends once no source is free. The files that it did not examine wait for one.
    let waiting = tasks.plan.wanted.saturating_sub(tasks.open.len() as u64);
    let examined: u64 = waits.iter().map(|wait| wait.files).sum();
    let rest = waiting.saturating_sub(examined);
    if rest > 0 && last.waiting == Some(PlannerWaits::Source) {
        match waits.iter_mut().find(|wait| wait.reason == PassedReason::NoPair) {
            Some(wait) => wait.files += rest,
            None => waits.push(WaitLine { reason: PassedReason::NoPair, files: rest }),
        }
    }
    waits.sort_by_key(|wait| Reverse(wait.files));
    waits
}

/// The hottest files.
pub fn hot(views: &YardViews<'_>, placed: &PlacedFiles) -> Vec<HotLine> {
    let mut hot: Vec<(FileId, u32)> = views.catalog.rising.hot().to_vec();
    hot.sort_by_key(|(_, hits)| Reverse(*hits));
    hot.truncate(HOT);
    hot.into_iter().map(|(file, hits)| hot_line(views, placed, file, hits)).collect()
}

fn hot_line(views: &YardViews<'_>, placed: &PlacedFiles, file: FileId, hits: u32) -> HotLine {
    let name = views.state.names.name(file);
    let copying = views.tasks.open.values().find(|task| task.name == name);
    let held = views.tasks.placements.iter().filter(|(_, files)| files.contains(file.0));
    let holders: Vec<String> = held.map(|(host, _)| host.to_string()).collect();
    let condition = match (holders.is_empty(), copying) {
        (false, _) if placed.out_of_reach.contains(file.0) => FileCondition::OutOfReach,
        (false, _) => FileCondition::Placed,
        (true, Some(_)) => FileCondition::Copying,
        (true, None) => FileCondition::Waiting,
    };
    let hosts = match copying {
        Some(task) if holders.is_empty() => vec![task.destination.to_string()],
        _ => holders,
    };
    HotLine {
        name: recent::shown_name(&views.state.names, file),
        hits: u64::from(hits),
        curve: views.catalog.hit_curve(file).iter().map(|hits| *hits as f32).collect(),
        condition,
        hosts,
    }
}

/// The disks of the destinations.
pub fn disks(views: &YardViews<'_>) -> DiskSummary {
    let disk_of = |line: &HostLine| {
        Some(DiskOfHost {
            host: line.host.clone(),
            level: line.disk?,
            mark: line.condition.mark(),
            is_usual: line.condition == HostCondition::Up,
        })
    };
    let destinations = views.hosts.iter().filter(|host| host.role.is_destination());
    let (mut size, mut used) = (0_u64, 0_u64);
    for disk in destinations.clone().filter_map(|host| host.disk.as_ref()) {
        size = size.saturating_add(disk.used).saturating_add(disk.avail);
        used = used.saturating_add(disk.used);
    }
    DiskSummary {
        destinations: destinations.count() as u64,
        disks: views.lines.iter().filter_map(disk_of).collect(),
        size,
        used: used as f64 * 100.0 / size.max(1) as f64,
        limit: views.marks.limit,
        low_water: views.marks.low_water,
    }
}

/// The links that end next.
pub fn due(state: &NodeHttpState, links: &ShareCounts) -> Vec<DueLink> {
    let mut due = Vec::new();
    for id in links.soonest.iter().take(DUE) {
        let ShareLookup::Live(share) = state.actors.share_views.find(*id) else { continue };
        let info = state.share_info(&share, state.share_time());
        let Some(ends) = info.expires_at else { continue };
        due.push(DueLink {
            downloads: u64::from(info.downloads.unwrap_or(info.uses)),
            most: info.max_downloads.map(u64::from),
            ends: Moment(ends.0.0),
            path: info.path,
        });
    }
    due
}

/// The pools of boxes.
pub fn pools(state: &NodeHttpState) -> Vec<PoolSummary> {
    let phases = [
        (BoxPhase::Free, BoxCondition::Free),
        (BoxPhase::Leased, BoxCondition::Leased),
        (BoxPhase::Preparing, BoxCondition::Preparing),
        (BoxPhase::Draining, BoxCondition::Cleaning),
        (BoxPhase::Quarantined, BoxCondition::Quarantined),
    ];
    let view = state.actors.boxes.views.view();
    let pools = state.actors.boxes.views.pools();
    let summary = |pool: &PoolStatus| PoolSummary {
        name: pool.name.to_string(),
        counts: phases
            .iter()
            .map(|(phase, condition)| (*condition, u64::from(pool.counts.of(*phase))))
            .collect(),
        queue: view.queues.get(&pool.name).map_or(0, |queue| queue.waiting),
    };
    pools.iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use reelyard_core::clock::Millis;
    use reelyard_yard::task_manager::{PlannerView, RoundView};

    use super::*;

    #[test]
    fn files_that_a_round_did_not_examine_wait_for_a_source() {
        let skipped = BTreeMap::from([
            (Skip::Placed, 4),
            (Skip::UnderWay, 2),
            (Skip::NoRoom, 9),
            (Skip::NoPair, 1),
        ]);
        let waits_of = |waiting| {
            let last = RoundView {
                at: Millis(0),
                took_us: 1,
                planned: 0,
                to_look_up: 0,
                waiting: Some(waiting),
                skipped: skipped.clone(),
                examples: Vec::new(),
            };
            let plan = PlannerView { wanted: 62, last: Some(last), ..PlannerView::default() };
            let view = TaskManagerView { plan, ..TaskManagerView::default() };
            let lines = waits(&view).into_iter().map(|line| (line.reason, line.files));
            lines.collect::<Vec<_>>()
        };
        assert_eq!(
            waits_of(PlannerWaits::Source),
            [(PassedReason::NoPair, 53), (PassedReason::NoRoom, 9)]
        );
        assert_eq!(
            waits_of(PlannerWaits::SwitchedOff),
            [(PassedReason::NoRoom, 9), (PassedReason::NoPair, 1)]
        );
    }
}
