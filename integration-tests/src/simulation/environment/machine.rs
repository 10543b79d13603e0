//! The clocks of a simulated machine: the world's time, with an error of its own.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use reelyard_core::boot::BootId;
use reelyard_core::clock::{ClockReading, MachineClocks, Millis};
use tokio::time::Instant;

/// The wall clock at the beginning of a simulation: Unix milliseconds.
pub const WALL: i64 = 1_780_000_000_000;

/// The error of a machine's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockError {
    /// The difference to the correct wall clock at the start, in milliseconds.
    pub skew: i64,
    /// How much faster both clocks run, in millionths.
    pub drift: i64,
}

/// The clocks of one machine. A restart of a process does not change them.
#[derive(Debug)]
pub struct SimulatedMachine {
    began: Instant,
    drift: i64,
    /// The difference to the machine's monotonic time: its skew and all steps.
    offset: AtomicI64,
    boot: u128,
}

impl SimulatedMachine {
    /// A machine of a world that began at `began`.
    pub fn new(number: usize, began: Instant, error: ClockError) -> Self {
        let ClockError { skew, drift } = error;
        let boot = number as u128 + 1;
        SimulatedMachine { began, drift, offset: AtomicI64::new(skew), boot }
    }

    /// Makes the wall clock jump by this number of milliseconds.
    pub fn step_by(&self, millis: i64) {
        self.offset.fetch_add(millis, Ordering::Relaxed);
    }

    /// The present wall clock.
    pub fn wall(&self) -> Millis {
        self.reading().wall
    }

    /// Sets the wall clock to the correct time.
    pub fn set_right(&self) {
        let truly = self.began.elapsed().as_millis();
        let error = i64::try_from(truly).unwrap_or(0) - self.monotonic();
        self.offset.store(error, Ordering::Relaxed);
    }

    /// Milliseconds of the monotonic clock.
    fn monotonic(&self) -> i64 {
        let truly = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        truly + truly * self.drift / 1_000_000
    }
}

impl MachineClocks for SimulatedMachine {
    fn reading(&self) -> ClockReading {
        let monotonic = self.monotonic();
        let wall = Millis(WALL + monotonic + self.offset.load(Ordering::Relaxed));
        ClockReading { wall, monotonic: Duration::from_millis(monotonic.unsigned_abs()) }
    }

    fn boot(&self) -> BootId {
        BootId::from(self.boot)
    }
}
