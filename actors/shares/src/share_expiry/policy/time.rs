//! The time by which shares end. Pure.
//!
//! 1. It starts at the latest recorded time, advances with a monotonic clock, and never goes back.
//! 2. If the wall clock is ahead by at most an hour, this time follows it at once.
//! 3. A clock that is further ahead is a *claim*. Links are refused by it. Nothing else uses it until it
//!    has held for `clock_hold`, or an operator confirms it.
//! 4. While the wall clock is behind, this time runs 1 % slower, until the wall clock has caught up.

use std::time::Duration;

use reelyard_core::clock::{Millis, SLOWER_BY_ONE_IN};

/// If the wall clock is ahead by at most this, the time of shares follows it at once.
pub const LARGEST_STEP: Duration = Duration::from_secs(60 * 60);

/// How far a claim may move against the monotonic clock and still count as the same claim.
const SAME_CLAIM: i128 = 60 * NANOS_A_SECOND;

const NANOS_A_SECOND: i128 = 1_000_000_000;
const NANOS_A_MILLI: i128 = 1_000_000;

/// The time by which shares end.
#[derive(Debug, Default)]
pub struct ShareTime {
    /// In nanoseconds since 1970; none until the recorded time is known.
    now: Option<i128>,
    /// The monotonic clock at that moment.
    uptime: Duration,
    claim: Option<UnconfirmedClock>,
    hold: Duration,
}

/// A wall clock that is far ahead.
#[derive(Clone, Copy, Debug)]
struct UnconfirmedClock {
    ahead: i128,
    since: Duration,
}

/// The times from one reading of the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareMoment {
    /// The confirmed time, for reclaim and for records.
    pub now: Millis,
    /// The time for refusing links: `now`, or the wall clock if it is far ahead.
    pub latest: Millis,
    /// The time until a wall clock that is far ahead is confirmed; none if it is not far ahead.
    pub confirmed_in: Option<Duration>,
    /// How far the wall clock is behind `now`.
    pub behind: Duration,
}

impl ShareTime {
    /// How long a wall clock that is far ahead must hold until it is confirmed.
    pub fn set_hold(&mut self, hold: Duration) {
        self.hold = hold;
    }

    /// The recorded time is known: none if nothing is recorded. It can only raise the current value.
    pub fn start(&mut self, record: Option<Millis>, wall: Millis, uptime: Duration) {
        if self.now.is_none() {
            self.now = Some(nanos(record.unwrap_or(wall)));
            self.uptime = uptime;
        }
        // The time since the last look has passed before the record was known.
        self.look(wall, uptime);
        self.now = self.now.max(record.map(nanos));
    }

    /// The wall clock is right, so links that another clock refused may work again.
    pub fn set(&mut self, wall: Millis, uptime: Duration) {
        (self.now, self.uptime, self.claim) = (Some(nanos(wall)), uptime, None);
    }

    /// The time for these values of the clocks.
    pub fn look(&mut self, wall: Millis, uptime: Duration) -> ShareMoment {
        let Some(before) = self.now else {
            return ShareMoment::of(nanos(wall), wall);
        };
        let passed = uptime.saturating_sub(self.uptime);
        self.uptime = self.uptime.max(uptime);
        let run = before.saturating_add(whole(passed));
        let ahead = nanos(wall).saturating_sub(run);
        if ahead <= 0 {
            let slowed = before.saturating_add(whole(passed - passed / SLOWER_BY_ONE_IN));
            return self.confirm(slowed.max(nanos(wall)), wall);
        }
        if ahead <= whole(LARGEST_STEP) {
            return self.confirm(nanos(wall), wall);
        }
        let same = self.claim.filter(|claim| (claim.ahead - ahead).abs() <= SAME_CLAIM);
        let claim = same.unwrap_or(UnconfirmedClock { ahead, since: self.uptime });
        let left = self.hold.saturating_sub(self.uptime.saturating_sub(claim.since));
        if left.is_zero() {
            return self.confirm(nanos(wall), wall);
        }
        (self.now, self.claim) = (Some(run), Some(claim));
        let confirmed_in = Some(left);
        ShareMoment { latest: wall, confirmed_in, ..ShareMoment::of(run, wall) }
    }

    fn confirm(&mut self, now: i128, wall: Millis) -> ShareMoment {
        (self.now, self.claim) = (Some(now), None);
        ShareMoment::of(now, wall)
    }
}

impl ShareMoment {
    fn of(now: i128, wall: Millis) -> Self {
        let ms = i64::try_from(now.div_euclid(NANOS_A_MILLI)).unwrap_or(i64::MAX);
        let now = Millis(ms);
        ShareMoment { now, latest: now, confirmed_in: None, behind: now.since(wall) }
    }
}

fn nanos(at: Millis) -> i128 {
    i128::from(at.0) * NANOS_A_MILLI
}

fn whole(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOON: i64 = 1_000_000_000;
    const HOUR: i64 = 3_600_000;
    const HOLD: Duration = Duration::from_secs(900);

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn started(record: i64) -> ShareTime {
        let mut time = ShareTime::default();
        time.set_hold(HOLD);
        time.start(Some(Millis(record)), Millis(record), Duration::ZERO);
        time
    }

    #[test]
    fn the_wall_clock_is_only_shown_before_the_record_is_known() {
        let mut time = ShareTime::default();
        assert_eq!(time.look(Millis(NOON + 9 * HOUR), ms(5)).now, Millis(NOON + 9 * HOUR));
        time.start(Some(Millis(NOON)), Millis(NOON - HOUR), ms(10));
        let moment = time.look(Millis(NOON - HOUR), ms(110));
        assert_eq!((moment.now, moment.behind), (Millis(NOON + 99), ms(3_600_099)));
    }

    #[test]
    fn up_to_an_hour_is_followed_at_once_and_more_is_held() {
        let mut time = started(NOON);
        assert_eq!(
            time.look(Millis(NOON + HOUR), ms(0)),
            ShareMoment::of(nanos(Millis(NOON + HOUR)), Millis(NOON + HOUR))
        );
        let wall = Millis(NOON + 2 * HOUR + 1);
        let moment = time.look(wall, ms(0));
        assert_eq!((moment.now, moment.latest), (Millis(NOON + HOUR), wall));
        assert_eq!(moment.confirmed_in, Some(HOLD));
        let later = |ms: i64| Millis(wall.0 + ms);
        let moment = time.look(later(899_999), ms(899_999));
        assert_eq!((moment.now, moment.confirmed_in), (Millis(NOON + HOUR + 899_999), Some(ms(1))));
        let moment = time.look(later(900_000), ms(900_000));
        assert_eq!((moment.now, moment.confirmed_in), (later(900_000), None));
    }

    #[test]
    fn a_moved_claim_begins_again_and_a_withdrawn_one_leaves_nothing() {
        let mut time = started(NOON);
        assert!(time.look(Millis(NOON + 3 * HOUR), ms(0)).confirmed_in.is_some());
        let moment = time.look(Millis(NOON + 9 * HOUR), ms(800_000));
        assert_eq!(moment.confirmed_in, Some(HOLD), "it is another one");
        let moment = time.look(Millis(NOON + 801_000), ms(801_000));
        let right = Millis(NOON + 801_000);
        assert_eq!((moment.now, moment.latest, moment.confirmed_in), (right, right, None));
    }

    #[test]
    fn the_time_runs_slower_until_the_wall_clock_has_caught_up() {
        let mut time = started(NOON);
        let wall = |passed: i64| Millis(NOON - 1000 + passed);
        let moment = time.look(wall(50_000), ms(50_000));
        assert_eq!((moment.now, moment.behind), (Millis(NOON + 49_500), ms(500)));
        let moment = time.look(wall(150_000), ms(150_000));
        assert_eq!((moment.now, moment.behind), (wall(150_000), Duration::ZERO));
    }

    #[test]
    fn a_record_counts_from_the_moment_it_is_known() {
        // Nobody looked at the time for three seconds, and a record of another node arrives.
        let mut time = started(NOON);
        let now = Millis(NOON + 3000);
        time.start(Some(now), now, ms(3000));
        assert_eq!(time.look(now, ms(3000)).now, now);
    }

    #[test]
    fn an_operator_sets_it_either_way() {
        let mut time = started(NOON);
        time.look(Millis(NOON + 9 * HOUR), ms(0));
        time.set(Millis(NOON + 9 * HOUR), ms(1));
        assert_eq!(time.look(Millis(NOON + 9 * HOUR), ms(1)).now, Millis(NOON + 9 * HOUR));
        time.set(Millis(NOON), ms(2));
        assert_eq!(time.look(Millis(NOON + 1), ms(3)).now, Millis(NOON + 1));
    }

    #[test]
    fn the_record_raises_it_and_never_lowers_it() {
        let mut time = started(NOON);
        time.start(Some(Millis(NOON - HOUR)), Millis(NOON), ms(0));
        assert_eq!(time.look(Millis(NOON), ms(0)).now, Millis(NOON));
        time.start(Some(Millis(NOON + HOUR)), Millis(NOON), ms(0));
        assert_eq!(time.look(Millis(NOON), ms(0)).now, Millis(NOON + HOUR));
    }

    proptest! {
        /// For any steps of the wall clock and any number of readings, the confirmed time never goes back.
        /// It runs faster than the monotonic clock only by steps of an hour at most, or by steps that have
        /// held. Links are never refused by an earlier time.
        #[test]
        fn it_never_goes_back(
            looks in prop::collection::vec((0_u64..400_000, -20 * HOUR..20 * HOUR, 0_u8..4), 1..200)
        ) {
            let mut time = started(NOON);
            let (mut uptime, mut offset, mut last) = (0_u64, 0_i64, Millis(NOON));
            let mut far_since: Option<u64> = None;
            for (passes, step, steps) in looks {
                uptime += passes;
                if steps == 0 {
                    // Nearly the same time is no other claim.
                    far_since = far_since.filter(|_| (offset - step).abs() <= 60_000);
                    offset = step;
                }
                let wall = Millis(NOON + i64::try_from(uptime).unwrap() + offset);
                let moment = time.look(wall, ms(uptime));
                prop_assert!(moment.now >= last && moment.latest >= moment.now);
                let passed = i64::try_from(passes).unwrap();
                if moment.now.0 > last.0 + passed + HOUR {
                    let since = far_since.map_or(0, |since| uptime - since);
                    prop_assert!(since >= 900_000, "confirmed after {since} ms");
                }
                far_since = moment.confirmed_in.map(|_| far_since.unwrap_or(uptime));
                last = moment.now;
            }
        }
    }
}
