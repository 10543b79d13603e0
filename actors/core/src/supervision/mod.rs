//! Restarts actors that panicked. The Supervisor of actix does not.
//!
//! A factory creates each incarnation of a supervised actor. Each incarnation registers itself with its owner
//! (for an owner of a piece, the journal) when it starts. Senders hold a [`Supervised`] or a [`Route`], which
//! reach the current incarnation. Messages that are sent during a restart pause wait in the new mailbox.

mod mailbox;
mod restart_policy;

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use actix::dev::{Envelope, ToEnvelope};
use actix::prelude::*;
use arc_swap::ArcSwap;
use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use mailbox::ActorMailbox;
pub use restart_policy::RestartPolicy;
use restart_policy::{RecentFailures, RestartDecision};

/// How an actor is supervised.
#[derive(Clone)]
pub struct Supervision {
    /// The actor's name in the log and in its status.
    pub name: Arc<str>,
    /// How many messages may wait in its mailbox before `try_send` is refused. Also how many requests from
    /// outside ([`Supervised::ask`]) may be open.
    pub mailbox: usize,
    /// Called with every incarnation before its first message is handled, so that its senders can get the new
    /// address. Messages wait in its mailbox from then on.
    pub started: Arc<dyn Fn() + Send + Sync>,
    /// How its failures are answered.
    pub policy: RestartPolicy,
    /// The action after too many failures. By default the process ends.
    pub give_up: Arc<dyn Fn(&SupervisionStatus) + Send + Sync>,
}

impl Supervision {
    /// The supervision of a node: a bounded mailbox, the default policy, and the end of the process if the
    /// actor fails too often.
    pub fn of(name: &str) -> Self {
        Supervision {
            name: name.into(),
            mailbox: 1024,
            started: Arc::new(|| ()),
            policy: RestartPolicy::default(),
            give_up: Arc::new(|_| std::process::exit(GAVE_UP)),
        }
    }
}

/// The exit code of a process whose actor failed too often (`EX_SOFTWARE`).
pub const GAVE_UP: i32 = 70;

/// The status of a supervised actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SupervisionStatus {
    /// The name of the actor.
    pub name: String,
    /// Whether an incarnation is running.
    pub running: bool,
    /// How many incarnations were started.
    pub starts: u64,
    /// How many of them panicked, or ended without a stop request.
    pub failures: u64,
    /// The text of the last failure.
    pub last_failure: Option<String>,
    /// How many requests from outside were refused because too many were open.
    pub refused: u64,
    /// How many messages it has handled.
    pub handled: u64,
    /// How many messages wait in its mailbox.
    pub waiting: usize,
}

/// Why a request from outside was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The actor has too many open requests: this one was refused.
    #[error("too many requests are waiting, retry in 1 s")]
    Busy,
    /// The actor ended or restarted while it had the request.
    #[error("outcome unknown: the actor restarted while it had the request")]
    Unknown,
}

/// A supervised actor and its restarts. Cheap to clone.
pub struct Supervised<A: Actor> {
    shared: Arc<SupervisedInner<A>>,
}

struct SupervisedInner<A: Actor> {
    present: ArcSwap<Addr<A>>,
    intake: Arc<ActorMailbox<A>>,
    status: ArcSwap<SupervisionStatus>,
    /// One permit for each open request from outside.
    request_permits: Arc<Semaphore>,
    refused: AtomicU64,
    stopping: watch::Sender<bool>,
    /// True once the actor has ended and will not restart.
    ended: watch::Sender<bool>,
}

impl<A: Actor> Clone for Supervised<A> {
    fn clone(&self) -> Self {
        Supervised { shared: self.shared.clone() }
    }
}

impl<A: Actor<Context = Context<A>>> Supervised<A> {
    /// Starts an actor on the current arbiter.
    pub fn start(supervision: Supervision, factory: impl FnMut() -> A + 'static) -> Self {
        let supervised = Self::prepare(&supervision);
        let keeper = SupervisorTask { supervision, shared: supervised.shared.clone() };
        actix_rt::spawn(keeper.keep(factory));
        supervised
    }

    /// Starts an actor on the given arbiter.
    pub fn start_on(
        arbiter: &ArbiterHandle,
        supervision: Supervision,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> Self {
        let supervised = Self::prepare(&supervision);
        let keeper = SupervisorTask { supervision, shared: supervised.shared.clone() };
        arbiter.spawn_fn(move || {
            actix_rt::spawn(keeper.keep(factory));
        });
        supervised
    }

    fn prepare(supervision: &Supervision) -> Self {
        let intake = Arc::new(ActorMailbox::default());
        let shared = SupervisedInner {
            present: ArcSwap::from_pointee(intake.open(supervision.mailbox)),
            intake,
            status: ArcSwap::from_pointee(SupervisionStatus {
                name: supervision.name.to_string(),
                running: false,
                starts: 0,
                failures: 0,
                last_failure: None,
                refused: 0,
                handled: 0,
                waiting: 0,
            }),
            request_permits: Arc::new(Semaphore::new(supervision.mailbox)),
            refused: AtomicU64::new(0),
            stopping: watch::Sender::new(false),
            ended: watch::Sender::new(false),
        };
        Supervised { shared: Arc::new(shared) }
    }

    /// The address of the current incarnation. Do not keep it: a restart changes it.
    pub fn addr(&self) -> Addr<A> {
        Addr::clone(&self.shared.present.load())
    }

    /// A route to the current incarnation, for one kind of message.
    pub fn route<M>(&self) -> Route<M>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
        Envelope<A>: Send,
    {
        let supervised = self.clone();
        Route(Arc::new(move || supervised.addr().recipient()))
    }

    /// Sends a request to the current incarnation from outside. The number of open requests is limited to the
    /// capacity of the mailbox. One more is refused at once.
    pub fn ask<M>(
        &self,
        message: M,
    ) -> impl Future<Output = Result<M::Result, AskError>> + use<A, M>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        let permit = self.shared.request_permits.clone().try_acquire_owned();
        if permit.is_err() {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
        }
        let request = permit.map(|permit| (permit, self.addr().send(message)));
        async move {
            let (_permit, answer) = request.map_err(|_| AskError::Busy)?;
            answer.await.map_err(|_| AskError::Unknown)
        }
    }

    /// The current status.
    pub fn status(&self) -> SupervisionStatus {
        let mut status = SupervisionStatus::clone(&self.shared.status.load());
        status.refused = self.shared.refused.load(Ordering::Relaxed);
        status.handled = self.shared.intake.handled();
        status.waiting = self.shared.intake.waiting();
        status
    }

    /// Stops the actor permanently, and waits until it has ended.
    pub async fn stop(&self) {
        self.shared.stopping.send_replace(true);
        let mut ended = self.shared.ended.subscribe();
        // This handle keeps the sender alive.
        let _ = ended.wait_for(|ended| *ended).await;
    }
}

/// A route to the current incarnation of an actor, for one kind of message. Cheap to clone.
pub struct Route<M>(Arc<dyn Fn() -> Recipient<M> + Send + Sync>)
where
    M: Message + Send + 'static,
    M::Result: Send;

impl<M> Clone for Route<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn clone(&self) -> Self {
        Route(self.0.clone())
    }
}

impl<M> Route<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    /// A route that always leads to `recipient`: for actors that are not supervised, and in tests.
    pub fn fixed(recipient: Recipient<M>) -> Self {
        Route(Arc::new(move || recipient.clone()))
    }

    /// The current recipient of messages. Do not keep it: a restart replaces it.
    pub fn recipient(&self) -> Recipient<M> {
        (self.0)()
    }
}

impl<A: Actor> SupervisedInner<A> {
    /// Called by the keeper alone.
    fn change_status(&self, change: impl FnOnce(&mut SupervisionStatus)) {
        let mut status = SupervisionStatus::clone(&self.status.load());
        change(&mut status);
        self.status.store(Arc::new(status));
    }
}

/// The task that keeps an actor running.
struct SupervisorTask<A: Actor<Context = Context<A>>> {
    supervision: Supervision,
    shared: Arc<SupervisedInner<A>>,
}

impl<A: Actor<Context = Context<A>>> Drop for SupervisorTask<A> {
    /// Notifies callers that wait for the end or for an answer, however supervision ends, also together with
    /// its arbiter.
    fn drop(&mut self) {
        self.shared.intake.close();
        self.shared.change_status(|status| status.running = false);
        self.shared.ended.send_replace(true);
    }
}

/// How one incarnation ended.
enum IncarnationEnd {
    Stopped,
    Failed(String),
}

impl<A: Actor<Context = Context<A>>> SupervisorTask<A> {
    async fn keep(self, factory: impl FnMut() -> A + 'static) {
        let factory = Rc::new(RefCell::new(factory));
        let mut failures = RecentFailures::default();
        loop {
            self.shared.change_status(|status| {
                status.running = true;
                status.starts += 1;
            });
            (self.supervision.started)();
            let end = self.run(factory.clone()).await;
            // Messages from here on wait for the next incarnation.
            self.shared.present.store(Arc::new(self.shared.intake.open(self.supervision.mailbox)));
            let why = match end {
                IncarnationEnd::Stopped => break,
                IncarnationEnd::Failed(why) => why,
            };
            let name = &*self.supervision.name;
            tracing::error!(actor = name, why, "actor failed");
            self.shared.change_status(|status| {
                status.running = false;
                status.failures += 1;
                status.last_failure = Some(why);
            });
            match failures.record(&self.supervision.policy, Instant::now()) {
                RestartDecision::RestartAfter(delay) => {
                    let mut stopping = self.shared.stopping.subscribe();
                    let answer = stopping.wait_for(|stopping| *stopping);
                    if tokio::time::timeout(delay, answer).await.is_ok() {
                        break;
                    }
                }
                RestartDecision::GiveUp => {
                    tracing::error!(actor = name, "actor failed too often");
                    (self.supervision.give_up)(&self.shared.status.load());
                    break;
                }
            }
        }
    }

    /// Runs one incarnation to its end.
    async fn run(&self, factory: Rc<RefCell<impl FnMut() -> A + 'static>>) -> IncarnationEnd {
        let mut stopping = self.shared.stopping.subscribe();
        let intake = Arc::clone(&self.shared.intake);
        // A separate task, so that a panic ends the task and not its keeper.
        let incarnation = actix_rt::spawn(async move {
            // Incarnations run one after the other, so nothing else borrows it.
            let actor = (factory.borrow_mut())();
            // It stays open until the keeper, which waits for this, closes it.
            let Some(running) = intake.run(actor) else { return IncarnationEnd::Stopped };
            tokio::select! {
                () = running => IncarnationEnd::Failed("it ended without a stop request".to_owned()),
                // Dropping a running actor stops it: `stopping` and `stopped` are called.
                _ = stopping.wait_for(|stopping| *stopping) => IncarnationEnd::Stopped,
            }
        });
        match incarnation.await {
            Ok(end) => end,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => IncarnationEnd::Failed(panic_text(&*panic)),
                // The arbiter is shutting down with everything on it.
                Err(_) => IncarnationEnd::Stopped,
            },
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "it panicked".to_owned())
}
