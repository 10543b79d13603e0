//! The mailbox of a supervised actor. Its length can be read from any thread.
//!
//! actix does not report how many messages wait in its channel: they can only be taken out. So a reader
//! of that number moves them into a queue, and the actor first takes messages from this queue. A mailbox
//! without readers costs one uncontended lock for each message.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, Waker};

use actix::dev::channel::{AddressReceiver, channel};
use actix::dev::{AsyncContextParts, ContextFut, ContextParts, Envelope, EnvelopeProxy, Mailbox};
use actix::fut::ActorFuture;
use actix::{Actor, Addr, AsyncContext, Context};
use futures::Stream;

/// The mailboxes of the incarnations of one actor, one after the other.
pub(super) struct ActorMailbox<A: Actor> {
    /// None before the first incarnation and after the last.
    arrivals: Mutex<Option<MailboxQueue<A>>>,
    handled: AtomicU64,
}

/// Messages that were sent to one incarnation and are not yet handled, oldest first.
struct MailboxQueue<A: Actor> {
    /// Taken out of the channel to be counted.
    counted: VecDeque<Envelope<A>>,
    channel: AddressReceiver<A>,
    /// Wakes the incarnation; none before its first run.
    waker: Option<Waker>,
}

impl<A: Actor> Default for ActorMailbox<A> {
    fn default() -> Self {
        ActorMailbox { arrivals: Mutex::new(None), handled: AtomicU64::new(0) }
    }
}

impl<A: Actor<Context = Context<A>>> ActorMailbox<A> {
    /// Opens a mailbox for the next incarnation. Messages of the previous incarnation are dropped.
    pub(super) fn open(&self, capacity: usize) -> Addr<A> {
        let (sender, channel) = channel(capacity);
        self.replace(Some(MailboxQueue { counted: VecDeque::new(), channel, waker: None }));
        Addr::new(sender)
    }

    /// Refuses further messages. Waiting messages are dropped.
    pub(super) fn close(&self) {
        self.replace(None);
    }

    fn replace(&self, arrivals: Option<MailboxQueue<A>>) {
        let before = std::mem::replace(&mut *self.lock(), arrivals);
        // After the unlock, because a message may hold anything, and its drop may run any code.
        drop(before);
    }

    /// How many messages wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().as_mut().map_or(0, MailboxQueue::count)
    }

    /// How many messages were handled, by all incarnations.
    pub(super) fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    /// Runs `actor` with the messages in the open mailbox. None if there is no mailbox.
    pub(super) fn run(self: &Arc<Self>, actor: A) -> Option<ContextFut<A, Context<A>>> {
        let senders = self.lock().as_ref()?.channel.sender_producer();
        let mut context = Context::new();
        // Its address sends to this channel, so its own mailbox stays empty.
        *context.parts() = ContextParts::new(senders);
        context.spawn(MailboxPoller { intake: Arc::clone(self) });
        Some(ContextFut::new(context, actor, Mailbox::default()))
    }

    /// The next message to handle. None if no message waits; then the next message wakes the task.
    fn next(&self, task: &mut task::Context<'_>) -> Option<Envelope<A>> {
        self.lock().as_mut()?.next(task)
    }

    fn lock(&self) -> MutexGuard<'_, Option<MailboxQueue<A>>> {
        // Nothing that panics happens under the lock.
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Actor> MailboxQueue<A> {
    fn next(&mut self, task: &mut task::Context<'_>) -> Option<Envelope<A>> {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(task.waker())) {
            self.waker = Some(task.waker().clone());
        }
        self.counted.pop_front().or_else(|| self.receive(task))
    }

    fn count(&mut self) -> usize {
        // The channel wakes its last reader, which must again be the actor.
        let waker = self.waker.clone().unwrap_or_else(|| Waker::noop().clone());
        let mut task = task::Context::from_waker(&waker);
        let before = self.counted.len();
        while let Some(envelope) = self.receive(&mut task) {
            self.counted.push_back(envelope);
        }
        if self.counted.len() > before {
            waker.wake();
        }
        self.counted.len()
    }

    fn receive(&mut self, task: &mut task::Context<'_>) -> Option<Envelope<A>> {
        match Pin::new(&mut self.channel).poll_next(task) {
            Poll::Ready(envelope) => envelope,
            Poll::Pending => None,
        }
    }
}

/// Handles messages while the actor runs. It is the first task in its context, so it is polled first, as
/// a mailbox of actix is.
struct MailboxPoller<A: Actor> {
    intake: Arc<ActorMailbox<A>>,
}

impl<A: Actor<Context = Context<A>>> ActorFuture<A> for MailboxPoller<A> {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        actor: &mut A,
        context: &mut Context<A>,
        task: &mut task::Context<'_>,
    ) -> Poll<()> {
        // A handler may make its actor wait or stop.
        while !context.waiting() {
            let Some(mut envelope) = self.intake.next(task) else { break };
            envelope.handle(actor, context);
            self.intake.handled.fetch_add(1, Ordering::Relaxed);
        }
        Poll::Pending
    }
}
