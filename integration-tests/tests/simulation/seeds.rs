//! Complete simulated yards: see `integration-tests/src/simulation/README.md`.

use std::ops::Range;

use reelyard_integration_tests::simulation::{Figures, run};

/// The number of seeds of one test. Several tests share all seeds and run in parallel.
const SEEDS: u64 = 260;

fn all_hold(seeds: Range<u64>) {
    let mut all = Figures::default();
    for seed in seeds {
        let verdict = run(seed);
        assert!(verdict.broken.is_none(), "\n{verdict}");
        all.add(verdict.figures);
    }
    println!("{all:?}");
    // Seeds without events would prove nothing.
    assert!(all.copies > SEEDS && all.commits > 10 * SEEDS, "{all:?}");
    // Second copies must be rare.
    assert!(50 * all.unasked < all.copies && 50 * all.late < all.copies, "{all:?}");
}

#[test]
fn seeds_of_the_first_part_hold() {
    all_hold(0..SEEDS);
}

#[test]
fn seeds_of_the_second_part_hold() {
    all_hold(SEEDS..2 * SEEDS);
}

#[test]
fn seeds_of_the_third_part_hold() {
    all_hold(2 * SEEDS..3 * SEEDS);
}

#[test]
fn seeds_of_the_fourth_part_hold() {
    all_hold(3 * SEEDS..4 * SEEDS);
}

#[test]
fn the_same_seed_happens_the_same_way_twice() {
    for seed in [1, 7, 42] {
        let (first, second) = (run(seed), run(seed));
        assert_eq!(first.tail, second.tail, "seed {seed}");
        assert_eq!((first.trace, first.figures), (second.trace, second.figures), "seed {seed}");
    }
    assert_ne!(run(1).trace, run(2).trace);
}

/// The seed of `REELYARD_SEED` with a complete trace; a fixed one without it.
#[test]
fn one_seed() {
    let seed = std::env::var("REELYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let verdict = run(seed.unwrap_or(12));
    println!("{verdict}");
    assert!(verdict.broken.is_none(), "\n{verdict}");
}
