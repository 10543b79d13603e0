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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reelyard_core::names::FileId;

    use super::*;
    use crate::remover::samples::host;

    #[test]
    fn a_copy_is_protected_until_it_has_stayed_for_each_time() {
        let settings = RemoverSettings::default();
        let times =
            [settings.spare_copied_within, settings.spare_hot_within, settings.exchange.min_stay];
        let now = Millis(1_000_000_000_000);
        let tick = Duration::from_millis(1);
        for (index, time) in times.into_iter().enumerate() {
            for (age, is_protected) in [(time - tick, true), (time, false)] {
                let (host, file) = (host(1), FileId(3));
                let done = DoneCopy { host, file, at: now.before(age), hits: 5 };
                let arrivals = RecentArrivals::of([done].into_iter(), &settings, now);
                let sets = [&arrivals.fresh, &arrivals.came_hot, &arrivals.min_stay];
                assert_eq!(sets[index].contains(&(host, file)), is_protected, "{index} at {age:?}");
            }
        }
    }
}
