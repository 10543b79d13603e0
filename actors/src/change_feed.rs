//! The feed of changes for its listeners: a ring of the last changes, in memory.
//!
//! A publisher never waits and does not know the listeners. A listener has no buffer of its own: it reads
//! from the ring at its own pace. A listener that falls behind gets a notice that it has missed
//! something. So the memory is bounded for any number of listeners, and a listener that comes back can go
//! on where it was, for as long as the ring reaches.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::clock::{Clock, Millis};
use crate::event::PieceId;
use crate::wire::api::{Change, ChangeEvent, Missed, Reset};

/// How many changes are kept.
const KEPT: usize = 4096;

/// How many may listen at a time.
const MOST_LISTENERS: usize = 64;

/// Names one change of one process: `<start>-<number>`. Those of one process grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId {
    /// When the process began to publish, in Unix milliseconds.
    pub start: i64,
    /// Its position in the feed, counted from 1.
    pub number: u64,
}

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.number)
    }
}

/// A text that names no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not the id of a change: expected <start>-<number>")]
pub struct BadChangeId;

impl FromStr for ChangeId {
    type Err = BadChangeId;

    fn from_str(text: &str) -> Result<Self, BadChangeId> {
        let (start, number) = text.split_once('-').ok_or(BadChangeId)?;
        Ok(ChangeId {
            start: start.parse().map_err(|_| BadChangeId)?,
            number: number.parse().map_err(|_| BadChangeId)?,
        })
    }
}

/// The feed already has its maximum number of listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} clients follow the changes, which is the limit: close one and try again")]
pub struct TooManyListeners(pub usize);

/// Where changes are published and followed. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct ChangeFeed(Arc<ChangeFeedInner>);

struct ChangeFeedInner {
    start: i64,
    kept: usize,
    most_listeners: usize,
    ring: Mutex<ChangeRing>,
    /// The number of the newest change.
    newest: watch::Sender<u64>,
    listeners: AtomicUsize,
    /// How far the feed has published each piece of the journal.
    pieces: Mutex<BTreeMap<PieceId, PublishedPosition>>,
}

/// How far the feed has published one piece.
#[derive(Clone, Copy, Default)]
struct PublishedPosition {
    /// Up to which entry of the journal.
    to: u64,
    /// Whether its owner has applied every entry that this node had on record when it started.
    is_current: bool,
}

#[derive(Default)]
struct ChangeRing {
    changes: VecDeque<Arc<ChangeEvent>>,
    /// The number of the newest.
    newest: u64,
}

impl ChangeRing {
    /// The number of the oldest change that is kept, or of the next one when none is.
    fn oldest(&self) -> u64 {
        self.newest + 1 - self.changes.len() as u64
    }
}

/// The position at which a listener begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenFrom {
    /// Only changes that are published from now on.
    Now,
    /// With the changes after this number.
    After(ChangeId),
    /// After a number that this process does not know: the listener gets a reset, and then every change
    /// that is kept.
    Lost,
}

impl ChangeFeed {
    /// A feed of a process that begins to publish now.
    pub fn new(clock: &Clock) -> Self {
        ChangeFeed::of_size(clock, KEPT, MOST_LISTENERS)
    }

    /// A feed that keeps `kept` changes and takes `listeners` listeners at most.
    pub fn of_size(clock: &Clock, kept: usize, most_listeners: usize) -> Self {
        ChangeFeed(Arc::new(ChangeFeedInner {
            start: clock.now().0,
            kept: kept.max(1),
            most_listeners,
            ring: Mutex::default(),
            newest: watch::Sender::new(0),
            listeners: AtomicUsize::new(0),
            pieces: Mutex::default(),
        }))
    }

    /// Publishes the changes that an entry of the journal made in a piece. After a restart an owner
    /// applies entries again, from the log: those, and entries from before this process, are not
    /// published. `leads` says whether the owner decides: it does only once all of that is applied. No
    /// clock has a say in this: it may have been set back.
    pub fn publish_applied(
        &self,
        piece: PieceId,
        entry: u64,
        leads: bool,
        changes: impl IntoIterator<Item = (Millis, Change)>,
    ) {
        let mut pieces = self.0.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let told = pieces.entry(piece).or_default();
        told.is_current |= leads;
        let is_news = told.is_current && told.to < entry;
        told.to = told.to.max(entry);
        drop(pieces);
        if is_news {
            changes.into_iter().for_each(|(time, change)| self.publish(time, change));
        }
    }

    /// Entries of this piece that are applied from now on are newer than this node's start, on the leader
    /// and on followers.
    pub fn mark_current(&self, piece: PieceId) {
        let mut pieces = self.0.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.entry(piece).or_default().is_current = true;
    }

    /// Publishes a change of `time`. Never waits.
    pub fn publish(&self, time: Millis, change: Change) {
        let event = Arc::new(ChangeEvent { time, change });
        let mut ring = self.0.lock();
        // Dropped unlocked, below.
        let oldest = (ring.changes.len() >= self.0.kept).then(|| ring.changes.pop_front());
        ring.changes.push_back(event);
        ring.newest += 1;
        let newest = ring.newest;
        drop(ring);
        drop(oldest);
        self.0.newest.send_if_modified(|seen| {
            // Two that publish at once may come here in either order.
            let is_newer = *seen < newest;
            *seen = newest.max(*seen);
            is_newer
        });
    }

    /// The number of listeners, for the metrics.
    pub fn listeners(&self) -> usize {
        self.0.listeners.load(Ordering::Relaxed)
    }

    /// How many changes were published.
    pub fn published(&self) -> u64 {
        self.0.lock().newest
    }

    /// Registers a listener that reads from `begin` on.
    pub fn listen(&self, begin: ListenFrom) -> Result<ChangeListener, TooManyListeners> {
        let most = self.0.most_listeners;
        let taken = self.0.listeners.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| {
            (count < most).then_some(count + 1)
        });
        taken.map_err(|_| TooManyListeners(most))?;
        let newest = self.0.newest.subscribe();
        let (oldest, next) = {
            let ring = self.0.lock();
            (ring.oldest(), ring.newest + 1)
        };
        let (next, missed) = match begin {
            ListenFrom::Now => (next, None),
            ListenFrom::After(id) if id.start == self.0.start && id.number < next => {
                (id.number + 1, None)
            }
            // Changes that this process published meanwhile are still in the ring.
            ListenFrom::After(_) | ListenFrom::Lost => (oldest, Some(Missed::OtherProcess)),
        };
        let begun = matches!(begin, ListenFrom::Now);
        Ok(ChangeListener { shared: Arc::clone(&self.0), newest, next, missed, has_read: begun })
    }
}

impl ChangeFeedInner {
    fn lock(&self) -> MutexGuard<'_, ChangeRing> {
        // Nothing that panics happens under the lock.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self, number: u64) -> ChangeId {
        ChangeId { start: self.start, number }
    }
}

/// One item that a listener reads from the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedChange {
    /// A listener that begins after it misses nothing.
    pub id: ChangeId,
    /// The change in its public form.
    pub event: Arc<ChangeEvent>,
}

/// A registered listener, until it is dropped.
pub struct ChangeListener {
    shared: Arc<ChangeFeedInner>,
    newest: watch::Receiver<u64>,
    /// The number of the next change to read.
    next: u64,
    /// The reset that the listener has not read yet.
    missed: Option<Missed>,
    /// Whether it was within the ring once: a gap after that means that the listener was too slow.
    has_read: bool,
}

impl ChangeListener {
    /// The next changes as soon as there are any: at least one, and at most `most`.
    pub async fn next(&mut self, clock: &Clock, most: usize) -> Vec<ReceivedChange> {
        loop {
            // Before the ring is looked at, so that nothing that comes meanwhile is slept through.
            self.newest.mark_unchanged();
            let heard = self.read(clock, most.max(1));
            if !heard.is_empty() {
                return heard;
            }
            // The sender lives as long as this.
            let _ = self.newest.changed().await;
        }
    }

    /// The number up to which the listener has read everything.
    pub fn received_up_to(&self) -> ChangeId {
        self.shared.id(self.next - 1)
    }

    fn read(&mut self, clock: &Clock, most: usize) -> Vec<ReceivedChange> {
        let ring = self.shared.lock();
        if self.next < ring.oldest() {
            // A listener that was too slow does not begin at the oldest change: it would be too slow
            // again at once.
            let (why, next) = match self.has_read {
                true => (Missed::TooSlow, ring.newest + 1),
                false => (Missed::TooOld, ring.oldest()),
            };
            self.missed.get_or_insert(why);
            self.next = next;
        }
        self.has_read = true;
        if let Some(why) = self.missed.take() {
            drop(ring);
            let event = ChangeEvent {
                time: clock.now(),
                change: Change::Reset(Reset { why, first: None }),
            };
            return vec![ReceivedChange { id: self.received_up_to(), event: Arc::new(event) }];
        }
        let skipped = usize::try_from(self.next - ring.oldest()).unwrap_or(usize::MAX);
        let changes = ring.changes.iter().skip(skipped).take(most);
        let heard: Vec<ReceivedChange> = changes
            .zip(self.next..)
            .map(|(event, number)| ReceivedChange {
                id: self.shared.id(number),
                event: Arc::clone(event),
            })
            .collect();
        drop(ring);
        self.next += heard.len() as u64;
        heard
    }
}

impl Drop for ChangeListener {
    fn drop(&mut self) {
        self.shared.listeners.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::api::{InputChange, LeadershipChange};

    const START: i64 = 1000;

    fn feed(kept: usize) -> (ChangeFeed, Clock) {
        let clock = Clock::manual(Millis(START));
        (ChangeFeed::of_size(&clock, kept, 2), clock)
    }

    fn publish(feed: &ChangeFeed, numbers: std::ops::RangeInclusive<u64>) {
        for files in numbers {
            feed.publish(Millis(START), Change::Input(InputChange::Masters { files }));
        }
    }

    fn id(number: u64) -> ChangeId {
        ChangeId { start: START, number }
    }

    /// The numbers of the changes that can be read now, or the reason of a reset.
    fn heard(listener: &mut ChangeListener, clock: &Clock) -> Vec<Result<u64, Missed>> {
        let heard = listener.read(clock, 100);
        let told = heard.iter().map(|one| match &one.event.change {
            Change::Input(InputChange::Masters { files }) => {
                assert_eq!(one.id, id(*files));
                Ok(*files)
            }
            Change::Reset(reset) => Err(reset.why),
            other => panic!("{other:?}"),
        });
        told.collect()
    }

    #[test]
    fn an_id_is_read_as_it_is_written() {
        assert_eq!(id(7).to_string(), "1000-7");
        assert_eq!("1000-7".parse(), Ok(id(7)));
        for bad in ["", "7", "1000-", "-7", "x-7", "1000-x", "1000-7-"] {
            assert_eq!(bad.parse::<ChangeId>(), Err(BadChangeId), "{bad}");
        }
    }

    #[test]
    fn who_listens_hears_what_comes_and_who_comes_back_what_came_meanwhile() {
        let (feed, clock) = feed(10);
        publish(&feed, 1..=3);
        let mut listener = feed.listen(ListenFrom::Now).unwrap();
        assert_eq!(heard(&mut listener, &clock), []);
        assert_eq!(listener.received_up_to(), id(3));
        publish(&feed, 4..=5);
        assert_eq!(heard(&mut listener, &clock), [Ok(4), Ok(5)]);
        assert_eq!(listener.received_up_to(), id(5));
        drop(listener);
        publish(&feed, 6..=7);
        let mut again = feed.listen(ListenFrom::After(id(5))).unwrap();
        assert_eq!(heard(&mut again, &clock), [Ok(6), Ok(7)]);
        assert_eq!(heard(&mut again, &clock), []);
        let mut from_start = feed.listen(ListenFrom::After(id(0))).unwrap();
        assert_eq!(heard(&mut from_start, &clock).len(), 7);
    }

    #[test]
    fn what_was_missed_is_told_once_and_then_what_comes() {
        let (feed, clock) = feed(3);
        publish(&feed, 1..=5);
        let mut of_other =
            feed.listen(ListenFrom::After(ChangeId { start: 1, number: 4 })).unwrap();
        assert_eq!(heard(&mut of_other, &clock), [Err(Missed::OtherProcess)]);
        assert_eq!(of_other.received_up_to(), id(2));
        assert_eq!(heard(&mut of_other, &clock), [Ok(3), Ok(4), Ok(5)]);
        let mut too_old = feed.listen(ListenFrom::After(id(1))).unwrap();
        assert_eq!(heard(&mut too_old, &clock), [Err(Missed::TooOld)]);
        assert_eq!(heard(&mut too_old, &clock), [Ok(3), Ok(4), Ok(5)]);
        drop(of_other);
        let mut just = feed.listen(ListenFrom::After(id(2))).unwrap();
        assert_eq!(heard(&mut just, &clock), [Ok(3), Ok(4), Ok(5)]);
        publish(&feed, 6..=20);
        assert_eq!(heard(&mut just, &clock), [Err(Missed::TooSlow)]);
        publish(&feed, 21..=21);
        assert_eq!(heard(&mut just, &clock), [Ok(21)]);
        drop((just, too_old));
        for unknown in [ListenFrom::Lost, ListenFrom::After(id(22))] {
            let mut lost = feed.listen(unknown).unwrap();
            assert_eq!(heard(&mut lost, &clock), [Err(Missed::OtherProcess)], "{unknown:?}");
            assert_eq!(heard(&mut lost, &clock), [Ok(19), Ok(20), Ok(21)], "{unknown:?}");
        }
    }

    #[test]
    fn an_entry_is_told_once_and_what_was_on_record_before_the_process_never() {
        let (feed, clock) = feed(10);
        let mut listener = feed.listen(ListenFrom::Now).unwrap();
        let masters = |files| [(Millis(START), Change::Input(InputChange::Masters { files }))];
        feed.publish_applied(PieceId::Tasks, 5, false, masters(9));
        feed.publish_applied(PieceId::Tasks, 6, true, masters(1));
        feed.publish_applied(PieceId::Tasks, 6, true, masters(9));
        feed.publish_applied(PieceId::Tasks, 5, false, masters(9));
        // It leads no longer, or follows from the first.
        feed.publish_applied(PieceId::Tasks, 7, false, masters(2));
        feed.publish_applied(PieceId::Probe, 6, false, masters(9));
        feed.mark_current(PieceId::Probe);
        feed.publish_applied(PieceId::Probe, 7, false, masters(3));
        assert_eq!(heard(&mut listener, &clock), [Ok(1), Ok(2), Ok(3)]);
    }

    #[test]
    fn what_is_applied_is_told_however_far_the_clock_was_set_back() {
        let (feed, clock) = feed(10);
        let mut listener = feed.listen(ListenFrom::Now).unwrap();
        let change = Change::Input(InputChange::Masters { files: 1 });
        feed.publish_applied(PieceId::Tasks, 5, true, [(Millis(START - 900), change)]);
        assert_eq!(heard(&mut listener, &clock), [Ok(1)]);
    }

    #[test]
    fn memory_is_bounded_whoever_listens() {
        let (feed, _) = feed(3);
        let _idle = feed.listen(ListenFrom::Now).unwrap();
        publish(&feed, 1..=1000);
        assert_eq!(feed.0.lock().changes.len(), 3);
        assert_eq!(feed.published(), 1000);
    }

    #[test]
    fn only_so_many_may_listen() {
        let (feed, _) = feed(3);
        let first = feed.listen(ListenFrom::Now).unwrap();
        let _second = feed.listen(ListenFrom::Now).unwrap();
        assert_eq!(feed.listen(ListenFrom::Now).err(), Some(TooManyListeners(2)));
        drop(first);
        assert_eq!(feed.listeners(), 1);
        feed.listen(ListenFrom::Now).unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_is_slept_through() {
        const CHANGES: u64 = 20_000;
        let clock = Clock::manual(Millis(START));
        let feed = ChangeFeed::of_size(&clock, 100_000, 2);
        let mut listener = feed.listen(ListenFrom::Now).unwrap();
        let publishers: Vec<_> = (0..2)
            .map(|_| {
                let feed = feed.clone();
                tokio::task::spawn_blocking(move || {
                    let change = LeadershipChange { leader: None, epoch: None };
                    for _ in 0..CHANGES / 2 {
                        feed.publish(Millis(0), Change::Leadership(change.clone()));
                    }
                })
            })
            .collect();
        let mut last = 0;
        while last < CHANGES {
            for heard in listener.next(&clock, 7).await {
                assert_eq!(heard.id, id(last + 1));
                last += 1;
            }
        }
        for publisher in publishers {
            publisher.await.unwrap();
        }
    }
}
