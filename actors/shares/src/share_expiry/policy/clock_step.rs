//! Steps of the wall clock, measured against the monotonic clock. Pure.

use std::time::Duration;

use reelyard_core::clock::{ClockReading, Millis};

/// The allowed difference of the two clocks between two looks, in milliseconds.
const TOLERATED: i64 = 1000;

/// The last reading of both clocks.
#[derive(Clone, Debug, Default)]
pub struct ClockStepDetector {
    last: Option<ClockReading>,
}

/// The wall clock was set, or the whole machine was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockStep {
    /// A step forward by this time.
    Forward(Duration),
    /// A step back by this time.
    Back(Duration),
}

impl ClockStepDetector {
    /// Reads both clocks, and returns the change of their difference since the last look.
    pub fn look(&mut self, now: ClockReading) -> Option<ClockStep> {
        let before = self.last.replace(now)?;
        let wall_passed = now.wall.0.saturating_sub(before.wall.0);
        let passed = now.monotonic.saturating_sub(before.monotonic).as_millis();
        let by = wall_passed.saturating_sub(i64::try_from(passed).unwrap_or(i64::MAX));
        match by {
            by if by > TOLERATED => Some(ClockStep::Forward(Millis(by).since(Millis(0)))),
            by if by < -TOLERATED => Some(ClockStep::Back(Millis(0).since(Millis(by)))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_more_than_a_second_either_way() {
        let mut watch = ClockStepDetector::default();
        let mut look = |wall, ms| {
            watch.look(ClockReading { wall: Millis(wall), monotonic: Duration::from_millis(ms) })
        };
        assert_eq!(look(5000, 0), None);
        assert_eq!(look(6000, 1000), None);
        assert_eq!(look(8000, 2000), None, "a second ahead");
        assert_eq!(look(10_001, 3000), Some(ClockStep::Forward(Duration::from_millis(1001))));
        assert_eq!(look(10_001, 4000), None, "a second behind");
        assert_eq!(look(10_000, 5000), Some(ClockStep::Back(Duration::from_millis(1001))));
        // A suspend: nothing passes for the machine.
        assert_eq!(look(3_610_000, 5000), Some(ClockStep::Forward(Duration::from_secs(3600))));
        assert_eq!(look(10_000, 5000), Some(ClockStep::Back(Duration::from_secs(3600))));
    }
}
