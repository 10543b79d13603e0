//! The feed of changes for its listeners: a ring of the last changes, in memory.
//!
//! A publisher never waits and does not know the listeners. A listener has no buffer of its own: it reads
//! from the ring at its own pace. A listener that falls behind gets a notice that it missed changes. So the
//! memory is bounded for any number of listeners. A listener that reconnects can continue at its old position
//! while the ring still has it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::clock::{Clock, Millis};
use crate::event::PieceId;

/// How many changes are kept.
const KEPT: usize = 4096;

/// The largest number of listeners at a time.
const MOST_LISTENERS: usize = 64;

/// Identifies one change of one process: `<start>-<number>`. The numbers of one process grow.
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

/// Publishes changes, and lets listeners follow them. Cheap to clone; clones share it. `C` is a change in its
/// public form.
pub struct Feed<C>(Arc<FeedInner<C>>);

impl<C> Clone for Feed<C> {
    fn clone(&self) -> Self {
        Feed(Arc::clone(&self.0))
    }
}

struct FeedInner<C> {
    start: i64,
    kept: usize,
    most_listeners: usize,
    ring: Mutex<ChangeRing<C>>,
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
    /// Whether its owner has applied every entry that this node had recorded when it started.
    is_current: bool,
}

struct ChangeRing<C> {
    changes: VecDeque<Arc<C>>,
    /// The number of the newest.
    newest: u64,
}

impl<C> ChangeRing<C> {
    /// The number of the oldest kept change, or of the next change if none is kept.
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
    /// The listener continues after a number that this process does not know. It gets a reset, and then every
    /// change that is kept.
    Lost,
}

impl<C> Feed<C> {
    /// A feed of a process that begins to publish now.
    pub fn new(clock: &Clock) -> Self {
        Feed::of_size(clock, KEPT, MOST_LISTENERS)
    }

    /// A feed that keeps `kept` changes and accepts at most `listeners` listeners.
    pub fn of_size(clock: &Clock, kept: usize, most_listeners: usize) -> Self {
        Feed(Arc::new(FeedInner {
            start: clock.now().0,
            kept: kept.max(1),
            most_listeners,
            ring: Mutex::new(ChangeRing { changes: VecDeque::new(), newest: 0 }),
            newest: watch::Sender::new(0),
            listeners: AtomicUsize::new(0),
            pieces: Mutex::default(),
        }))
    }

    /// Publishes the changes that an entry of the journal made in a piece. After a restart an owner applies
    /// entries of the log again. These, and entries from before this process, are not published. `leads` says
    /// whether the owner decides: it does so only after it has applied all of them. No clock is used for
    /// this, because it may have been set back.
    pub fn publish_applied(
        &self,
        piece: PieceId,
        entry: u64,
        leads: bool,
        changes: impl IntoIterator<Item = C>,
    ) {
        let mut pieces = self.0.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let position = pieces.entry(piece).or_default();
        position.is_current |= leads;
        let is_news = position.is_current && position.to < entry;
        position.to = position.to.max(entry);
        drop(pieces);
        if is_news {
            changes.into_iter().for_each(|change| self.publish(change));
        }
    }

    /// Later entries of this piece are newer than this node's start, on the leader and on followers.
    pub fn mark_current(&self, piece: PieceId) {
        let mut pieces = self.0.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.entry(piece).or_default().is_current = true;
    }

    /// Publishes a change. Never waits.
    pub fn publish(&self, change: C) {
        let event = Arc::new(change);
        let mut ring = self.0.lock();
        // Dropped unlocked, below.
        let oldest = (ring.changes.len() >= self.0.kept).then(|| ring.changes.pop_front());
        ring.changes.push_back(event);
        ring.newest += 1;
        let newest = ring.newest;
        drop(ring);
        drop(oldest);
        self.0.newest.send_if_modified(|seen| {
            // Two concurrent publications may arrive here in either order.
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
    pub fn listen(&self, begin: ListenFrom) -> Result<FeedListener<C>, TooManyListeners> {
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
        Ok(FeedListener { shared: Arc::clone(&self.0), newest, next, missed, has_read: begun })
    }
}

impl<C> FeedInner<C> {
    fn lock(&self) -> MutexGuard<'_, ChangeRing<C>> {
        // Nothing that panics happens under the lock.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self, number: u64) -> ChangeId {
        ChangeId { start: self.start, number }
    }
}

/// Publishes the changes of one owner, of type `N`, in a feed. The owner does not know the public form of the
/// changes. Cheap to clone.
pub struct FeedPublisher<N>(Arc<dyn PublishChange<N>>);

impl<N> Clone for FeedPublisher<N> {
    fn clone(&self) -> Self {
        FeedPublisher(Arc::clone(&self.0))
    }
}

impl<N> FeedPublisher<N> {
    /// See [`Feed::publish_applied`].
    pub fn publish_applied(
        &self,
        piece: PieceId,
        entry: u64,
        leads: bool,
        changes: &mut dyn Iterator<Item = (Millis, N)>,
    ) {
        self.0.publish_applied(piece, entry, leads, changes);
    }

    /// Publishes a change of `time`. Never waits.
    pub fn publish(&self, time: Millis, change: N) {
        self.0.publish(time, change);
    }
}

/// A feed, as an owner of changes `N` sees it.
trait PublishChange<N>: Send + Sync {
    fn publish_applied(
        &self,
        piece: PieceId,
        entry: u64,
        leads: bool,
        changes: &mut dyn Iterator<Item = (Millis, N)>,
    );

    fn publish(&self, time: Millis, change: N);
}

impl<N, C: From<(Millis, N)> + Send + Sync> PublishChange<N> for Feed<C> {
    fn publish_applied(
        &self,
        piece: PieceId,
        entry: u64,
        leads: bool,
        changes: &mut dyn Iterator<Item = (Millis, N)>,
    ) {
        Feed::publish_applied(self, piece, entry, leads, changes.map(C::from));
    }

    fn publish(&self, time: Millis, change: N) {
        Feed::publish(self, C::from((time, change)));
    }
}

impl<C: Send + Sync + 'static> Feed<C> {
    /// A publisher for an owner whose changes have a public form in this feed.
    pub fn publisher<N>(&self) -> FeedPublisher<N>
    where
        C: From<(Millis, N)>,
        N: 'static,
    {
        FeedPublisher(Arc::new(self.clone()))
    }
}

/// One item that a listener reads from the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem<C> {
    /// A listener that begins after it misses no change.
    pub id: ChangeId,
    /// A change, or the notice that some are missing.
    pub event: FeedEvent<C>,
}

/// Content of a [`FeedItem`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedEvent<C> {
    /// A published change in its public form.
    Change(Arc<C>),
    /// The listener missed changes. Later items follow.
    Missed(Missed),
}

impl<C> FeedEvent<C> {
    /// The change. None if the listener missed some.
    pub fn change(&self) -> Option<&C> {
        match self {
            FeedEvent::Change(change) => Some(change),
            FeedEvent::Missed(_) => None,
        }
    }
}

/// Why a listener missed changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// The id that the client sent is unknown to this process: the node was restarted, or it is
    /// another node.
    OtherProcess,
    /// The events after that id are no longer kept.
    TooOld,
    /// More changes happened than this reader took.
    TooSlow,
}

/// A registered listener, until it is dropped.
pub struct FeedListener<C> {
    shared: Arc<FeedInner<C>>,
    newest: watch::Receiver<u64>,
    /// The number of the next change to read.
    next: u64,
    /// The reset that the listener has not read yet.
    missed: Option<Missed>,
    /// Whether it was once within the ring. A gap after that means that the listener was too slow.
    has_read: bool,
}

impl<C> FeedListener<C> {
    /// Returns the next changes as soon as there are any: at least one, and at most `most`.
    pub async fn next(&mut self, most: usize) -> Vec<FeedItem<C>> {
        loop {
            // Registers before it reads the ring, so that no change in between is missed.
            self.newest.mark_unchanged();
            let items = self.read(most.max(1));
            if !items.is_empty() {
                return items;
            }
            // This handle keeps the sender alive.
            let _ = self.newest.changed().await;
        }
    }

    /// The number up to which the listener has read everything.
    pub fn received_up_to(&self) -> ChangeId {
        self.shared.id(self.next - 1)
    }

    fn read(&mut self, most: usize) -> Vec<FeedItem<C>> {
        let ring = self.shared.lock();
        if self.next < ring.oldest() {
            // A listener that was too slow does not continue at the oldest change, because it would be too
            // slow again at once.
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
            return vec![FeedItem { id: self.received_up_to(), event: FeedEvent::Missed(why) }];
        }
        let skipped = usize::try_from(self.next - ring.oldest()).unwrap_or(usize::MAX);
        let changes = ring.changes.iter().skip(skipped).take(most);
        let items: Vec<FeedItem<C>> = changes
            .zip(self.next..)
            .map(|(event, number)| FeedItem {
                id: self.shared.id(number),
                event: FeedEvent::Change(Arc::clone(event)),
            })
            .collect();
        drop(ring);
        self.next += items.len() as u64;
        items
    }
}

impl<C> Drop for FeedListener<C> {
    fn drop(&mut self) {
        self.shared.listeners.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1000;

    fn feed(kept: usize) -> Feed<u64> {
        Feed::of_size(&Clock::manual(Millis(START)), kept, 2)
    }

    fn publish(feed: &Feed<u64>, numbers: std::ops::RangeInclusive<u64>) {
        numbers.for_each(|number| feed.publish(number));
    }

    fn id(number: u64) -> ChangeId {
        ChangeId { start: START, number }
    }

    /// The numbers of the changes that can be read now, or the reason of a reset.
    fn read_all(listener: &mut FeedListener<u64>) -> Vec<Result<u64, Missed>> {
        let items = listener.read(100);
        let received = items.iter().map(|one| match &one.event {
            FeedEvent::Change(number) => {
                assert_eq!(one.id, id(**number));
                Ok(**number)
            }
            FeedEvent::Missed(why) => Err(*why),
        });
        received.collect()
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
    fn a_listener_receives_new_changes_and_after_a_pause_the_missed_ones() {
        let feed = feed(10);
        publish(&feed, 1..=3);
        let mut listener = feed.listen(ListenFrom::Now).unwrap();
        assert_eq!(read_all(&mut listener), []);
        assert_eq!(listener.received_up_to(), id(3));
        publish(&feed, 4..=5);
        assert_eq!(read_all(&mut listener), [Ok(4), Ok(5)]);
        assert_eq!(listener.received_up_to(), id(5));
        drop(listener);
        publish(&feed, 6..=7);
        let mut again = feed.listen(ListenFrom::After(id(5))).unwrap();
        assert_eq!(read_all(&mut again), [Ok(6), Ok(7)]);
        assert_eq!(read_all(&mut again), []);
        let mut from_start = feed.listen(ListenFrom::After(id(0))).unwrap();
        assert_eq!(read_all(&mut from_start).len(), 7);
    }

    #[test]
    fn a_gap_is_reported_once_before_the_next_changes() {
        let feed = feed(3);
        publish(&feed, 1..=5);
        let mut of_other =
            feed.listen(ListenFrom::After(ChangeId { start: 1, number: 4 })).unwrap();
        assert_eq!(read_all(&mut of_other), [Err(Missed::OtherProcess)]);
        assert_eq!(of_other.received_up_to(), id(2));
        assert_eq!(read_all(&mut of_other), [Ok(3), Ok(4), Ok(5)]);
        let mut too_old = feed.listen(ListenFrom::After(id(1))).unwrap();
        assert_eq!(read_all(&mut too_old), [Err(Missed::TooOld)]);
        assert_eq!(read_all(&mut too_old), [Ok(3), Ok(4), Ok(5)]);
        drop(of_other);
        let mut just = feed.listen(ListenFrom::After(id(2))).unwrap();
        assert_eq!(read_all(&mut just), [Ok(3), Ok(4), Ok(5)]);
        publish(&feed, 6..=20);
        assert_eq!(read_all(&mut just), [Err(Missed::TooSlow)]);
        publish(&feed, 21..=21);
        assert_eq!(read_all(&mut just), [Ok(21)]);
        drop((just, too_old));
        for unknown in [ListenFrom::Lost, ListenFrom::After(id(22))] {
            let mut lost = feed.listen(unknown).unwrap();
            assert_eq!(read_all(&mut lost), [Err(Missed::OtherProcess)], "{unknown:?}");
            assert_eq!(read_all(&mut lost), [Ok(19), Ok(20), Ok(21)], "{unknown:?}");
        }
    }

    #[test]
    fn an_entry_is_published_once_and_replayed_entries_never() {
        let feed = feed(10);
        let mut listener = feed.listen(ListenFrom::Now).unwrap();
        let masters = |files: u64| [files];
        feed.publish_applied(PieceId::Tasks, 5, false, masters(9));
        feed.publish_applied(PieceId::Tasks, 6, true, masters(1));
        feed.publish_applied(PieceId::Tasks, 6, true, masters(9));
        feed.publish_applied(PieceId::Tasks, 5, false, masters(9));
        // It leads no longer, or follows from the first.
        feed.publish_applied(PieceId::Tasks, 7, false, masters(2));
        feed.publish_applied(PieceId::Probe, 6, false, masters(9));
        feed.mark_current(PieceId::Probe);
        feed.publish_applied(PieceId::Probe, 7, false, masters(3));
        assert_eq!(read_all(&mut listener), [Ok(1), Ok(2), Ok(3)]);
    }

    #[test]
    fn an_idle_listener_does_not_grow_the_feed() {
        let feed = feed(3);
        let _idle = feed.listen(ListenFrom::Now).unwrap();
        publish(&feed, 1..=1000);
        assert_eq!(feed.0.lock().changes.len(), 3);
        assert_eq!(feed.published(), 1000);
    }

    #[test]
    fn only_so_many_may_listen() {
        let feed = feed(3);
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
        let feed = Feed::of_size(&clock, 100_000, 2);
        let mut listener = feed.listen(ListenFrom::Now).unwrap();
        let publishers: Vec<_> = (0..2)
            .map(|_| {
                let feed = feed.clone();
                tokio::task::spawn_blocking(move || {
                    (0..CHANGES / 2).for_each(|change| feed.publish(change));
                })
            })
            .collect();
        let mut last = 0;
        while last < CHANGES {
            for items in listener.next(7).await {
                assert_eq!(items.id, id(last + 1));
                last += 1;
            }
        }
        for publisher in publishers {
            publisher.await.unwrap();
        }
    }
}
