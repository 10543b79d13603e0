//! Copies that arrived recently: they are safe from removal for some time. Pure.

use hashbrown::HashSet;
use reelyard_core::clock::Millis;

use crate::done_copy::DoneCopy;
use crate::remover::settings::RemoverSettings;
use crate::remover::state::removal_book::CopyKey;

/// Copies that arrived recently.
#[derive(Clone, Debug, Default)]
pub struct RecentArrivals {
    /// Arrivals that are not in the figures of a disk yet.
    pub fresh: HashSet<CopyKey>,
    /// Copies that were made because their files were hot. A placed file gets no more rising hits, so
    /// its grade is the worst of its disk until the next grade.info. Without this set, two hot files
    /// could replace each other in turns.
    pub came_hot: HashSet<CopyKey>,
    /// Copies that no exchange removes yet.
    pub min_stay: HashSet<CopyKey>,
}

impl RecentArrivals {
    /// The copies that arrived recently enough, by the settings. `done` begins with the latest.
    pub fn of(
        done: impl Iterator<Item = DoneCopy>,
        settings: &RemoverSettings,
        now: Millis,
    ) -> Self {
        let fresh_since = now.before(settings.spare_copied_within);
        let hot_since = now.before(settings.spare_hot_within);
        let stay_since = now.before(settings.exchange.min_stay);
        let mut arrivals = RecentArrivals::default();
        let oldest = fresh_since.min(hot_since).min(stay_since);
        for copy in done.take_while(|copy| copy.at > oldest) {
            let place = (copy.host, copy.file);
            if copy.at > fresh_since {
                arrivals.fresh.insert(place);
            }
            if copy.hits > 0 && copy.at > hot_since {
                arrivals.came_hot.insert(place);
            }
            if copy.at > stay_since {
                arrivals.min_stay.insert(place);
            }
        }
        arrivals
    }
}
