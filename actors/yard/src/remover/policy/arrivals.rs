//! Copies that arrived lately, and are safe for a while. Pure.

use std::collections::HashSet;

use reelyard_core::clock::Millis;
use reelyard_core::history::BoundedLog;

use crate::remover::settings::RemoverSettings;
use crate::remover::state::removal_book::CopyKey;
use crate::task_manager::{CopyRecord, TaskState};

/// Copies that arrived lately.
#[derive(Clone, Debug, Default)]
pub struct RecentArrivals {
    /// Those that no disk is relieved of yet.
    pub fresh: HashSet<CopyKey>,
    /// Those that came because their files were hot. Once a file is placed, nothing rises any more
    /// that would tell: until its grade is made anew it is the worst of its disk, and if it went
    /// for the next hot one, the two would drive each other out in turns.
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
