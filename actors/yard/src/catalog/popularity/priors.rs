//! The demand that is expected for a file before it has requests: by its rank in grade.info. Pure.

/// The observation that the prior counts for at first, in days. A file without requests then has the rate of its rank
/// in grade.info.
pub const PRIOR_DAYS: f64 = 1.0;

/// The observation that the prior counts for when a file is known for `known_days`, in days. It falls without end.
/// Otherwise the prior would always outweigh a short memory.
pub fn prior_weight(known_days: f64) -> f64 {
    PRIOR_DAYS * PRIOR_DAYS / (PRIOR_DAYS + known_days)
}

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

    /// The share of the file with this rank, 1 = best.
    pub fn of_rank(&self, rank: u32) -> f64 {
        f64::from(rank.max(1)).powf(-PRIOR_POWER) / self.sum
    }
}
