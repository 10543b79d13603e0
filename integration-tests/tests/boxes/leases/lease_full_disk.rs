//! Boxes while no commit is possible: on a disk that is really full, and with a store that does not write.
//! Waiting clients get a correct answer, nothing is granted twice, and the work resumes without help.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use reelyard_boxes::box_lease::{
    AcquireProgress, Acquisition, BoxError, BoxLeaseRequest, BoxLeaseSettings, BoxPhase,
    BoxRefusal, Grant, LeaseEnd, PoolSpec, Priority, RenewLease,
};
use reelyard_core::clock::Clock;
use reelyard_core::event::{PieceId, RequestId};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::boxes::box_yard::{
    BoxYard, START, ScriptedHosts, ask, hosted, nth_token, one, p, refused, seconds,
};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_journal::{Journal, JournalOptions, NoPeers, StoreObserver};
use reelyard_protocol::boxes::FenceToken;
use reelyard_replication::CommitError;

const DISK_MEBIBYTES: u64 = 48;
const RESERVE: u64 = 12 << 20;

/// The longest pause after a commit without an outcome.
const PAUSE: Duration = Duration::from_secs(5);

/// The time after which a commit in progress counts as unknown.
const UNKNOWN_AFTER: Duration = Duration::from_secs(2);

async fn open(settings: JournalOptions, clock: &Clock) -> BoxYard {
    let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Boxes]).await.unwrap();
    let yard =
        BoxYard::start(journal, clock, BoxLeaseSettings::default(), ScriptedHosts::default());
    eventually("this node leads", || yard.views.view().epoch.is_some()).await;
    yard
}

async fn on_small_disk(dir: &Path, clock: &Clock) -> BoxYard {
    open(JournalOptions { reserve: RESERVE, ..JournalOptions::alone(dir, 1) }, clock).await
}

fn spec(size: u32) -> PoolSpec {
    PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(0, size) }
}

fn named(name: &str, wait: u64) -> BoxLeaseRequest {
    BoxLeaseRequest { request: Some(RequestId::of(name, b"a box")), ..ask("a", wait) }
}

async fn is_full(yard: &BoxYard) {
    eventually("the full disk is noticed", || yard.journal.disk_full().is_some()).await;
}

async fn has_room(yard: &BoxYard) {
    eventually("there is room", || yard.journal.disk_full().is_none()).await;
}

fn on_full_disk<T: std::fmt::Debug>(answer: Result<T, BoxError>) {
    let is_so = matches!(&answer, Err(BoxError::Journal(CommitError::DiskFull { .. })));
    assert!(is_so, "{answer:?}");
}

/// Waits for the answer and moves the clock as far as necessary: a failed commit is tried again only after a
/// pause.
async fn answered(yard: &BoxYard, mut waiting: Acquisition) -> Result<Grant, BoxError> {
    loop {
        let tried = yard.views.view().uncommitted;
        yard.advance(PAUSE).await;
        let answer = eventually_some("its wait ends, or it is tried in vain", || {
            let answer = (&mut waiting).now_or_never();
            let is_tried = answer.is_some() || yard.views.view().uncommitted > tried;
            std::future::ready(is_tried.then_some(answer))
        });
        if let Some(answer) = answer.await {
            return answer;
        }
    }
}

fn totals(yard: &BoxYard) -> (u64, u64) {
    let totals = yard.views.pool(&p()).unwrap().totals;
    (totals.granted, totals.ended.iter().sum())
}

#[test]
fn on_a_full_disk_a_waiting_client_gets_an_error_or_box() {
    let dir = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(dir.path(), DISK_MEBIBYTES);
    on_a_system(async {
        let clock = Clock::manual(START);
        let yard = on_small_disk(dir.path(), &clock).await;
        yard.put(spec(2)).await;
        disk.fill();
        is_full(&yard).await;
        for _ in 0..2 {
            on_full_disk(yard.acquire(ask("b", 0)).await);
        }
        let more = yard.acquire(BoxLeaseRequest { count: 2, ..ask("b", 0) });
        on_full_disk(more.await);
        // The actor tries nothing during the pause. A request that arrives meanwhile gets its place in the
        // queue.
        let waiting = yard.acquire(named("n", 600));
        let again = yard.acquire(named("n", 600));
        let brief = yard.acquire(ask("c", 5));
        let place = brief.progress();
        let shown = |position| AcquireProgress::Waiting { position, estimate: None };
        eventually("it gets its position", || *place.borrow() == shown(2)).await;
        let priority = Priority::try_from(9).unwrap();
        let urgent = yard.acquire(BoxLeaseRequest { priority, ..ask("e", 600) });
        let first = urgent.progress();
        // Progress is sent ten times a second.
        yard.advance(Duration::from_millis(100)).await;
        eventually("it is the first", || *first.borrow() == shown(1)).await;
        eventually("there is one more before it", || *place.borrow() == shown(3)).await;
        drop(urgent);
        // Its wait ends while the disk is still full.
        yard.until_waiting(2).await;
        let behind = yard.acquire(ask("d", 0)).await;
        assert!(matches!(behind, Err(BoxError::TimedOut { .. })), "{behind:?}");
        yard.advance(seconds(5)).await;
        on_full_disk(brief.await);
        yard.until_waiting(1).await;
        let tried = yard.views.view().uncommitted;
        yard.advance(PAUSE).await;
        eventually("it is tried again", || yard.views.view().uncommitted > tried).await;
        yard.until_waiting(1).await;
        assert_eq!((totals(&yard), yard.count(BoxPhase::Free)), ((0, 0), 2));

        disk.clear();
        has_room(&yard).await;
        let lease = one(answered(&yard, waiting).await);
        assert_eq!((lease.token, one(again.await).id), (nth_token(1), lease.id));
        assert_eq!(one(yard.acquire(named("n", 0)).await).id, lease.id);
        assert_eq!((totals(&yard), yard.count(BoxPhase::Leased)), ((1, 0), 1));
        yard.close().await;
    });
}

#[test]
fn a_failed_commit_leaves_lease_and_box_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(dir.path(), DISK_MEBIBYTES);
    on_a_system(async {
        let clock = Clock::manual(START);
        let yard = on_small_disk(dir.path(), &clock).await;
        yard.put(spec(2)).await;
        let (kept, over) = (yard.take("a").await, yard.take("b").await);
        yard.renew(&kept).await.unwrap();
        disk.fill();
        is_full(&yard).await;
        on_full_disk(yard.release(&kept).await);
        on_full_disk(yard.renew(&kept).await);
        let next = yard.acquire(ask("c", 600));
        yard.until_waiting(1).await;
        // Its term is over and the holder is informed. The lease is valid until that is on record.
        yard.advance(seconds(60)).await;
        assert_eq!(refused(yard.renew(&over).await), BoxRefusal::Expired);
        for _ in 0..3 {
            yard.advance(PAUSE).await;
        }
        assert_eq!((yard.verify(&kept), yard.verify(&over)), (Ok(()), Ok(())));
        assert_eq!((totals(&yard), yard.count(BoxPhase::Leased)), ((2, 0), 2));

        disk.clear();
        has_room(&yard).await;
        let next = one(answered(&yard, next).await);
        assert_eq!(next.token, nth_token(3));
        for lease in [&kept, &over] {
            assert_eq!(yard.ended(lease).await, BoxRefusal::Expired);
        }
        yard.until(BoxPhase::Free, 1).await;
        assert_eq!(totals(&yard), (3, 2));
        yard.close().await;
    });
}

#[test]
fn on_a_full_disk_a_stopping_leader_answers_waiting_clients() {
    let dir = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(dir.path(), DISK_MEBIBYTES);
    on_a_system(async {
        let clock = Clock::manual(START);
        let yard = on_small_disk(dir.path(), &clock).await;
        yard.put(spec(1)).await;
        disk.fill();
        is_full(&yard).await;
        let waiting = yard.acquire(named("n", 600));
        eventually("it is tried", || yard.views.view().uncommitted > 0).await;
        yard.close().await;
        assert_eq!(waiting.await, Err(BoxError::LeaderChanged));
        // The next actor starts on the full disk, and continues once there is space.
        let yard = on_small_disk(dir.path(), &clock).await;
        assert_eq!(totals(&yard), (0, 0));
        let waiting = yard.acquire(named("n", 600));
        eventually("it is tried", || yard.views.view().uncommitted > 0).await;
        disk.clear();
        has_room(&yard).await;
        assert_eq!(one(answered(&yard, waiting).await).token, nth_token(1));
        assert_eq!(totals(&yard), (1, 0));
        yard.close().await;
    });
}

/// A store that does not write while it is closed. Clones share the gate.
#[derive(Clone, Debug, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn shut(&self) -> MutexGuard<'_, bool> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, shut: bool) {
        *self.shut() = shut;
        self.0.1.notify_all();
    }
}

impl StoreObserver for Gate {
    fn store_synced(&self) {
        let open = self.0.1.wait_while(self.shut(), |shut| *shut);
        drop(open.unwrap_or_else(PoisonError::into_inner));
    }

    fn mark_synced(&self) {}
}

/// Opens the gate at the end of every test: otherwise the journal's thread would wait without end.
struct Opens(Gate);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

async fn behind(gate: &Gate, dir: &Path, commit_timeout: Duration, spec: PoolSpec) -> BoxYard {
    let observer: Option<Arc<dyn StoreObserver>> = Some(Arc::new(gate.clone()));
    let settings = JournalOptions { observer, commit_timeout, ..JournalOptions::alone(dir, 1) };
    let yard = open(settings, &Clock::manual(START)).await;
    let size = spec.size;
    yard.put(spec).await;
    yard.until(BoxPhase::Free, size).await;
    yard
}

fn is_unknown<T>(answer: &Result<T, BoxError>) -> bool {
    matches!(answer, Err(BoxError::Journal(CommitError::Unknown { .. })))
}

#[test]
fn a_possible_grant_without_a_request_id_is_reported_and_withdrawn() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let gate = Gate::default();
        let _opens = Opens(gate.clone());
        let yard = behind(&gate, dir.path(), UNKNOWN_AFTER, spec(1)).await;
        gate.set(true);
        assert!(is_unknown(&yard.acquire(ask("a", 600)).await));
        // No other client gets its box, and the actor does not try that either.
        yard.advance(PAUSE).await;
        let other = yard.acquire(ask("b", 0)).await;
        assert!(matches!(other, Err(BoxError::TimedOut { .. })), "{other:?}");
        let next = yard.acquire(ask("c", 600));
        yard.until_waiting(1).await;
        gate.set(false);
        assert_eq!(one(answered(&yard, next).await).token, nth_token(2));
        let totals = yard.views.pool(&p()).unwrap().totals;
        assert_eq!((totals.granted, totals.ended(LeaseEnd::NotTaken)), (2, 1));
        yard.close().await;
    });
}

fn a_repeated_request_gets_the_same_answer(spec: PoolSpec) {
    let dir = tempfile::tempdir().unwrap();
    let token = if spec.is_logical() { nth_token } else { FenceToken };
    on_a_system(async {
        let gate = Gate::default();
        let _opens = Opens(gate.clone());
        let yard = behind(&gate, dir.path(), UNKNOWN_AFTER, spec).await;
        gate.set(true);
        assert!(is_unknown(&yard.acquire(named("n", 600)).await));
        let again = yard.acquire(named("n", 600));
        let next = yard.acquire(ask("b", 600));
        yard.until_waiting(2).await;
        gate.set(false);
        let lease = one(answered(&yard, again).await);
        assert_eq!((lease.token, yard.verify(&lease)), (token(1), Ok(())));
        yard.until_waiting(1).await;
        assert_eq!(totals(&yard), (1, 0));
        // The client with the answer has the box, and its release serves the next one.
        yard.release(&lease).await.unwrap();
        assert_eq!(one(answered(&yard, next).await).token, token(2));
        yard.close().await;
    });
}

#[test]
fn a_possible_named_grant_is_reported_to_an_early_repetition() {
    a_repeated_request_gets_the_same_answer(spec(1));
}

#[test]
fn a_possible_named_grant_is_initialized_for_an_early_repetition() {
    a_repeated_request_gets_the_same_answer(hosted(1));
}

#[test]
fn a_client_that_waits_for_an_overloaded_journal_is_served_later() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let gate = Gate::default();
        let _opens = Opens(gate.clone());
        let yard = behind(&gate, dir.path(), Duration::from_secs(600), spec(2)).await;
        let held = yard.take("h").await;
        gate.set(true);
        // As many as necessary, a few at a time, because the mailbox of the actor is small.
        let renew = RenewLease { lease: held.id, token: held.token, ttl: None };
        let mut renewals = Vec::new();
        while yard.journal.status().refused_busy == 0 {
            for _ in 0..8 {
                let mut renewal = Box::pin(yard.actor.send(renew));
                assert!(renewal.as_mut().now_or_never().is_none());
                renewals.push(renewal);
            }
            yard.look().await;
        }
        let busy = yard.acquire(ask("b", 0)).await;
        let is_so = matches!(busy, Err(BoxError::Journal(CommitError::Busy { .. })));
        assert!(is_so, "{busy:?}");
        let waiting = yard.acquire(named("n", 600));
        let tried = yard.views.view().uncommitted;
        yard.advance(PAUSE).await;
        eventually("it is tried in vain", || yard.views.view().uncommitted > tried).await;
        yard.until_waiting(1).await;
        assert_eq!(totals(&yard), (1, 0));
        gate.set(false);
        let lease = one(answered(&yard, waiting).await);
        assert_eq!((lease.token, totals(&yard)), (nth_token(2), (2, 0)));
        for renewal in renewals {
            let renewed = renewal.await.unwrap();
            let is_so =
                matches!(&renewed, Ok(_) | Err(BoxError::Journal(CommitError::Busy { .. })));
            assert!(is_so, "{renewed:?}");
        }
        yard.close().await;
    });
}
