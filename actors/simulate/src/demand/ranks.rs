//! Draws ranks by popularity in constant time.

/// Ranks from 0 with weights, drawn with the alias method of Walker and Vose.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// The probability of each column for its own rank, in units of `u32::MAX`.
    keeps: Vec<u32>,
    /// The other rank of each column.
    other: Vec<u32>,
}

impl Ranks {
    /// `count` ranks whose weights fall with the exponent `zipf`.
    pub fn falling_by(zipf: f64, count: u32) -> Self {
        let weights: Vec<f64> = (1..=count).map(|rank| f64::from(rank).powf(-zipf)).collect();
        let mean = weights.iter().sum::<f64>() / f64::from(count.max(1));
        let mut left: Vec<f64> = weights.into_iter().map(|weight| weight / mean).collect();
        let mut keeps = vec![u32::MAX; left.len()];
        let mut other: Vec<u32> = (0..count).collect();
        // Weights decrease, so those above the mean come first.
        let (mut rich, mut poor): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|rank| left[*rank as usize] > 1.0);
        while let (Some(&from), Some(to)) = (rich.last(), poor.pop()) {
            let share = left[to as usize];
            keeps[to as usize] = (share * f64::from(u32::MAX)) as u32;
            other[to as usize] = from;
            left[from as usize] -= 1.0 - share;
            if left[from as usize] <= 1.0 {
                rich.pop();
                poor.push(from);
            }
        }
        Ranks { keeps, other }
    }

    /// Draws a rank; 0 if there are none.
    pub fn draw(&self, rng: &mut fastrand::Rng) -> u32 {
        let column = rng.u32(..self.len().max(1));
        match self.keeps.get(column as usize) {
            Some(keeps) if rng.u32(..) > *keeps => self.other[column as usize],
            _ => column,
        }
    }

    /// Number of ranks.
    pub fn len(&self) -> u32 {
        self.keeps.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_drawn_as_often_as_they_weigh() {
        let ranks = Ranks::falling_by(1.0, 100);
        let mut rng = fastrand::Rng::with_seed(3);
        let mut drawn = [0_u32; 100];
        for _ in 0..200_000 {
            drawn[ranks.draw(&mut rng) as usize] += 1;
        }
        let sum: f64 = (1..=100).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in [1_u32, 2, 10, 100] {
            let expected = 200_000.0 / f64::from(rank) / sum;
            let seen = f64::from(drawn[rank as usize - 1]);
            assert!((seen / expected - 1.0).abs() < 0.15, "{rank}: {seen} against {expected}");
        }
    }

    #[test]
    fn ranks_that_weigh_the_same_are_drawn_alike() {
        let ranks = Ranks::falling_by(0.0, 3);
        let mut rng = fastrand::Rng::with_seed(3);
        let mut drawn = [0_u32; 3];
        (0..30_000).for_each(|_| drawn[ranks.draw(&mut rng) as usize] += 1);
        assert!(drawn.iter().all(|times| (9_500..10_500).contains(times)), "{drawn:?}");
    }
}
