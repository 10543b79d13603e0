//! Splits the limits of hosts among the copies that use them.
//!
//! The split is max-min fair: all rates rise together until a copy reaches its own rate, or a host its
//! limit. These copies keep their rate, and the rates of the others rise further. So no copy can get
//! more unless another one, with an equal or lower rate, gets less.

use std::collections::BTreeMap;

use reelyard_core::host::{BitsPerSecond, HostAddr};

/// The lowest rate of a copy, however low the limit of a host is. A copy without progress would be
/// regarded as dead.
pub const LEAST: BitsPerSecond = BitsPerSecond(8_000);

/// One copy, and the two hosts whose limits it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The source of the copy.
    pub source: HostAddr,
    /// The host that receives the copy.
    pub destination: HostAddr,
    /// Its own rate; none if it has none.
    pub most: Option<BitsPerSecond>,
    /// Whether its rate cannot be changed any more: an old cfw gets its rate once.
    pub is_fixed: bool,
}

/// One side of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HostSide {
    Sends(HostAddr),
    Receives(HostAddr),
}

impl Flow {
    fn ends(&self) -> [HostSide; 2] {
        [HostSide::Sends(self.source), HostSide::Receives(self.destination)]
    }
}

/// The rest of a limit, and how many flows share it.
#[derive(Clone, Copy, Debug)]
struct RemainingLimit {
    bits: u64,
    sharers: u64,
}

impl RemainingLimit {
    /// The rate for each sharer.
    fn share(self) -> u64 {
        self.bits.checked_div(self.sharers).unwrap_or(u64::MAX)
    }
}

/// The rate of each flow, in their order; none for one without a limit. `sends` and `receives` give the
/// limits of hosts.
pub fn split(
    flows: &[Flow],
    sends: impl Fn(HostAddr) -> Option<BitsPerSecond>,
    receives: impl Fn(HostAddr) -> Option<BitsPerSecond>,
) -> Vec<Option<BitsPerSecond>> {
    let limit = |end| match end {
        HostSide::Sends(host) => sends(host),
        HostSide::Receives(host) => receives(host),
    };
    let mut left: BTreeMap<HostSide, RemainingLimit> = BTreeMap::new();
    for end in flows.iter().flat_map(Flow::ends) {
        if let Some(limit) = limit(end) {
            left.entry(end).or_insert(RemainingLimit { bits: limit.0, sharers: 0 });
        }
    }
    for flow in flows {
        for end in flow.ends() {
            if let Some(left) = left.get_mut(&end) {
                if flow.is_fixed {
                    left.bits = left.bits.saturating_sub(flow.most.map_or(0, |most| most.0));
                } else {
                    left.sharers += 1;
                }
            }
        }
    }
    let mut rates: Vec<Option<BitsPerSecond>> = flows.iter().map(|flow| flow.most).collect();
    let mut rising: Vec<usize> = (0..flows.len()).filter(|&index| !flows[index].is_fixed).collect();
    while let Some(level) = rising.iter().filter_map(|&index| reaches(&flows[index], &left)).min() {
        // All sharers that reach their limit at this level are selected before anything is subtracted.
        let (stops, rises): (Vec<usize>, Vec<usize>) =
            rising.iter().partition(|&&index| reaches(&flows[index], &left) == Some(level));
        for index in stops {
            let rate = level.max(LEAST.0);
            rates[index] = Some(BitsPerSecond(rate));
            for end in flows[index].ends() {
                if let Some(left) = left.get_mut(&end) {
                    left.bits = left.bits.saturating_sub(rate);
                    left.sharers -= 1;
                }
            }
        }
        rising = rises;
    }
    rates
}

/// The rate that a flow can reach: its own rate, or its share of the rest of a host's limit.
fn reaches(flow: &Flow, left: &BTreeMap<HostSide, RemainingLimit>) -> Option<u64> {
    let shares = flow.ends().into_iter().filter_map(|end| Some(left.get(&end)?.share()));
    shares.chain(flow.most.map(|most| most.0)).min()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn host(number: u8) -> HostAddr {
        format!("10.0.0.{number}:80").parse().unwrap()
    }

    fn flow(source: u8, destination: u8, most: Option<u64>) -> Flow {
        let most = most.map(BitsPerSecond);
        Flow { source: host(source), destination: host(destination), most, is_fixed: false }
    }

    fn fixed(source: u8, destination: u8, most: u64) -> Flow {
        Flow { is_fixed: true, ..flow(source, destination, Some(most)) }
    }

    /// Limits by the last number of a host.
    fn split_with(flows: &[Flow], sends: &[(u8, u64)], receives: &[(u8, u64)]) -> Vec<Option<u64>> {
        let limit = |limits: &[(u8, u64)], of: HostAddr| {
            limits.iter().find(|(n, _)| host(*n) == of).map(|(_, bits)| BitsPerSecond(*bits))
        };
        let rates = split(flows, |of| limit(sends, of), |of| limit(receives, of));
        rates.into_iter().map(|rate| rate.map(|rate| rate.0)).collect()
    }

    #[test]
    fn without_limits_each_copy_has_its_own_rate() {
        let flows = [flow(1, 21, None), flow(1, 21, Some(5_000_000))];
        assert_eq!(split_with(&flows, &[], &[]), [None, Some(5_000_000)]);
    }

    #[test]
    fn a_host_limit_is_split_evenly_and_unused_parts_are_shared() {
        let flows = [flow(1, 21, None), flow(1, 22, None), flow(1, 23, Some(10_000))];
        let rates = split_with(&flows, &[(1, 90_000)], &[]);
        assert_eq!(rates, [Some(40_000), Some(40_000), Some(10_000)]);
    }

    #[test]
    fn the_narrowest_host_on_the_way_decides() {
        // Destination 21 is narrow: the part of source 1 that it cannot use is for 22.
        let flows = [flow(1, 21, None), flow(2, 21, None), flow(1, 22, None)];
        let rates = split_with(&flows, &[(1, 100_000)], &[(21, 40_000)]);
        assert_eq!(rates, [Some(20_000), Some(20_000), Some(80_000)]);
    }

    #[test]
    fn a_host_s_two_sides_have_limits_of_their_own() {
        let flows = [flow(1, 2, None), flow(2, 3, None)];
        let rates = split_with(&flows, &[(2, 50_000)], &[(2, 30_000)]);
        assert_eq!(rates, [Some(30_000), Some(50_000)]);
    }

    #[test]
    fn fixed_rates_are_reserved_first_and_no_other_copy_stops() {
        let flows = [fixed(1, 21, 70_000), flow(1, 22, None), flow(1, 23, None)];
        let rates = split_with(&flows, &[(1, 100_000)], &[]);
        assert_eq!(rates, [Some(70_000), Some(15_000), Some(15_000)]);
        let rates = split_with(&flows, &[(1, 60_000)], &[]);
        assert_eq!(rates, [Some(70_000), Some(LEAST.0), Some(LEAST.0)]);
    }

    fn flows() -> impl Strategy<Value = Vec<Flow>> {
        let most = proptest::option::of(1_000_000_u64..50_000_000);
        let one = (1_u8..5, 5_u8..9, most, 0_u8..8);
        proptest::collection::vec(one, 1..25).prop_map(|drawn| {
            let flow = |(source, destination, most, kind): (u8, u8, Option<u64>, u8)| {
                let is_fixed = kind == 0 && most.is_some();
                Flow { is_fixed, ..flow(source, destination, most) }
            };
            drawn.into_iter().map(flow).collect()
        })
    }

    proptest! {
        #[test]
        fn no_limit_is_exceeded_and_no_copy_could_have_more(
            flows in flows(),
            sends in proptest::collection::btree_map(1_u8..5, 2_000_000_000_u64..4_000_000_000, 0..4),
            receives in proptest::collection::btree_map(5_u8..9, 20_000_000_u64..90_000_000, 0..4),
            turned in any::<proptest::sample::Index>(),
        ) {
            let (sends, receives): (Vec<_>, Vec<_>) =
                (sends.into_iter().collect(), receives.into_iter().collect());
            let rates = split_with(&flows, &sends, &receives);
            let sum = |end: HostSide| -> u64 {
                let through = flows.iter().zip(&rates).filter(|(flow, _)| flow.ends().contains(&end));
                through.map(|(_, rate)| rate.unwrap_or(0)).sum()
            };
            let limits = sends.iter().map(|(n, limit)| (HostSide::Sends(host(*n)), *limit));
            let limits: BTreeMap<HostSide, u64> = limits
                .chain(receives.iter().map(|(n, limit)| (HostSide::Receives(host(*n)), *limit)))
                .collect();
            let fixed_on = |end: HostSide| -> u64 {
                let through = flows.iter().filter(|flow| flow.is_fixed && flow.ends().contains(&end));
                through.filter_map(|flow| flow.most).map(|most| most.0).sum()
            };
            // Rounding may lose less than a bit for each copy of a host.
            let slack = flows.len() as u64;
            for (end, limit) in &limits {
                let allowed = (*limit).max(fixed_on(*end)) + slack * LEAST.0;
                prop_assert!(sum(*end) <= allowed, "{end:?}: {} > {limit}", sum(*end));
                if fixed_on(*end) == 0 && limit / slack >= LEAST.0 {
                    prop_assert!(sum(*end) <= *limit, "{end:?}: {} > {limit}", sum(*end));
                }
            }
            for (flow, rate) in flows.iter().zip(&rates) {
                let at_own_rate = *rate == flow.most.map(|most| most.0);
                let mut ends = flow.ends().into_iter().filter(|end| limits.contains_key(end));
                // Held by a host whose limit is used up, where no other copy has a higher rate to give
                // up.
                let held = ends.any(|end| {
                    let sharers = flows.iter().zip(&rates).filter(|(other, _)| {
                        !other.is_fixed && other.ends().contains(&end)
                    });
                    let most = sharers.map(|(_, rate)| rate.unwrap_or(u64::MAX)).max();
                    sum(end) + slack >= limits[&end] && rate.unwrap_or(u64::MAX) + slack >= most.unwrap_or(0)
                });
                prop_assert!(at_own_rate || held, "{flow:?} has {rate:?}");
                prop_assert!(flow.is_fixed || rate.is_none_or(|rate| rate >= LEAST.0));
            }
            // The order of the copies decides nothing.
            let turn = turned.index(flows.len());
            let mut other_order = flows.clone();
            other_order.rotate_left(turn);
            let mut other_rates = split_with(&other_order, &sends, &receives);
            other_rates.rotate_right(turn);
            prop_assert_eq!(rates, other_rates);
        }
    }
}
