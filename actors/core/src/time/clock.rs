//! The clocks of the program: wall clock, monotonic clock and uptime clock.
//!
//! Deadlines are absolute UTC milliseconds, and an item is live iff `now < deadline`. Only modules with I/O
//! read a [`Clock`]; pure modules get `now` as an argument.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::boot::BootId;

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

    /// The instant `duration` later; saturates at the end of time. Part of the event version.
    pub fn after(self, duration: Duration) -> Self {
        Millis(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The instant `duration` earlier; saturates.
    pub fn before(self, duration: Duration) -> Self {
        Millis(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long it is from `earlier` to here; zero when `earlier` is not earlier.
    /// Part of the event version.
    pub fn since(self, earlier: Millis) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0).unsigned_abs())
    }

    /// The same instant in the type of the standard library.
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
    /// RFC 3339 in UTC, with whole milliseconds. A number if RFC 3339 cannot express the instant: before
    /// 1970, and after [`Millis::LAST`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !(0..=Millis::LAST.0).contains(&self.0) {
            return write!(f, "{} ms from 1970 on", self.0);
        }
        write!(f, "{}", humantime::format_rfc3339_millis(self.to_system_time()))
    }
}

/// A source of `now`: the system's clock or a manual one. Cheap to clone; all clones of a manual clock
/// show the same time.
#[derive(Clone)]
pub struct Clock(ClockSource);

#[derive(Clone)]
enum ClockSource {
    System(Arc<SystemClock>),
    Machine(Arc<SystemClock>, Arc<dyn MachineClocks>),
    Manual(Arc<ManualTime>),
    InCluster(Arc<Clock>, Arc<dyn LatestTime>),
}

/// The time that other nodes of a cluster have reached.
pub trait LatestTime: Send + Sync {
    /// The latest known time, and at least `own`, when the own uptime clock shows `uptime`.
    fn latest(&self, own: Millis, uptime: Duration) -> Millis;
}

/// The clocks of a simulated machine.
pub trait MachineClocks: Send + Sync {
    /// Both clocks of the machine now.
    fn reading(&self) -> ClockReading;

    /// The current boot of the machine. The monotonic clock of a reading counts from it.
    fn boot(&self) -> BootId;
}

/// The time of a manual clock, in milliseconds.
#[derive(Debug)]
struct ManualTime {
    wall: AtomicI64,
    monotonic: AtomicI64,
    boot: AtomicU64,
}

/// The boots of manual clocks are counted.
static NEXT_MANUAL_BOOT: AtomicU64 = AtomicU64::new(1);

/// Both clocks of a machine at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The wall clock, without smoothing of backward steps.
    pub wall: Millis,
    /// The monotonic clock: it cannot be set, and it stops while the machine is suspended.
    pub monotonic: Duration,
}

/// The latest returned time, for holding small backward steps of the system clock back.
#[derive(Debug)]
pub struct SystemClock {
    latest: Mutex<Option<LatestShownTime>>,
    began: Instant,
}

/// The latest returned time, in microseconds since 1970, and its monotonic time.
#[derive(Clone, Copy, Debug)]
struct LatestShownTime {
    micros: i128,
    monotonic: Duration,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock { latest: Mutex::default(), began: Instant::now() }
    }
}

/// Backward steps up to this length are held back: time continues by the monotonic clock, 1 % slower, until
/// the system has caught up. A longer step takes effect.
pub const LARGEST_HELD_STEP: Duration = Duration::from_secs(5 * 60);

/// A clock that is ahead, and waits for another one, loses one part in this many.
pub const SLOWER_BY_ONE_IN: u32 = 100;

impl Clock {
    /// The system's clock, with small backward steps held back.
    pub fn system() -> Self {
        Clock(ClockSource::System(Arc::default()))
    }

    /// The clock of a process on this machine, with small backward steps held back.
    pub fn of_machine(machine: Arc<dyn MachineClocks>) -> Self {
        Clock(ClockSource::Machine(Arc::default(), machine))
    }

    /// A clock that stays at `start` until [`Clock::advance`] moves it.
    pub fn manual(start: Millis) -> Self {
        let (wall, monotonic) = (AtomicI64::new(start.0), AtomicI64::new(0));
        let boot = AtomicU64::new(NEXT_MANUAL_BOOT.fetch_add(1, Ordering::SeqCst));
        Clock(ClockSource::Manual(Arc::new(ManualTime { wall, monotonic, boot })))
    }

    /// The same clock. Its wall clock is never behind the time that other nodes have reached.
    pub fn in_cluster(self, others: Arc<dyn LatestTime>) -> Self {
        Clock(ClockSource::InCluster(Arc::new(self), others))
    }

    /// The current time, in milliseconds since 1970.
    pub fn now(&self) -> Millis {
        match &self.0 {
            ClockSource::System(held) => {
                held.show(Millis::from(SystemTime::now()), held.began.elapsed())
            }
            ClockSource::Machine(held, machine) => {
                let ClockReading { wall, monotonic } = machine.reading();
                held.show(wall, monotonic)
            }
            ClockSource::Manual(hands) => Millis(hands.wall.load(Ordering::SeqCst)),
            ClockSource::InCluster(own, others) => others.latest(own.now(), own.uptime()),
        }
    }

    /// Both clocks at one moment, so that a step of the wall clock can be detected.
    pub fn reading(&self) -> ClockReading {
        match &self.0 {
            ClockSource::System(held) => ClockReading {
                wall: Millis::from(SystemTime::now()),
                monotonic: held.began.elapsed(),
            },
            ClockSource::Machine(_, machine) => machine.reading(),
            ClockSource::Manual(hands) => ClockReading {
                wall: self.now(),
                monotonic: Duration::from_millis(
                    hands.monotonic.load(Ordering::SeqCst).unsigned_abs(),
                ),
            },
            ClockSource::InCluster(own, others) => {
                let reading = own.reading();
                ClockReading { wall: others.latest(reading.wall, own.uptime()), ..reading }
            }
        }
    }

    /// How long the machine has been up: like the monotonic clock of a [`ClockReading`], but this one also
    /// counts while the machine is suspended.
    pub fn uptime(&self) -> Duration {
        match &self.0 {
            ClockSource::System(_) => {
                let rustix::time::Timespec { tv_sec, tv_nsec } =
                    rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                // Neither number is ever negative.
                Duration::new(tv_sec.unsigned_abs(), u32::try_from(tv_nsec).unwrap_or_default())
            }
            ClockSource::Machine(..) | ClockSource::Manual(_) => self.reading().monotonic,
            ClockSource::InCluster(own, _) => own.uptime(),
        }
    }

    /// The time of the timers of this thread's runtime, for pauses and measured durations. It does not stop
    /// with a manual clock. On a runtime with paused time it is virtual.
    pub fn timer(&self) -> Instant {
        Instant::now()
    }

    /// The wait until the last multiple of `period` on the monotonic clock within `longest`. A shorter wait
    /// than `period` stays as it is. Actors that wake at such moments wake the process together.
    pub fn shared_wait(&self, longest: Duration, period: Duration) -> Duration {
        if longest < period || period.is_zero() {
            return longest;
        }
        let end = self.reading().monotonic.saturating_add(longest);
        let behind = end.as_nanos() % period.as_nanos();
        longest - Duration::from_nanos(u64::try_from(behind).unwrap_or_default())
    }

    /// The CPU time of the calling thread, without its waits. On a simulated machine all work costs nothing.
    pub fn cost(&self) -> Duration {
        match &self.0 {
            ClockSource::System(_) | ClockSource::Manual(_) => {
                let rustix::time::Timespec { tv_sec, tv_nsec } =
                    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
                // Neither number is ever negative.
                Duration::new(tv_sec.unsigned_abs(), u32::try_from(tv_nsec).unwrap_or_default())
            }
            ClockSource::Machine(..) => Duration::ZERO,
            ClockSource::InCluster(own, _) => own.cost(),
        }
    }

    /// The boot of the machine from which [`Clock::uptime`] counts. If the kernel does not say which boot it
    /// is, each process has its own.
    pub fn boot(&self) -> BootId {
        static OF_MACHINE: OnceLock<BootId> = OnceLock::new();
        match &self.0 {
            ClockSource::System(_) => *OF_MACHINE.get_or_init(|| {
                BootId::of_this_machine().unwrap_or_else(|error| {
                    tracing::warn!(%error, "boot id cannot be read: after a restart of the node leases end by its wall clock");
                    BootId::from(fastrand::u128(..))
                })
            }),
            ClockSource::Machine(_, machine) => machine.boot(),
            ClockSource::Manual(hands) => BootId::from(u128::from(hands.boot.load(Ordering::SeqCst))),
            ClockSource::InCluster(own, _) => own.boot(),
        }
    }

    /// Lets the machine of a manual clock boot again: its uptime begins at zero. The system's clock does not
    /// change.
    pub fn reboot(&self) {
        if let Some(hands) = self.hands() {
            hands.monotonic.store(0, Ordering::SeqCst);
            let next = NEXT_MANUAL_BOOT.fetch_add(1, Ordering::SeqCst);
            hands.boot.store(next, Ordering::SeqCst);
        }
    }

    /// The time of a manual clock.
    fn hands(&self) -> Option<&ManualTime> {
        match &self.0 {
            ClockSource::Manual(hands) => Some(hands),
            ClockSource::InCluster(own, _) => own.hands(),
            ClockSource::System(_) | ClockSource::Machine(..) => None,
        }
    }

    /// Moves a manual clock forward and returns the new time. The system's clock cannot be moved: for it
    /// this only returns the time.
    pub fn advance(&self, by: Duration) -> Millis {
        if let Some(hands) = self.hands() {
            let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            hands.monotonic.fetch_add(by, Ordering::SeqCst);
            return Millis(hands.wall.fetch_add(by, Ordering::SeqCst).saturating_add(by));
        }
        self.now()
    }

    /// Moves a manual clock forward or back by this many milliseconds, although no time has passed, and
    /// returns the new time. The system's clock cannot be set, so for it this only returns the time.
    pub fn step_by(&self, ms: i64) -> Millis {
        if let Some(hands) = self.hands() {
            return Millis(hands.wall.fetch_add(ms, Ordering::SeqCst).saturating_add(ms));
        }
        self.now()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let face = match self.0 {
            ClockSource::System(_) => "system",
            ClockSource::Machine(..) => "simulated",
            ClockSource::Manual(_) => "manual",
            ClockSource::InCluster(..) => "in a cluster",
        };
        write!(f, "Clock({face}, {})", self.now())
    }
}

impl SystemClock {
    /// The time to show when the system's clock shows `system`.
    pub fn show(&self, system: Millis, monotonic: Duration) -> Millis {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let wall = i128::from(system.0) * 1000;
        let micros = latest.map_or(wall, |before| {
            let passed = monotonic.saturating_sub(before.monotonic);
            let slowed =
                i128::try_from((passed - passed / SLOWER_BY_ONE_IN).as_micros()).unwrap_or(0);
            let gone_on = before.micros + slowed;
            let largest = i128::try_from(LARGEST_HELD_STEP.as_micros()).unwrap_or(0);
            if gone_on - wall > largest { wall } else { gone_on.max(wall) }
        });
        // Another thread may have read its clock later and arrive earlier.
        let monotonic = latest.map_or(monotonic, |before| monotonic.max(before.monotonic));
        *latest = Some(LatestShownTime { micros, monotonic });
        Millis(i64::try_from(micros.div_euclid(1000)).unwrap_or(system.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_backward_step_is_held_back_and_a_large_one_followed() {
        let (held, noon) = (SystemClock::default(), Millis(1_000_000_000));
        let minutes = |count: u64| Duration::from_secs(count * 60);
        assert_eq!(held.show(noon, minutes(0)), noon);
        // A minute back: ten minutes later it is 6 s nearer to the wall clock.
        assert_eq!(held.show(noon.before(minutes(1)), minutes(0)), noon);
        let shown = held.show(noon.after(minutes(9)), minutes(10));
        assert_eq!(shown, noon.after(minutes(10) - Duration::from_secs(6)));
        let long_before = noon.before(minutes(60));
        assert_eq!(held.show(long_before, minutes(10)), long_before);
        let next = long_before.after(Duration::from_millis(1));
        assert_eq!(held.show(next, minutes(10)), next);
    }

    #[test]
    fn a_shared_wait_ends_at_a_multiple_of_its_period() {
        let clock = Clock::manual(Millis(5));
        let wait = |millis: u64| {
            let (longest, period) = (Duration::from_millis(millis), Duration::from_secs(1));
            clock.shared_wait(longest, period).as_millis()
        };
        assert_eq!((wait(999), wait(1000), wait(2500)), (999, 1000, 2000));
        clock.advance(Duration::from_millis(300));
        assert_eq!((wait(999), wait(1000), wait(2500), wait(2700)), (999, 700, 1700, 2700));
    }

    #[test]
    fn clones_of_a_manual_clock_move_together() {
        let clock = Clock::manual(Millis(5));
        let same = clock.clone();
        clock.advance(Duration::from_secs(2));
        assert_eq!(same.now(), Millis(2005));
    }

    #[test]
    fn setting_the_wall_clock_leaves_the_monotonic_clock_alone() {
        let clock = Clock::manual(Millis(5));
        clock.advance(Duration::from_millis(10));
        assert_eq!(clock.step_by(-7), Millis(8));
        let monotonic = Duration::from_millis(10);
        assert_eq!(clock.reading(), ClockReading { wall: Millis(8), monotonic });
    }

    #[test]
    fn timers_follow_the_paused_time_of_their_runtime() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true);
        let clock = Clock::manual(Millis(5));
        runtime.build().unwrap().block_on(async {
            let began = clock.timer();
            tokio::time::sleep(Duration::from_secs(3600)).await;
            assert_eq!(clock.timer() - began, Duration::from_secs(3600));
        });
        assert_eq!(clock.now(), Millis(5));
    }

    struct FixedMachine;

    impl MachineClocks for FixedMachine {
        fn reading(&self) -> ClockReading {
            ClockReading { wall: Millis(5), monotonic: Duration::ZERO }
        }

        fn boot(&self) -> BootId {
            Clock::manual(Millis(5)).boot()
        }
    }

    #[test]
    fn work_costs_time_but_not_on_a_simulated_machine() {
        assert_eq!(Clock::of_machine(Arc::new(FixedMachine)).cost(), Duration::ZERO);
        assert!(Clock::system().cost() > Duration::ZERO);
        assert!(Clock::manual(Millis(5)).cost() > Duration::ZERO);
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
