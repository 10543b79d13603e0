//! The files of a simulation: names, sizes, and wanted numbers of copies.

use reelyard_core::names::{FileId, NameTable};

/// All files by number, including files that are released later.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Names; their ids count up from 0.
    pub names: NameTable,
    /// Size of each file in bytes.
    pub sizes: Vec<u64>,
}

impl Catalogue {
    /// Number of files.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Size of a file in bytes.
    pub fn size(&self, file: FileId) -> u64 {
        self.sizes.get(file.0 as usize).copied().unwrap_or(0)
    }

    /// Total size in bytes.
    pub fn bytes(&self) -> u64 {
        self.sizes.iter().sum()
    }
}

/// File sizes with a log-normal distribution around a mean, as films have.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    location: f64,
}

/// Standard deviation of the logarithm: two of three films have between half and twice the median
/// size.
const SPREAD: f64 = 0.7;

/// Smallest size in bytes.
const LEAST: f64 = 1024.0;

impl Sizes {
    /// Sizes with this mean, in bytes.
    pub fn with_mean(mean: u64) -> Self {
        Sizes { location: (mean.max(1) as f64).ln() - SPREAD * SPREAD / 2.0 }
    }

    /// Draws a size in bytes.
    pub fn draw(&self, rng: &mut fastrand::Rng) -> u64 {
        (self.location + SPREAD * normal(rng)).exp().max(LEAST) as u64
    }
}

/// Draws from the normal distribution with the Box-Muller method.
pub fn normal(rng: &mut fastrand::Rng) -> f64 {
    let (radius, angle) = (1.0 - rng.f64(), rng.f64());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_mean_that_was_asked_for() {
        let mut rng = fastrand::Rng::with_seed(7);
        let sizes = Sizes::with_mean(1 << 30);
        let mean = (0..20_000).map(|_| sizes.draw(&mut rng) as f64).sum::<f64>() / 20_000.0;
        assert!((mean / f64::from(1 << 30) - 1.0).abs() < 0.05, "{mean}");
    }
}
