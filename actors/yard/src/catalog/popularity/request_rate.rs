//! Request rates in two bytes. Pure.

use std::fmt;

/// Requests a day, from 2^-32 to 2^32, exact to 0.04 %. Zero is exact. Two bytes, because every graded
/// file has two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestRate(u16);

/// Steps for each factor of two.
const STEPS: f64 = 1023.0;

/// The exponent of the smallest rate.
const LOWEST: f64 = -32.0;

impl RequestRate {
    /// The nearest rate to `per_day`. A negative or invalid number is zero.
    pub fn of(per_day: f64) -> Self {
        if per_day.is_nan() || per_day <= 0.0 {
            return RequestRate(0);
        }
        let step = ((per_day.log2() - LOWEST) * STEPS).round() + 1.0;
        RequestRate(step.clamp(1.0, f64::from(u16::MAX)) as u16)
    }

    /// Requests a day.
    pub fn per_day(self) -> f64 {
        match self.0 {
            0 => 0.0,
            step => (f64::from(step - 1) / STEPS + LOWEST).exp2(),
        }
    }

    /// The rate of one of several copies, which share the requests. Exact for one copy.
    pub fn divided_by(self, copies: usize) -> Self {
        match copies {
            0 | 1 => self,
            copies => RequestRate::of(self.per_day() / copies as f64),
        }
    }

    /// Thousandths of a request a day, for events.
    pub fn thousandths(self) -> u64 {
        (self.per_day() * 1000.0).round() as u64
    }
}

impl fmt::Display for RequestRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_day = self.per_day();
        let digits = if per_day < 10.0 { 2 } else { 0 };
        f.pad(&format!("{per_day:.digits$}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_close_to_what_was_given() {
        for per_day in [0.001, 0.3, 1.0, 7.5, 1234.0, 1e8] {
            let back = RequestRate::of(per_day).per_day();
            assert!((back / per_day - 1.0).abs() < 0.0004, "{per_day} {back}");
        }
        for nothing in [0.0, -1.0, f64::NAN] {
            assert_eq!(RequestRate::of(nothing).per_day(), 0.0);
        }
        assert!(RequestRate::of(f64::INFINITY).per_day() > 1e9);
        assert!(RequestRate::of(2.0) > RequestRate::of(1.9));
        assert_eq!(RequestRate::of(0.25).to_string(), "0.25");
        assert_eq!(RequestRate::of(250.0).thousandths().div_ceil(1000), 250);
    }
}
