//! The Poisson distribution: probabilities and random numbers. Pure.

/// From this mean on, the normal distribution is close enough.
const LARGE_MEAN: f64 = 100.0;

/// The probability of at most `count - 1`, for each of the ascending `counts`.
pub fn below(counts: &[u32], mean: f64) -> Vec<f64> {
    if mean > LARGE_MEAN {
        let deviations = counts.iter().map(|count| (f64::from(*count) - 0.5 - mean) / mean.sqrt());
        return deviations.map(normal_below).collect();
    }
    let mut term = (-mean).exp();
    let (mut sum, mut next) = (0.0, 0_u32);
    let mut probabilities = Vec::with_capacity(counts.len());
    for count in counts {
        // The sum is complete long before the mean is exceeded this far.
        while next < *count && (term > 1e-18 || f64::from(next) <= mean) {
            sum += term;
            next += 1;
            term *= mean / f64::from(next);
        }
        probabilities.push(f64::min(sum, 1.0));
    }
    probabilities
}

/// The probability that a standard normal number is below `deviation` (Zelen and Severo; the error is
/// below 1e-7).
fn normal_below(deviation: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * deviation.abs());
    let factors = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let tail = factors.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    let density = (-deviation * deviation / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if deviation < 0.0 { density * tail } else { 1.0 - density * tail }
}

/// Draws a number with this mean.
pub fn draw(mean: f64, rng: &mut fastrand::Rng) -> u32 {
    if mean > LARGE_MEAN {
        let number = mean + mean.sqrt() * crate::demand::catalogue::normal(rng);
        return number.round().max(0.0) as u32;
    }
    let limit = (-mean).exp();
    let (mut count, mut product) = (0, rng.f64());
    while product > limit {
        count += 1;
        product *= rng.f64();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_distribution() {
        let close = |found: f64, expected: f64, error: f64| {
            assert!((found - expected).abs() < error, "{found} {expected}");
        };
        let [none, one, two] = below(&[0, 1, 2], 2.0)[..] else { panic!("three numbers") };
        close(none, 0.0, 1e-12);
        close(one, (-2.0_f64).exp(), 1e-12);
        close(two, 3.0 * (-2.0_f64).exp(), 1e-12);
        close(below(&[1_000], 3.0)[0], 1.0, 1e-12);
        close(normal_below(-1.96), 0.025, 1e-4);
        close(normal_below(0.0), 0.5, 1e-6);
        // Both ways agree where they meet.
        close(below(&[110], 100.001)[0], below(&[110], 99.999)[0], 0.005);
    }

    #[test]
    fn drawn_numbers_have_the_mean() {
        let mut rng = fastrand::Rng::with_seed(4);
        for mean in [0.3, 7.0, 400.0] {
            let sum: f64 = (0..5_000).map(|_| f64::from(draw(mean, &mut rng))).sum();
            assert!((sum / 5_000.0 / mean - 1.0).abs() < 0.06, "{mean}");
        }
    }
}
