//! One pool as its leader sees it: the waiting requests, the wanted boxes, and the expected waits. In
//! memory, pure.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use reelyard_protocol::boxes::{BoxNumber, Holder};

use super::queue::{LeaseQueue, WaiterId};
use crate::box_lease::state::pools::pool::{BoxPhase, BoxRecord, Pool};

/// The shortest and the longest retry time for a refused caller.
const LEAST_RETRY: Duration = Duration::from_secs(1);
const MOST_RETRY: Duration = Duration::from_secs(60 * 60);

/// The weight of the newest hold in their mean: an eighth.
const NEWEST: u32 = 8;

/// The minimum number of steps within a rest that are distinguished.
const REST_STEPS: u32 = 64;

/// The pool's queue, and which of its boxes may be granted.
///
/// **Invariant:** `available` holds exactly the boxes that the table says may be granted and that are not
/// being granted.
#[derive(Clone, Debug, Default)]
pub struct PoolAllocator {
    /// The waiting requests.
    pub queue: LeaseQueue,
    /// How many boxes each holder waits for, including those that are being granted.
    pub asking: HolderDemand,
    /// The ids that may be drawn again.
    pub rests: SlotRests,
    /// The mean time for which boxes are held.
    pub pace: MeanHoldTime,
    /// Free boxes by the time when they became free: the box that is free for the longest time comes
    /// first.
    available: BTreeMap<u64, BoxNumber>,
    orders: HashMap<BoxNumber, u64>,
    granting: HashSet<BoxNumber>,
}

impl PoolAllocator {
    /// A box of the table may have changed.
    pub fn sync(&mut self, pool: &Pool, number: BoxNumber) {
        if let Some(order) = self.orders.remove(&number) {
            self.available.remove(&order);
        }
        let order = pool.may_grant(number).filter(|_| !self.granting.contains(&number));
        if let Some(order) = order {
            self.orders.insert(number, order);
            self.available.insert(order, number);
        }
    }

    /// All boxes of the table may have changed.
    pub fn sync_all(&mut self, pool: &Pool) {
        self.available.clear();
        self.orders.clear();
        for (number, _) in pool.boxes_from(BoxNumber(0)) {
            self.sync(pool, number);
        }
    }

    /// How many boxes may be granted.
    pub fn available(&self) -> usize {
        self.available.len()
    }

    /// Whether `count` boxes can be granted if this many more become free.
    pub fn can_grant(&self, pool: &Pool, count: u32, coming: usize) -> bool {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.available.len() + coming >= count && self.has_slots(pool, count)
    }

    fn has_slots(&self, pool: &Pool, count: usize) -> bool {
        let (Some(_), Some(slots)) = (&pool.spec().slots, pool.slots()) else { return true };
        slots.ready(self.rests.before) >= (self.granting.len() + count) as u64
    }

    /// Takes this many boxes for a grant, the box that is free for the longest time first.
    pub fn allocate(&mut self, count: u32, coming: Option<BoxNumber>) -> Vec<BoxNumber> {
        let mut taken: Vec<BoxNumber> = coming.into_iter().collect();
        while taken.len() < usize::try_from(count).unwrap_or(usize::MAX) {
            let Some((_, number)) = self.available.pop_first() else { break };
            self.orders.remove(&number);
            taken.push(number);
        }
        self.granting.extend(taken.iter().copied());
        taken
    }

    /// The outcome of a grant of a box is known.
    pub fn end_granting(&mut self, pool: Option<&Pool>, number: BoxNumber) {
        self.granting.remove(&number);
        if let Some(pool) = pool {
            self.sync(pool, number);
        }
    }

    /// The next request, and its number of boxes; requests for more than the pool can give are skipped.
    pub fn first(&self, pool: &Pool) -> Option<(WaiterId, u32)> {
        self.queue.first(usable(pool))
    }

    /// The waiting requests, in order, each with the sum of boxes up to and including it. The sum is none
    /// if a request wants more than the pool can give.
    pub fn wanted(&self, pool: &Pool) -> impl Iterator<Item = (WaiterId, Option<u64>)> {
        let usable = usable(pool);
        self.queue.all().scan(0, move |wanted, (waiter, count)| {
            let comes_round = count <= usable;
            *wanted += if comes_round { u64::from(count) } else { 0 };
            Some((waiter, comes_round.then_some(*wanted)))
        })
    }

    /// The same for the last request, with its place, in constant time; none if the answer needs the
    /// number of boxes of each request.
    pub fn wanted_by_last(&self, pool: &Pool) -> Option<(WaiterId, u64, u64)> {
        let all_come_round = pool.spec().size <= usable(pool);
        let last = self.queue.last().filter(|_| all_come_round)?;
        Some((last, self.queue.len() as u64, self.queue.wanted()))
    }

    /// The estimated time until a request is served, given how many boxes are wanted up to and including
    /// it.
    pub fn estimate(&self, pool: &Pool, wanted: u64) -> Option<Duration> {
        let usable = u64::from(usable(pool));
        let rounds = wanted.saturating_sub(self.available.len() as u64).checked_add(usable)?;
        let rounds = (rounds - 1).checked_div(usable)?;
        Some(self.pace.mean?.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX)))
    }

    /// When to repeat a request that met a full queue: when a place is likely to be free.
    pub fn retry_after(&self, pool: &Pool) -> Duration {
        let held = self.pace.mean.unwrap_or(pool.spec().ttl_default);
        (held / usable(pool).max(1)).clamp(LEAST_RETRY, MOST_RETRY)
    }
}

/// How many boxes can be granted again: those that stay and are not in quarantine.
fn usable(pool: &Pool) -> u32 {
    let (counts, size) = (pool.counts(), pool.spec().size);
    let quarantined = counts.of(BoxPhase::Quarantined);
    if quarantined == 0 || counts.all() == size {
        return size.saturating_sub(quarantined);
    }
    // Boxes that are to be removed are counted with the others.
    let stays = |(_, record): &(BoxNumber, &BoxRecord)| {
        !record.retiring && record.state.phase() != BoxPhase::Quarantined
    };
    pool.boxes_from(BoxNumber(0)).filter(stays).count().try_into().unwrap_or(u32::MAX)
}

/// How many boxes each holder requests.
#[derive(Clone, Debug, Default)]
pub struct HolderDemand(HashMap<Holder, u32>);

impl HolderDemand {
    /// How many boxes this holder requests.
    pub fn by(&self, holder: &Holder) -> u32 {
        self.0.get(holder).copied().unwrap_or(0)
    }

    /// Adds this many requested boxes.
    pub fn add(&mut self, holder: &Holder, count: u32) {
        *self.0.entry(holder.clone()).or_default() += count;
    }

    /// Subtracts this many requested boxes.
    pub fn subtract(&mut self, holder: &Holder, count: u32) {
        if let Some(asked) = self.0.get_mut(holder) {
            *asked = asked.saturating_sub(count);
            if *asked == 0 {
                self.0.remove(holder);
            }
        }
    }
}

/// How long boxes are held: a mean that weights the newest most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeanHoldTime {
    mean: Option<Duration>,
}

impl MeanHoldTime {
    /// Records how long a box was held.
    pub fn add(&mut self, held: Duration) {
        self.mean = Some(match self.mean {
            None => held,
            Some(mean) => mean.saturating_sub(mean / NEWEST).saturating_add(held / NEWEST),
        });
    }

    /// The mean, if any box was held.
    pub fn mean(&self) -> Option<Duration> {
        self.mean
    }
}

/// Ids up to this number have rested, by the monotonic clock. After a change of leader every rest begins
/// again.
#[derive(Clone, Debug, Default)]
pub struct SlotRests {
    /// Rests that had begun by an instant: all rests with lower numbers.
    begun: VecDeque<SlotRestBatch>,
    /// Rests with lower numbers are over.
    before: u64,
}

#[derive(Clone, Copy, Debug)]
struct SlotRestBatch {
    /// When the first of them began.
    first: Duration,
    /// When the last rest began.
    last: Duration,
    before: u64,
}

impl SlotRests {
    /// All rests with lower numbers than `before` have begun by `now`.
    pub fn begin(&mut self, before: u64, rest: Duration, now: Duration) {
        if self.begun.back().map_or(self.before, |begun| begun.before) >= before {
            return;
        }
        let step = rest / REST_STEPS;
        match self.begun.back_mut().filter(|begun| now < begun.first + step) {
            // Rests that end within one step count as one, so earlier ones rest slightly longer.
            Some(begun) => (begun.last, begun.before) = (now, before),
            None => self.begun.push_back(SlotRestBatch { first: now, last: now, before }),
        }
    }

    /// Checks which rests are over at `now`. Answers whether any ended.
    pub fn look(&mut self, rest: Duration, now: Duration) -> bool {
        let mut news = false;
        while let Some(begun) = self.begun.front().filter(|begun| begun.last + rest <= now) {
            self.before = begun.before;
            self.begun.pop_front();
            news = true;
        }
        news
    }

    /// When the next ones are over.
    pub fn next(&self, rest: Duration) -> Option<Duration> {
        self.begun.front().map(|begun| begun.last + rest)
    }

    /// Rests with lower numbers are over.
    pub fn before(&self) -> u64 {
        self.before
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_protocol::boxes::{HookOutput, PoolName};

    use super::*;
    use crate::box_lease::messages::Priority;
    use crate::box_lease::policy::memory::queue::LeaseQueuePosition;
    use crate::box_lease::samples::{self, granted, p, release};
    use crate::box_lease::state::box_table::BoxTable;
    use crate::box_lease::state::event::BoxEvent;
    use crate::box_lease::state::pools::spec::PoolSpec;

    fn table(size: u32) -> (BoxTable, PoolName) {
        let (mut table, pool) = (BoxTable::default(), PoolName::new("p").unwrap());
        let spec = Box::new(PoolSpec::of(0, size));
        table.apply(Millis(0), &BoxEvent::PoolPut { pool: pool.clone(), spec }).unwrap();
        (table, pool)
    }

    #[test]
    fn the_longest_free_box_is_taken_first_and_none_twice() {
        let (table, name) = table(3);
        let pool = table.pool(&name).unwrap();
        let mut allocator = PoolAllocator::default();
        allocator.sync_all(pool);
        assert!(allocator.can_grant(pool, 3, 0) && !allocator.can_grant(pool, 4, 0));
        assert!(allocator.can_grant(pool, 4, 1));
        assert_eq!(allocator.allocate(2, None), [0, 1].map(BoxNumber));
        // The table does not know of it yet.
        allocator.sync_all(pool);
        assert_eq!(allocator.available(), 1);
        assert_eq!(allocator.allocate(2, Some(BoxNumber(9))), [9, 2].map(BoxNumber));
        allocator.end_granting(Some(pool), BoxNumber(1));
        allocator.end_granting(Some(pool), BoxNumber(9));
        assert_eq!((allocator.available(), allocator.allocate(5, None)), (1, vec![BoxNumber(1)]));
    }

    #[test]
    fn boxes_that_go_do_not_come_round() {
        let sized = |size| {
            let spec = Box::new(PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(0, size) });
            BoxEvent::PoolPut { pool: p(), spec }
        };
        let mut table = samples::table(PoolSpec::of(0, 4));
        let tokens = [0, 1, 2, 3].map(|number| granted(&mut table, u128::from(number), number));
        let usable_now = |table: &BoxTable| usable(table.pool(&p()).unwrap());
        table.apply(Millis(0), &sized(2)).unwrap();
        assert_eq!(usable_now(&table), 2);
        table.apply(Millis(0), &release(0, tokens[0])).unwrap();
        let (pool, number, output) = (p(), BoxNumber(0), HookOutput::default());
        let out = BoxEvent::Quarantined { pool, number, cleaning: None, output, by: None };
        table.apply(Millis(0), &out).unwrap();
        assert_eq!(usable_now(&table), 1);
        table.apply(Millis(0), &sized(3)).unwrap();
        assert_eq!(usable_now(&table), 2);
    }

    #[test]
    fn an_estimate_is_in_rounds_of_recent_holds() {
        let (table, name) = table(4);
        let (pool, secs) = (table.pool(&name).unwrap(), Duration::from_secs);
        let mut allocator = PoolAllocator::default();
        assert_eq!((allocator.estimate(pool, 1), allocator.retry_after(pool)), (None, secs(15)));
        allocator.pace.add(secs(80));
        assert_eq!(allocator.pace.mean(), Some(secs(80)));
        allocator.pace.add(secs(160));
        assert_eq!(allocator.pace.mean(), Some(secs(90)));
        let estimates =
            [0, 1, 4, 5].map(|wanted| allocator.estimate(pool, wanted).unwrap().as_secs());
        assert_eq!(estimates, [0, 90, 90, 180]);
        assert_eq!(allocator.retry_after(pool), Duration::from_millis(22_500));
        allocator.sync_all(pool);
        assert_eq!(allocator.estimate(pool, 5), Some(secs(90)), "four are free");
    }

    #[test]
    fn the_last_position_is_unknown_while_large_requests_are_passed_over() {
        let (mut table, name) = table(2);
        let mut allocator = PoolAllocator::default();
        assert_eq!(allocator.wanted_by_last(table.pool(&name).unwrap()), None);
        for (waiter, count) in [(1, 2), (2, 1)] {
            let (id, came) = (WaiterId(waiter), Duration::from_secs(waiter));
            allocator
                .queue
                .push(LeaseQueuePosition::of(id, Priority::default(), came, came), count);
        }
        let pool = table.pool(&name).unwrap();
        assert_eq!(allocator.wanted_by_last(pool), Some((WaiterId(2), 2, 3)));
        assert_eq!(allocator.wanted(pool).last(), Some((WaiterId(2), Some(3))));
        let (number, output, by) = (BoxNumber(0), HookOutput::default(), Some("me".to_owned()));
        let out = BoxEvent::Quarantined { pool: name.clone(), number, cleaning: None, output, by };
        table.apply(Millis(0), &out).unwrap();
        assert_eq!(allocator.wanted_by_last(table.pool(&name).unwrap()), None);
    }

    #[test]
    fn a_rest_is_never_shorter_than_it_is_to_be() {
        let (ms, rest) = (Duration::from_millis, Duration::from_millis(640));
        let mut rests = SlotRests::default();
        rests.begin(3, rest, ms(0));
        rests.begin(4, rest, ms(9));
        rests.begin(4, rest, ms(10));
        rests.begin(6, rest, ms(10));
        assert_eq!((rests.look(rest, ms(648)), rests.before()), (false, 0));
        assert_eq!((rests.look(rest, ms(649)), rests.before()), (true, 4));
        assert_eq!(
            (rests.next(rest), rests.look(rest, ms(650)), rests.before()),
            (Some(ms(650)), true, 6)
        );
    }
}
