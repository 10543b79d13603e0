//! The demand that is expected for a file before it has requests: by its rank in grade.info. Pure.

/// The observation that the prior counts for, in days. A file without requests has the rate of its
/// rank in grade.info, until it was observed for longer than this.
pub const PRIOR_DAYS: f64 = 1.0;

/// The prior rate of a file falls with its rank by this power, as demand for films does.
const PRIOR_POWER: f64 = 0.7;

/// The prior demand by rank: shares of the demand for all files.
#[derive(Clone, Copy, Debug)]
pub struct Priors {
    sum: f64,
}

impl Priors {
    /// For this number of ranked files.
    pub fn of(files: usize) -> Self {
        let below = 1.0 - PRIOR_POWER;
        Priors { sum: ((files.max(1) as f64).powf(below) / below).max(1.0) }
    }

    /// The share of the file at this position.
    pub fn share(&self, position: usize) -> f64 {
        ((position + 1) as f64).powf(-PRIOR_POWER) / self.sum
    }
}
