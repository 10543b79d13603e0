//! Copies that arrived recently: they are safe from removal for some time. Pure.

use std::collections::HashSet;

use reelyard_core::clock::Millis;
use reelyard_core::history::BoundedLog;

use crate::remover::settings::RemoverSettings;
use crate::remover::state::removal_book::CopyKey;
use crate::task_manager::{CopyRecord, TaskState};

/// Copies that arrived recently.
#[derive(Clone, Debug, Default)]
pub struct RecentArrivals {
    /// Those that no disk is relieved of yet.
    pub fresh: HashSet<CopyKey>,
    /// Copies that were made because their files were hot. A placed file gets no more rising hits, so
    /// its grade is the worst of its disk until grade.info is made again. Without this set, two hot
    /// files could replace each other in turns.
    pub came_hot: HashSet<CopyKey>,
}

impl RecentArrivals {
    /// The copies that arrived as lately as the settings say, from the TaskManager's history.
    pub fn of(history: &BoundedLog<CopyRecord>, settings: &RemoverSettings, now: Millis) -> Self {
        let fresh_since = now.before(settings.spare_copied_within);
        let hot_since = now.before(settings.spare_hot_within);
        let mut arrivals = RecentArrivals::default();
        let lately = history.newest_first().map(|(_, copy)| copy);
        let oldest = fresh_since.min(hot_since);
        let lately = lately.take_while(|copy| copy.at > oldest);
        for copy in lately.filter(|copy| copy.state == TaskState::Done) {
            let place = (copy.destination, copy.file);
            if copy.at > fresh_since {
                arrivals.fresh.insert(place);
            }
            if copy.hits > 0 && copy.at > hot_since {
                arrivals.came_hot.insert(place);
            }
        }
        arrivals
    }
}
