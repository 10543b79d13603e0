//! A piece and its owner for tests of the journal: transfers between accounts, each in two events. The
//! balances show a commit that was lost, repeated or applied in part.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::prelude::*;
use reelyard_core::clock::Millis;
use reelyard_core::event::{Epoch, PieceId, RequestId};
use reelyard_core::secret_id::IdSource;
use reelyard_journal::{Journal, JournalOptions};
use reelyard_replication::{
    CommitError, FrozenPiece, JournalCommand, Outcomes, Piece, ReplicaHandle, ReplicatedLog,
    RequestContext, StateChange, UnreadableEvent,
};
use serde::{Deserialize, Serialize};

/// Accounts with their balances, and the transfers in order.
#[derive(Clone, Debug, Default)]
pub struct AccountsPiece {
    books: Arc<Books>,
    /// Whether it can read no rows, as those of a later program.
    reads_nothing: Arc<AtomicBool>,
}

/// The state of a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Books {
    /// Balance of each account; their sum is always zero.
    pub balances: BTreeMap<u8, i64>,
    /// Ids of the transfers whose first event was applied.
    pub taken: Vec<u64>,
    /// Ids of the transfers whose second event was applied.
    pub given: Vec<u64>,
}

impl Books {
    /// Fails the test unless every transfer has both its events exactly once.
    pub fn assert_whole(&self) {
        assert_eq!(self.taken, self.given, "a transfer was applied by half");
        assert_eq!(self.balances.values().sum::<i64>(), 0, "an amount was lost");
        let mut ids = self.taken.clone();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), self.taken.len(), "a transfer was applied twice");
    }
}

/// Changes of the accounts of the probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ProbeEvent {
    /// The first half of transfer `id`.
    Take {
        /// The id of the transfer; both halves carry it.
        id: u64,
        /// The account whose balance shrinks.
        account: u8,
        /// The amount that the account loses.
        amount: i64,
    },
    /// The second half of transfer `id`.
    Give {
        /// The id of the transfer; both halves carry it.
        id: u64,
        /// The account whose balance grows.
        account: u8,
        /// The amount that the account receives.
        amount: i64,
    },
    /// Bytes that make the entry larger.
    Ballast(Vec<u8>),
    /// Causes a panic in `apply`.
    Poison,
}

/// A refusal: transfers must not use this account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed(pub u8);

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "account {} is closed", self.0)
    }
}

impl std::error::Error for Closed {}

/// The account whose transfers are refused.
pub const CLOSED: u8 = 255;

impl Piece for AccountsPiece {
    const ID: PieceId = PieceId::Probe;
    const EVENT_VERSION: u8 = 1;
    type Event = ProbeEvent;
    /// The number of transfers after the event.
    type Outcome = u64;
    type Refusal = Closed;

    fn apply(&mut self, _: Millis, event: &ProbeEvent) -> Result<u64, Closed> {
        let books = Arc::make_mut(&mut self.books);
        match event {
            ProbeEvent::Take { account: CLOSED, .. } | ProbeEvent::Give { account: CLOSED, .. } => {
                return Err(Closed(CLOSED));
            }
            ProbeEvent::Take { id, account, amount } => {
                *books.balances.entry(*account).or_default() -= amount;
                books.taken.push(*id);
            }
            ProbeEvent::Give { id, account, amount } => {
                *books.balances.entry(*account).or_default() += amount;
                books.given.push(*id);
            }
            ProbeEvent::Ballast(_) => {}
            ProbeEvent::Poison => panic!("a poisoned event was applied"),
        }
        Ok(books.given.len() as u64)
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenProbe(self.books.clone()))
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        if self.reads_nothing.load(Ordering::SeqCst) {
            return Err(UnreadableEvent::Version { piece: AccountsPiece::ID, version: 99 });
        }
        let read: Books = read_row(row)?;
        let books = Arc::make_mut(&mut self.books);
        books.balances.extend(read.balances);
        books.taken.extend(read.taken);
        books.given.extend(read.given);
        Ok(())
    }

    fn emptied(&self) -> Self {
        AccountsPiece { books: Arc::default(), reads_nothing: self.reads_nothing.clone() }
    }
}

fn read_row(row: &[u8]) -> Result<Books, UnreadableEvent> {
    serde_json::from_slice(row).map_err(|error| UnreadableEvent::Body {
        piece: AccountsPiece::ID,
        error: error.to_string(),
    })
}

struct FrozenProbe(Arc<Books>);

/// Transfers in one snapshot row.
const ROW_IDS: usize = 1000;

impl FrozenPiece for FrozenProbe {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let books = &self.0;
        let balances = Books { balances: books.balances.clone(), ..Books::default() };
        let ids = |ids: &[u64]| ids.to_vec();
        let taken =
            books.taken.chunks(ROW_IDS).map(|some| Books { taken: ids(some), ..Books::default() });
        let given =
            books.given.chunks(ROW_IDS).map(|some| Books { given: ids(some), ..Books::default() });
        for part in std::iter::once(balances).chain(taken).chain(given) {
            // Numbers and lists always encode.
            if let Ok(bytes) = serde_json::to_vec(&part) {
                row(&bytes);
            }
        }
    }
}

/// The owner of a probe piece.
pub struct ProbeActor {
    journal: Journal,
    replica: ReplicaHandle<AccountsPiece>,
    /// Epochs in which the journal made this owner the leader, in order.
    led: Vec<Epoch>,
    /// The number of times that the piece was replaced completely.
    installs: u64,
}

impl ProbeActor {
    /// An owner with an empty probe. The start of the actor registers it.
    pub fn new(journal: Journal) -> Self {
        let replica = ReplicaHandle::new(AccountsPiece::default(), journal.clone());
        ProbeActor { journal, replica, led: Vec::new(), installs: 0 }
    }
}

impl Actor for ProbeActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.journal.register(AccountsPiece::ID, ctx.address().recipient());
    }
}

impl Handler<JournalCommand> for ProbeActor {
    type Result = ();

    fn handle(&mut self, order: JournalCommand, _: &mut Self::Context) {
        match self.replica.handle_command(order) {
            StateChange::LeaderStarted(epoch) => self.led.push(epoch),
            StateChange::Installed => self.installs += 1,
            StateChange::Applied(_) | StateChange::LeaderStopped | StateChange::Nothing => {}
        }
        // Readers ask the actor itself.
        self.journal.view_published(AccountsPiece::ID, self.replica.applied());
    }
}

/// Commits events. A repeated request gets its first answer from memory.
#[derive(Message)]
#[rtype(result = "Result<Outcomes<AccountsPiece>, CommitError>")]
pub struct CommitEvents {
    /// The idempotency key of the request.
    pub request: RequestId,
    /// The events of the commit, in order.
    pub events: Vec<ProbeEvent>,
}

/// The two events of one transfer of `amount` from account 1 to account 2.
pub fn transfer(id: u64, amount: i64) -> Vec<ProbeEvent> {
    vec![ProbeEvent::Take { id, account: 1, amount }, ProbeEvent::Give { id, account: 2, amount }]
}

/// The request id of transfer `id`, equal for each repetition.
pub fn request_of(id: u64) -> RequestId {
    RequestId::from_text(&format!("transfer {id}"))
}

/// Commits these lists in order, and waits for the answers in the opposite order.
#[derive(Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct CommitInOrder(pub Vec<CommitEvents>);

impl Handler<CommitInOrder> for ProbeActor {
    type Result = ResponseActFuture<Self, Result<(), CommitError>>;

    fn handle(
        &mut self,
        CommitInOrder(lists): CommitInOrder,
        _: &mut Self::Context,
    ) -> Self::Result {
        let commits = lists.into_iter().map(|CommitEvents { request, events }| {
            self.replica.commit(Millis(0), RequestContext::by_request("a test", request), events)
        });
        let commits: Vec<_> = commits.collect();
        let backwards = async move {
            let mut returned = Vec::new();
            for commit in commits.into_iter().rev() {
                returned.push(commit.await);
            }
            returned
        };
        Box::pin(backwards.into_actor(self).map(|returned, actor, _| {
            returned.into_iter().try_for_each(|one| actor.replica.complete(one).map(drop))
        }))
    }
}

impl Handler<CommitEvents> for ProbeActor {
    type Result = ResponseActFuture<Self, Result<Outcomes<AccountsPiece>, CommitError>>;

    fn handle(&mut self, message: CommitEvents, _: &mut Self::Context) -> Self::Result {
        if let Some(outcomes) = self.replica.recall(message.request) {
            return Box::pin(fut::ready(Ok(outcomes)));
        }
        let asked = RequestContext::by_request("a test", message.request);
        let commit = self.replica.commit(Millis(0), asked, message.events);
        Box::pin(commit.into_actor(self).map(|returned, actor, _| actor.replica.complete(returned)))
    }
}

/// Commits events that the owner decided without a request.
#[derive(Message)]
#[rtype(result = "Result<Outcomes<AccountsPiece>, CommitError>")]
pub struct CommitItself(pub Vec<ProbeEvent>);

impl Handler<CommitItself> for ProbeActor {
    type Result = ResponseActFuture<Self, Result<Outcomes<AccountsPiece>, CommitError>>;

    fn handle(
        &mut self,
        CommitItself(events): CommitItself,
        _: &mut Self::Context,
    ) -> Self::Result {
        let commit = self.replica.commit(
            Millis(0),
            RequestContext::by_itself("a test", &mut IdSource::system()),
            events,
        );
        Box::pin(commit.into_actor(self).map(|returned, actor, _| actor.replica.complete(returned)))
    }
}

/// Asks for the full state of the probe.
#[derive(Message)]
#[rtype(result = "AccountsView")]
pub struct ReadAccounts;

/// A probe's owner at one moment.
#[derive(Clone, Debug, MessageResponse)]
pub struct AccountsView {
    /// The balances and transfers at that moment.
    pub books: Arc<Books>,
    /// Index of the last entry applied to it.
    pub applied: u64,
    /// The epoch in which the owner leads; `None` for a follower.
    pub epoch: Option<Epoch>,
    /// Epochs in which the journal made this owner the leader, in order.
    pub led: Vec<Epoch>,
    /// The number of times that the piece was replaced completely.
    pub installs: u64,
    /// The number of commits without an outcome.
    pub in_flight: usize,
}

impl Handler<ReadAccounts> for ProbeActor {
    type Result = AccountsView;

    fn handle(&mut self, _: ReadAccounts, _: &mut Self::Context) -> AccountsView {
        AccountsView {
            books: self.replica.piece().books.clone(),
            applied: self.replica.applied(),
            epoch: self.replica.epoch(),
            led: self.led.clone(),
            installs: self.installs,
            in_flight: self.replica.in_flight().len(),
        }
    }
}

/// Lets the owner read no rows of snapshots, or read them again.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ReadNoRows(pub bool);

impl Handler<ReadNoRows> for ProbeActor {
    type Result = ();

    fn handle(&mut self, ReadNoRows(reads_nothing): ReadNoRows, _: &mut Self::Context) {
        self.replica.piece().reads_nothing.store(reads_nothing, Ordering::SeqCst);
    }
}

/// Causes a panic outside of `apply`.
#[derive(Message)]
#[rtype(result = "()")]
pub struct PanicAccounts;

impl Handler<PanicAccounts> for ProbeActor {
    type Result = ();

    fn handle(&mut self, _: PanicAccounts, _: &mut Self::Context) {
        panic!("the probe was asked to panic");
    }
}

/// Journal options with a snapshot every few hundred entries and a short log before it.
pub fn small_snapshots(dir: &Path, node: u64) -> JournalOptions {
    JournalOptions {
        snapshot_log_bytes: 20_000,
        keep_entries: 10,
        ..JournalOptions::alone(dir, node)
    }
}
