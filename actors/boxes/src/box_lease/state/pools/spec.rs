//! The wanted specification of a pool, by operators and the configuration. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{BoxNumber, HooksName, IdRange, PoolName, SlotId};
use serde::{Deserialize, Serialize};

/// The most boxes of a pool. Part of the event version.
pub const LARGEST_POOL: u32 = 65_536;

/// The most ids that boxes are drawn from. Part of the event version.
pub const MOST_SLOTS: u32 = 1_000_000;

/// The most labels of a pool. Part of the event version.
const MOST_LABELS: usize = 32;

/// The longest label, in bytes. Part of the event version.
const LONGEST_LABEL: usize = 200;

/// The shortest time that a specification may name. Part of the event version.
const SHORTEST_TIME: Duration = Duration::from_millis(1);

/// The longest wait that may be worth one step of priority. Part of the event version.
const LONGEST_AGEING: Duration = Duration::from_secs(24 * 60 * 60);

/// The most boxes that one request may have. Only decisions check it. No event depends on it.
pub const MOST_AT_ONCE: u32 = 256;

/// The specification of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// The number of the first box.
    pub first_id: BoxNumber,
    /// How many boxes there are.
    pub size: u32,
    /// The range of ids that holders see; none if a box always has its own number.
    pub slots: Option<SlotRange>,
    /// The worker that runs the hooks for the boxes; none for a purely logical pool.
    pub host: Option<HostAddr>,
    /// The name of these hooks in the configuration of the worker; the pool's own name if none.
    pub hooks: Option<HooksName>,
    /// Free labels for people and scripts.
    pub labels: BTreeMap<String, String>,
    /// The term of a lease if the request has none.
    pub ttl_default: Duration,
    /// The longest term without a renewal.
    pub ttl_max: Duration,
    /// The longest hold including all renewals; no limit if none.
    pub max_hold: Option<Duration>,
    /// The pause before the box of an expired or revoked lease is cleaned and granted again. Its holder may
    /// not know yet that the lease has ended.
    pub grace: Duration,
    /// How many requests may wait.
    pub queue_limit: u32,
    /// How many boxes one holder may have or wait for; 0 for any number.
    pub quota: u32,
    /// After this wait a request is as urgent as a new request of the next higher priority.
    pub priority_ages: Duration,
    /// How often a cleanup is tried before the box is taken out of use.
    pub clean_attempts: u32,
    /// The pause before a failed cleanup is repeated the first time. It doubles with each failure.
    pub clean_again_after: Duration,
    /// The longest pause before a failed cleanup is repeated.
    pub clean_again_at_most: Duration,
}

/// A range of ids that boxes draw, so that a late holder disturbs no other holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRange {
    /// The first id of the range.
    pub first: SlotId,
    /// How many ids the range has.
    pub count: u32,
    /// How long an id is not reused after its lease ended.
    pub rest: Duration,
}

/// Why a specification is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum BadSpec {
    /// Too many boxes, or numbers that are too large.
    #[error("a pool has at most {LARGEST_POOL} boxes, and their numbers are below 2^32")]
    Size,
    /// A range that has fewer ids than the pool has boxes, or is too large.
    #[error(
        "the range of ids must have at least one id for every box and at most {MOST_SLOTS}, all below 2^32"
    )]
    Slots,
    /// Hooks need a host.
    #[error("a pool without a host cannot have hooks")]
    HooksWithoutHost,
    /// A duration that makes no sense.
    #[error("ttl_default must be from 1 ms to ttl_max, and max_hold at least 1 ms")]
    Ttl,
    /// A time that gives no request precedence, or makes all priorities equal.
    #[error("priority_ages is from a millisecond to a day")]
    Ageing,
    /// No attempt at cleaning, or no pause between two attempts.
    #[error("a cleanup needs at least 1 try and a pause of at least 1 ms between tries")]
    Cleaning,
    /// Too many labels, or too long ones.
    #[error("a pool has at most {MOST_LABELS} labels, each of 1 to {LONGEST_LABEL} bytes")]
    Labels,
    /// It needs a host, and the pool has none.
    #[error("the pool has no host, so no hooks run for its boxes and no other pool can take them")]
    NoHost,
}

impl PoolSpec {
    /// A logical pool of `size` boxes from `first_id` on.
    pub fn of(first_id: u32, size: u32) -> Self {
        PoolSpec {
            first_id: BoxNumber(first_id),
            size,
            slots: None,
            host: None,
            hooks: None,
            labels: BTreeMap::new(),
            ttl_default: Duration::from_secs(60),
            ttl_max: Duration::from_secs(24 * 60 * 60),
            max_hold: None,
            grace: Duration::from_secs(5),
            queue_limit: 1000,
            quota: 0,
            priority_ages: Duration::from_secs(60),
            clean_attempts: 5,
            clean_again_after: Duration::from_secs(1),
            clean_again_at_most: Duration::from_secs(60),
        }
    }

    /// Whether a pool can have this specification. Part of the event version.
    pub fn check(&self) -> Result<(), BadSpec> {
        if self.size > LARGEST_POOL || self.first_id.0.checked_add(self.size).is_none() {
            return Err(BadSpec::Size);
        }
        if let Some(slots) = self.slots {
            let holds = (self.size.max(1)..=MOST_SLOTS).contains(&slots.count);
            if !holds || slots.first.0.checked_add(slots.count).is_none() {
                return Err(BadSpec::Slots);
            }
        }
        if self.hooks.is_some() && self.host.is_none() {
            return Err(BadSpec::HooksWithoutHost);
        }
        let ttl_holds = (SHORTEST_TIME..=self.ttl_max).contains(&self.ttl_default);
        if !ttl_holds || self.max_hold.is_some_and(|hold| hold < SHORTEST_TIME) {
            return Err(BadSpec::Ttl);
        }
        if !(SHORTEST_TIME..=LONGEST_AGEING).contains(&self.priority_ages) {
            return Err(BadSpec::Ageing);
        }
        if self.clean_attempts == 0 || self.clean_again_after < SHORTEST_TIME {
            return Err(BadSpec::Cleaning);
        }
        let fits = |text: &String| (1..=LONGEST_LABEL).contains(&text.len());
        let fit = self.labels.iter().all(|(key, value)| fits(key) && fits(value));
        if self.labels.len() > MOST_LABELS || !fit { Err(BadSpec::Labels) } else { Ok(()) }
    }

    /// Whether a box of this number belongs to it.
    pub fn holds(&self, number: BoxNumber) -> bool {
        number.0.checked_sub(self.first_id.0).is_some_and(|place| place < self.size)
    }

    /// The numbers of its boxes.
    pub fn numbers(&self) -> impl Iterator<Item = BoxNumber> + use<> {
        let first = self.first_id.0;
        (first..first.saturating_add(self.size)).map(BoxNumber)
    }

    /// The ids that its boxes have or may draw.
    pub fn ids(&self) -> IdRange {
        match self.slots {
            Some(slots) => IdRange { first: slots.first.0, count: slots.count },
            None => IdRange { first: self.first_id.0, count: self.size },
        }
    }

    /// The name of its hooks in the configuration of its host.
    pub fn hooks_name<'a>(&'a self, pool: &'a PoolName) -> &'a str {
        self.hooks.as_ref().map_or(pool.as_str(), HooksName::as_str)
    }

    /// Whether no hooks run for its boxes.
    pub fn is_logical(&self) -> bool {
        self.host.is_none()
    }

    /// The pause after this many failed cleanups.
    pub fn clean_again(&self) -> ExponentialBackoff {
        let cap = self.clean_again_at_most.max(self.clean_again_after);
        ExponentialBackoff { base: self.clean_again_after, cap }
    }

    /// Whether both run the same hooks on the same host, with ids of the same range.
    pub(in crate::box_lease) fn is_served_as(&self, other: &PoolSpec) -> bool {
        (self.host, &self.hooks) == (other.host, &other.hooks)
            && self.slots.map(|slots| (slots.first, slots.count))
                == other.slots.map(|slots| (slots.first, slots.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_every_limit() {
        let ms = Duration::from_millis;
        let check = |change: fn(&mut PoolSpec)| {
            let mut spec = PoolSpec::of(0, 8);
            change(&mut spec);
            spec.check().err()
        };
        assert_eq!(check(|_| ()), None);
        assert_eq!(check(|spec| spec.size = 0), None);
        assert_eq!(check(|spec| spec.size = LARGEST_POOL), None);
        assert_eq!(check(|spec| spec.size = LARGEST_POOL + 1), Some(BadSpec::Size));
        assert_eq!(check(|spec| spec.first_id = BoxNumber(u32::MAX - 8)), None);
        assert_eq!(check(|spec| spec.first_id = BoxNumber(u32::MAX - 7)), Some(BadSpec::Size));
        let slots = |spec: &mut PoolSpec, count| {
            spec.slots = Some(SlotRange { first: SlotId(5), count, rest: Duration::ZERO });
        };
        let with_slots = |count| {
            let mut spec = PoolSpec::of(0, 8);
            slots(&mut spec, count);
            spec.check().err()
        };
        assert_eq!([8, MOST_SLOTS].map(with_slots), [None, None]);
        assert_eq!(
            [7, MOST_SLOTS + 1].map(with_slots),
            [Some(BadSpec::Slots), Some(BadSpec::Slots)]
        );
        let hooks = |spec: &mut PoolSpec| spec.hooks = HooksName::new("isolate").ok();
        let mut spec = PoolSpec::of(0, 8);
        hooks(&mut spec);
        assert_eq!(spec.check(), Err(BadSpec::HooksWithoutHost));
        spec.host = "10.0.0.1:80".parse().ok();
        assert_eq!(spec.check(), Ok(()));
        assert_eq!(check(|spec| spec.ttl_default = Duration::ZERO), Some(BadSpec::Ttl));
        assert_eq!(check(|spec| spec.ttl_max = Duration::from_millis(59_999)), Some(BadSpec::Ttl));
        assert_eq!(check(|spec| spec.max_hold = Some(Duration::ZERO)), Some(BadSpec::Ttl));
        assert_eq!(check(|spec| spec.priority_ages = Duration::ZERO), Some(BadSpec::Ageing));
        assert_eq!(check(|spec| spec.clean_attempts = 0), Some(BadSpec::Cleaning));
        assert_eq!(check(|spec| spec.clean_again_after = Duration::ZERO), Some(BadSpec::Cleaning));
        let label = |spec: &mut PoolSpec| drop(spec.labels.insert("a".to_owned(), String::new()));
        spec = PoolSpec::of(0, 8);
        label(&mut spec);
        assert_eq!(spec.check(), Err(BadSpec::Labels));
        let again = PoolSpec::of(0, 8).clean_again();
        assert_eq!((again.after_failures(1), again.after_failures(3)), (ms(1000), ms(4000)));
    }

    #[test]
    fn a_pool_holds_its_range() {
        let spec = PoolSpec::of(3, 2);
        assert!(spec.numbers().eq([BoxNumber(3), BoxNumber(4)]));
        assert!([2, 5].iter().all(|number| !spec.holds(BoxNumber(*number))));
        assert!([3, 4].iter().all(|number| spec.holds(BoxNumber(*number))));
    }
}
