//! The strip of figures.

use reelyard_console::Moment;
use reelyard_console::pages::yard::YardFigures;
use reelyard_yard::task_manager::TaskState;
use roaring::RoaringBitmap;

use crate::http::overview::ShareCounts;
use crate::http::overview::{PlacedFiles, YardViews, listed_files};

/// The figures of this moment.
pub fn figures(views: &YardViews<'_>, placed: &PlacedFiles, links: &ShareCounts) -> YardFigures {
    let (tasks, plan) = (&views.tasks, &views.tasks.plan);
    let working = tasks.open.values().filter(|task| task.state == TaskState::Working);
    let served = views.catalog.event_log.as_ref().map(|log| log.served);
    let hot = views.catalog.rising.hot();
    let hot_in = |files: &RoaringBitmap| {
        hot.iter().filter(|(file, _)| files.contains(file.0)).count() as u64
    };
    let wanted = listed_files(&views.catalog) - plan.passed_over.ignored();
    YardFigures {
        running: working.count() as u64,
        may_run: Some(may_run(views)),
        copy_rate: copy_rate(views),
        waiting: plan.wanted.saturating_sub(tasks.open.len() as u64),
        oldest_wait: None,
        placed: wanted.intersection_len(&placed.in_reach()),
        wanted: wanted.len(),
        out_of_reach: Some(wanted.intersection_len(&placed.out_of_reach)),
        served: served.and_then(|served| served.last_hour).map(|share| share * 100.0),
        served_usual: served.and_then(|served| served.last_day).map(|share| share * 100.0),
        served_curve: served_curve(views),
        hot: hot.len() as u64,
        hot_unplaced: hot.len() as u64 - hot_in(&placed.all),
        hot_out_of_reach: hot_in(&placed.out_of_reach),
        due: links.due,
        next_due: links.next_due.map(|at| Moment(at.0)),
    }
}

/// The share of served requests by hour, in percent.
fn served_curve(views: &YardViews<'_>) -> Vec<f32> {
    let log = views.catalog.event_log.as_ref();
    let shares = log.map_or(&[][..], |log| &log.served_by_hour);
    shares.iter().map(|share| (share * 100.0) as f32).collect()
}

/// Copies that the usable sources serve at once.
fn may_run(views: &YardViews<'_>) -> u64 {
    let sources = views.tasks.hosts.iter().filter(|host| host.role.is_source());
    let usable = sources.filter(|host| host.no_source.is_none()).count() as u64;
    let per_source = views.state.live.now().config.yard.task.copies_per_source;
    usable * u64::from(per_source.get())
}

/// The rate of all copies in bits a second. None while it is not known for any.
fn copy_rate(views: &YardViews<'_>) -> Option<u64> {
    let mut sum: Option<u64> = None;
    for (task, seen) in &views.tasks.progress {
        if let Some(rate) = views.state.overview.rate(*task, seen.bytes, views.now) {
            sum = Some(sum.unwrap_or(0).saturating_add(rate.saturating_mul(8)));
        }
    }
    sum
}
