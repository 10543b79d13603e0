//! What time it is, for everybody.
//!
//! Deadlines are absolute UTC milliseconds and a thing is live iff `now < deadline`. Only the
//! rooms with I/O ask a [`Clock`]; pure files are handed `now`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch, UTC.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The last instant that RFC 3339 can write: the end of the year 9999.
    pub const LAST: Millis = Millis(253_402_300_799_999);

    /// An instant from whole Unix seconds, as cfm and the event log write them.
    pub fn from_unix_seconds(seconds: i64) -> Self {
        Millis(seconds.saturating_mul(1000))
    }

    /// Whole Unix seconds, rounded down, as the cfm wire shows them.
    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The instant `duration` later; saturates at the end of time.
    pub fn after(self, duration: Duration) -> Self {
        Millis(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The instant `duration` earlier; saturates.
    pub fn before(self, duration: Duration) -> Self {
        Millis(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long it is from `earlier` to here; zero when `earlier` is not earlier.
    pub fn since(self, earlier: Millis) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0).unsigned_abs())
    }

    /// The same instant as the standard library has it.
    pub fn to_system_time(self) -> SystemTime {
        let magnitude = Duration::from_millis(self.0.unsigned_abs());
        if self.0 >= 0 { UNIX_EPOCH + magnitude } else { UNIX_EPOCH - magnitude }
    }
}

impl From<SystemTime> for Millis {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
            Err(before) => {
                Millis(-i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX))
            }
        }
    }
}

impl fmt::Display for Millis {
    /// RFC 3339 in UTC, whole milliseconds; a number where that has no words: before 1970, and behind
    /// [`Millis::LAST`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !(0..=Millis::LAST.0).contains(&self.0) {
            return write!(f, "{} ms from 1970 on", self.0);
        }
        write!(f, "{}", humantime::format_rfc3339_millis(self.to_system_time()))
    }
}

/// A source of `now`. Cheap to clone; all clones of a manual clock show the same time.
#[derive(Clone)]
pub struct Clock(Face);

#[derive(Clone)]
enum Face {
    System(Arc<Held>),
    Manual(Arc<Hands>),
}

/// What a manual clock shows, in milliseconds.
#[derive(Debug)]
struct Hands {
    wall: AtomicI64,
    monotonic: AtomicI64,
}

/// Both clocks of a machine at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What the clock on the wall shows, with no backward step held back.
    pub wall: Millis,
    /// What a clock shows that nobody sets, and that stands still while the machine is suspended.
    pub monotonic: Duration,
}

/// The latest time told, so that a small backward step of the system clock is held back.
#[derive(Debug)]
pub struct Held {
    latest: AtomicI64,
    began: Instant,
}

impl Default for Held {
    /// Nothing was told yet.
    fn default() -> Self {
        Held { latest: AtomicI64::new(i64::MIN), began: Instant::now() }
    }
}

/// Backward steps up to this long are held back: time stands still until the system has caught up.
/// A longer one is followed.
pub const LARGEST_HELD_STEP: Duration = Duration::from_secs(5 * 60);

impl Clock {
    /// The system's clock, with small backward steps held back.
    pub fn system() -> Self {
        Clock(Face::System(Arc::default()))
    }

    /// A clock that stands still at `start` until it is moved by [`Clock::advance`].
    pub fn manual(start: Millis) -> Self {
        let (wall, monotonic) = (AtomicI64::new(start.0), AtomicI64::new(0));
        Clock(Face::Manual(Arc::new(Hands { wall, monotonic })))
    }

    /// The present instant.
    pub fn now(&self) -> Millis {
        match &self.0 {
            Face::System(held) => held.tell(Millis::from(SystemTime::now())),
            Face::Manual(hands) => Millis(hands.wall.load(Ordering::SeqCst)),
        }
    }

    /// What both clocks show: to tell whether the one on the wall was set.
    pub fn reading(&self) -> Reading {
        match &self.0 {
            Face::System(held) => {
                Reading { wall: Millis::from(SystemTime::now()), monotonic: held.began.elapsed() }
            }
            Face::Manual(hands) => Reading {
                wall: self.now(),
                monotonic: Duration::from_millis(
                    hands.monotonic.load(Ordering::SeqCst).unsigned_abs(),
                ),
            },
        }
    }

    /// Moves a manual clock forward and returns the new time. The system's clock cannot be moved:
    /// for it this only tells the time.
    pub fn advance(&self, by: Duration) -> Millis {
        if let Face::Manual(hands) = &self.0 {
            let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            hands.monotonic.fetch_add(by, Ordering::SeqCst);
            return Millis(hands.wall.fetch_add(by, Ordering::SeqCst).saturating_add(by));
        }
        self.now()
    }

    /// Sets a manual clock forward or back by so many milliseconds, without that time having
    /// passed, and returns the new time. The system's clock cannot be set: for it this only tells
    /// the time.
    pub fn set_by(&self, ms: i64) -> Millis {
        if let Face::Manual(hands) = &self.0 {
            return Millis(hands.wall.fetch_add(ms, Ordering::SeqCst).saturating_add(ms));
        }
        self.now()
    }
}

/// How long the calling thread has been at work: what it waited is not in it.
pub fn time_of_thread() -> Duration {
    let rustix::time::Timespec { tv_sec, tv_nsec } =
        rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    // Neither is ever negative.
    Duration::new(tv_sec.unsigned_abs(), u32::try_from(tv_nsec).unwrap_or_default())
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let face = if matches!(self.0, Face::System(_)) { "system" } else { "manual" };
        write!(f, "Clock({face}, {})", self.now())
    }
}

impl Held {
    /// The time to tell when the system's clock shows `system`.
    pub fn tell(&self, system: Millis) -> Millis {
        let latest = Millis(self.latest.fetch_max(system.0, Ordering::SeqCst));
        if latest <= system {
            return system;
        }
        if latest.since(system) <= LARGEST_HELD_STEP {
            return latest;
        }
        // Two callers that both see the large step store nearly the same time: either is right.
        self.latest.store(system.0, Ordering::SeqCst);
        system
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_backward_step_is_held_back_and_a_large_one_followed() {
        let held = Held::default();
        let noon = Millis(1_000_000_000);
        assert_eq!(held.tell(noon), noon);
        assert_eq!(held.tell(noon.before(Duration::from_secs(60))), noon);
        let long_before = noon.before(Duration::from_secs(3600));
        assert_eq!(held.tell(long_before), long_before);
        assert_eq!(
            held.tell(long_before.after(Duration::from_millis(1))),
            Millis(long_before.0 + 1)
        );
    }

    #[test]
    fn clones_of_a_manual_clock_move_together() {
        let clock = Clock::manual(Millis(5));
        let same = clock.clone();
        clock.advance(Duration::from_secs(2));
        assert_eq!(same.now(), Millis(2005));
    }

    #[test]
    fn a_manual_clock_that_is_set_parts_from_the_one_that_nobody_sets() {
        let clock = Clock::manual(Millis(5));
        clock.advance(Duration::from_millis(10));
        assert_eq!(clock.set_by(-7), Millis(8));
        let monotonic = Duration::from_millis(10);
        assert_eq!(clock.reading(), Reading { wall: Millis(8), monotonic });
    }

    #[test]
    fn time_is_shown_as_rfc_3339() {
        assert_eq!(Millis(1_527_951_600_123).to_string(), "2018-06-02T15:00:00.123Z");
        assert_eq!(Millis::LAST.to_string(), "9999-12-31T23:59:59.999Z");
        for beyond in [Millis(Millis::LAST.0 + 1), Millis(-1), Millis(i64::MIN), Millis(i64::MAX)] {
            assert_eq!(beyond.to_string(), format!("{} ms from 1970 on", beyond.0));
        }
    }
}
