//! The smallest complete owner: one counter. It has a request, work of its own, a view, changes and settings.
//! It is the model of a new owner, and shows the cost of one.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, Addr, Context, Handler, Message, System};
use reelyard_core::actor_parts::{ChangeSettings, ViewHandle};
use reelyard_core::change_feed::{Feed, ListenFrom};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{Epoch, PieceId, RequestId};
use serde::{Deserialize, Serialize};

use super::held_log::HeldLog;
use super::{
    Owner, OwnerCommands, OwnerCommits, OwnerReply, OwnerRequests, OwnerTicks, Replicated,
};
use crate::messages::{CommitError, JournalCommand};
use crate::ownership::{AppliedEvent, Outcomes, RequestContext};
use crate::piece::{FrozenPiece, Piece, UnreadableEvent};
use crate::replicated_log::LogHandle;

// The room `state`.

/// The sum of all additions since it was last emptied.
#[derive(Clone, Default)]
struct CounterPiece(u64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum CounterEvent {
    Added(u64),
    Emptied,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("the counter cannot hold {0}")]
struct TooMuch(u64);

impl Piece for CounterPiece {
    const ID: PieceId = PieceId::Probe;
    const EVENT_VERSION: u8 = 1;
    type Event = CounterEvent;
    type Outcome = u64;
    type Refusal = TooMuch;

    fn apply(&mut self, _: Millis, event: &CounterEvent) -> Result<u64, TooMuch> {
        self.0 = match event {
            CounterEvent::Added(count) => self.0.checked_add(*count).ok_or(TooMuch(*count))?,
            CounterEvent::Emptied => 0,
        };
        Ok(self.0)
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(self.clone())
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        let unreadable = |error: postcard::Error| UnreadableEvent::Body {
            piece: Self::ID,
            error: error.to_string(),
        };
        self.0 = postcard::from_bytes(row).map_err(unreadable)?;
        Ok(())
    }

    fn emptied(&self) -> Self {
        CounterPiece::default()
    }
}

impl FrozenPiece for CounterPiece {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        row(&postcard::to_stdvec(&self.0).expect("a number is encoded in memory"));
    }
}

// The rooms `messages` and `views`.

/// Adds to the counter. Answers the count.
#[derive(Message)]
#[rtype(result = "Result<u64, AddRefused>")]
struct Add {
    count: u64,
    request: RequestId,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum AddRefused {
    #[error("it would be more than {0}")]
    OverLimit(u64),
    #[error(transparent)]
    Meanwhile(#[from] TooMuch),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct CounterView {
    count: u64,
    leads: bool,
}

/// The count after an entry.
#[derive(Debug, PartialEq)]
struct Counted(u64);

// The room `policy`.

/// Decides an addition.
fn add(counter: &CounterPiece, count: u64, limit: u64) -> Result<Vec<CounterEvent>, AddRefused> {
    match counter.0.checked_add(count) {
        Some(sum) if sum <= limit => Ok(vec![CounterEvent::Added(count)]),
        _ => Err(AddRefused::OverLimit(limit)),
    }
}

/// Decides to empty a full counter.
fn empty(counter: &CounterPiece, limit: u64) -> Vec<CounterEvent> {
    if counter.0 >= limit { vec![CounterEvent::Emptied] } else { Vec::new() }
}

// The room `actor`.

struct CounterOwner {
    replica: Replicated<CounterPiece, CounterView, Counted>,
    limit: u64,
}

impl CounterOwner {
    fn new(
        limit: u64,
        clock: Clock,
        log: impl Into<LogHandle>,
        view: ViewHandle<CounterView>,
    ) -> Self {
        CounterOwner { replica: Replicated::new(CounterPiece::default(), log, clock, view), limit }
    }
}

impl Actor for CounterOwner {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
    }
}

impl Handler<JournalCommand> for CounterOwner {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.handle_journal_command(command, ctx);
    }
}

impl Owner for CounterOwner {
    type Piece = CounterPiece;
    type View = CounterView;
    type Change = Counted;

    const NAME: &'static str = "counter";
    const SUBJECT: &'static str = "counts";

    fn shell(&mut self) -> &mut Replicated<CounterPiece, CounterView, Counted> {
        &mut self.replica
    }

    fn batch_delay(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn on_applied(&mut self, _: &[AppliedEvent<CounterPiece>], ctx: &mut Context<Self>) {
        self.soon(ctx);
    }

    fn on_leader_started(&mut self, _: Epoch, ctx: &mut Context<Self>) {
        self.soon(ctx);
    }

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {}

    fn build_view(&mut self) -> CounterView {
        let leads = self.replica.epoch().is_some();
        CounterView { count: self.replica.piece().0, leads }
    }

    fn changes_of(&mut self, entry: &[AppliedEvent<CounterPiece>]) -> Vec<(Millis, Counted)> {
        let applied =
            entry.iter().filter_map(|applied| Some((applied, applied.result.as_ref().ok()?)));
        applied.map(|(applied, count)| (applied.at, Counted(*count))).collect()
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let events = empty(self.replica.piece(), self.limit);
        self.commit(events, ctx);
    }
}

impl Handler<Add> for CounterOwner {
    type Result = OwnerReply<CounterOwner, u64, AddRefused>;

    fn handle(&mut self, Add { count, request }: Add, _: &mut Context<Self>) -> Self::Result {
        let asked = RequestContext::by_request("a test", request);
        let decide = |owner: &mut Self| add(owner.replica.piece(), count, owner.limit);
        self.answer_request(asked, decide, |_, outcomes| Ok(last(outcomes)?))
    }
}

fn last(outcomes: Outcomes<CounterPiece>) -> Result<u64, TooMuch> {
    outcomes.into_iter().next_back().unwrap_or(Ok(0))
}

impl Handler<ChangeSettings<u64>> for CounterOwner {
    type Result = ();

    fn handle(&mut self, ChangeSettings(limit): ChangeSettings<u64>, ctx: &mut Context<Self>) {
        self.limit = limit;
        self.soon(ctx);
    }
}

// End of the owner. The test uses all of it.

impl From<(Millis, Counted)> for Counted {
    fn from((_, counted): (Millis, Counted)) -> Self {
        counted
    }
}

/// Applies the next commit, once it is handed in.
async fn apply_next(log: &HeldLog, owner: &Addr<CounterOwner>) {
    log.handed_in.notified().await;
    log.apply_all(owner, Epoch(1)).await;
}

#[test]
fn the_smallest_owner_answers_works_publishes_and_follows_settings() {
    System::new().block_on(async {
        let (log, clock) = (HeldLog::new(), Clock::manual(Millis(0)));
        let (view, feed) = (ViewHandle::default(), Feed::<Counted>::new(&clock));
        let mut listener = feed.listen(ListenFrom::Now).unwrap();
        let owner = CounterOwner::new(9, clock, log.clone(), view.clone())
            .with_change_feed(feed.publisher())
            .start();
        owner.send(JournalCommand::LeaderStarted { epoch: Epoch(1) }).await.unwrap();
        assert_eq!(*view.load(), CounterView { count: 0, leads: true });

        let add = |count| Add { count, request: RequestId(count.into()) };
        assert_eq!(owner.send(add(10)).await.unwrap(), Err(AddRefused::OverLimit(9)));
        let added = actix::spawn(owner.send(add(5)));
        apply_next(&log, &owner).await;
        assert_eq!(added.await.unwrap().unwrap(), Ok(5));
        assert_eq!(owner.send(add(5)).await.unwrap(), Ok(5), "a repeated request");
        assert_eq!(view.load().count, 5);

        owner.send(ChangeSettings(5)).await.unwrap();
        apply_next(&log, &owner).await;
        assert_eq!(view.load().count, 0, "a full counter is emptied");
        let items = listener.next(9).await;
        let counts: Vec<Option<u64>> =
            items.iter().map(|item| item.event.change().map(|counted| counted.0)).collect();
        assert_eq!(counts, [Some(5), Some(0)]);

        // A restarted owner has nothing yet. Readers see what they saw before, until it leads or has caught up.
        let added = actix::spawn(owner.send(add(3)));
        apply_next(&log, &owner).await;
        assert_eq!(added.await.unwrap().unwrap(), Ok(3));
        log.lets_catch_up.store(false, Ordering::SeqCst);
        let again = CounterOwner::new(5, Clock::manual(Millis(0)), log.clone(), view.clone());
        let again = again.start();
        again.send(ChangeSettings(5)).await.unwrap();
        assert_eq!(*view.load(), CounterView { count: 3, leads: true });
        again.send(JournalCommand::LeaderStarted { epoch: Epoch(2) }).await.unwrap();
        assert_eq!(*view.load(), CounterView { count: 0, leads: true });
    });
}
