//! The files there are: their names, sizes, and how many copies are wanted of each.

use reelyard_core::names::{FileId, NameTable};

/// Every file that there is or will be, by number.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// The names; their numbers count up from 0.
    pub names: NameTable,
    /// The size of each in bytes.
    pub sizes: Vec<u64>,
}

impl Catalogue {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// The size of one.
    pub fn size(&self, file: FileId) -> u64 {
        self.sizes.get(file.0 as usize).copied().unwrap_or(0)
    }

    /// The bytes of all.
    pub fn bytes(&self) -> u64 {
        self.sizes.iter().sum()
    }
}

/// Sizes as films have them: a logarithm that is normally distributed around a mean.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    location: f64,
}

/// The spread of the logarithm: two films of three are between half and twice the usual size.
const SPREAD: f64 = 0.7;

/// No file is smaller.
const LEAST: f64 = 1024.0;

impl Sizes {
    /// Sizes with this mean, in bytes.
    pub fn with_mean(mean: u64) -> Self {
        Sizes { location: (mean.max(1) as f64).ln() - SPREAD * SPREAD / 2.0 }
    }

    /// One of them.
    pub fn draw(&self, rng: &mut fastrand::Rng) -> u64 {
        (self.location + SPREAD * normal(rng)).exp().max(LEAST) as u64
    }
}

/// A number from the normal distribution, by the method of Box and Muller.
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
