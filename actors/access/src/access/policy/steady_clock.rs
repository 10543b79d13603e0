//! Whether the wall clock ran steadily for a while. Pure.
//!
//! Expired credentials are refused at once, and work again after a wrong clock was corrected. Their removal is
//! final. So nothing is removed until the clock ran without a step for a while.

use std::time::Duration;

use reelyard_core::clock::Millis;

/// How long the clock must run without a step.
const HOLD: Duration = Duration::from_secs(3600);

/// A larger difference between wall clock and uptime is a step.
const STEP: Duration = Duration::from_secs(60);

/// The clock since its last step.
#[derive(Debug, Default)]
pub(in crate::access) struct SteadyClock {
    /// Wall clock and uptime after the last step.
    began: Option<(Millis, Duration)>,
}

impl SteadyClock {
    /// Compares both clocks. Returns whether the wall clock ran without a step long enough.
    pub(in crate::access) fn observe(&mut self, wall: Millis, uptime: Duration) -> bool {
        let (began, began_uptime) = *self.began.get_or_insert((wall, uptime));
        let expected = began.after(uptime.saturating_sub(began_uptime));
        let step = wall.since(expected).max(expected.since(wall));
        if step > STEP || uptime < began_uptime {
            self.began = Some((wall, uptime));
            return false;
        }
        uptime - began_uptime >= HOLD
    }

    /// Begins again, when this node becomes the leader.
    pub(in crate::access) fn restart(&mut self) {
        self.began = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_clock_is_steady_an_hour_after_its_last_step() {
        let mut clock = SteadyClock::default();
        let (mut wall, mut uptime) = (Millis(1_800_000_000_000), Duration::from_secs(5));
        assert!(!clock.observe(wall, uptime));
        let mut pass = |clock: &mut SteadyClock, step: i64| {
            (wall, uptime) = (Millis(wall.after(MINUTE).0 + step), uptime + MINUTE);
            clock.observe(wall, uptime)
        };
        for step in [0, 365 * 24 * 3_600_000, -365 * 24 * 3_600_000] {
            assert!(!pass(&mut clock, step), "a step of {step} ms");
            for _ in 0..if step == 0 { 58 } else { 59 } {
                assert!(!pass(&mut clock, 0));
            }
            assert!(pass(&mut clock, 0));
        }
        clock.restart();
        assert!(!pass(&mut clock, 0));
    }
}
