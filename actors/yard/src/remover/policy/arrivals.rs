//! Copies that arrived recently: they are safe from removal for some time. Pure.

use std::time::Duration;

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
    /// The copies that arrived recently enough, by the settings.
    pub fn of(
        done: impl Iterator<Item = DoneCopy>,
        settings: &RemoverSettings,
        now: Millis,
    ) -> Self {
        let mut arrivals = RecentArrivals::default();
        for copy in done {
            let place = (copy.host, copy.file);
            if is_within(copy.at, settings.spare_copied_within, now) {
                arrivals.fresh.insert(place);
            }
            if copy.hits > 0 && is_within(copy.at, settings.spare_hot_within, now) {
                arrivals.came_hot.insert(place);
            }
            if is_within(copy.at, settings.exchange.min_stay, now) {
                arrivals.min_stay.insert(place);
            }
        }
        arrivals
    }
}

/// Whether `at` is less than `period` from `now`. The clock may have been set back, so records need not be in
/// the order of their times, and one may be ahead.
pub(in crate::remover) fn is_within(at: Millis, period: Duration, now: Millis) -> bool {
    at > now.before(period) && at < now.after(period)
}

#[cfg(test)]
mod tests {
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
                // The clock was two years back when the last copy ended.
                let back = Duration::from_secs(2 * 365 * 86_400);
                let last = DoneCopy { host, file: FileId(4), at: now.before(back), hits: 5 };
                let arrivals = RecentArrivals::of([last, done].into_iter(), &settings, now);
                let sets = [&arrivals.fresh, &arrivals.came_hot, &arrivals.min_stay];
                assert_eq!(sets[index].contains(&(host, file)), is_protected, "{index} at {age:?}");
            }
        }
    }
}
