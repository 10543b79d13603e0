//! How far the clocks of the voters are from their median.

use std::collections::BTreeMap;

/// How far each clock is from the median, in milliseconds: positive if it is ahead. With an even number of clocks the
/// median is every time between the two middle ones.
pub(in crate::raft) fn from_median(ahead: &BTreeMap<u64, i64>) -> BTreeMap<u64, i64> {
    let mut sorted: Vec<i64> = ahead.values().copied().collect();
    sorted.sort_unstable();
    let middle = |index: usize| sorted.get(index).copied().unwrap_or_default();
    let (low, high) = (middle(sorted.len().saturating_sub(1) / 2), middle(sorted.len() / 2));
    let distance = |ahead: i64| ahead.saturating_sub(ahead.clamp(low, high));
    ahead.iter().map(|(&node, &ahead)| (node, distance(ahead))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_compared_with_the_median() {
        let found = |clocks: &[i64]| {
            let clocks = (1..).zip(clocks.iter().copied()).collect();
            from_median(&clocks).into_values().collect::<Vec<i64>>()
        };
        assert_eq!(found(&[0]), [0]);
        assert_eq!(found(&[0, 9000]), [0, 0], "nobody knows which one is right");
        assert_eq!(found(&[0, 20, -5000]), [0, 20, -5000]);
        assert_eq!(found(&[0, 7000, 7010]), [-7000, 0, 10]);
        assert_eq!(found(&[0, 10, 20, 9000]), [-10, 0, 0, 8980]);
        assert!(found(&[]).is_empty());
    }
}
