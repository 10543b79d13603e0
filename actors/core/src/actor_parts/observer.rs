//! The shell of every observer: an actor without a piece, which looks at the world and publishes what it
//! sees. It is the smaller sister of the shell of owners.

use std::time::Duration;

use actix::{Actor, Context};

use super::{ActorTimer, SHARED_PERIOD, ViewHandle};
use crate::change_feed::FeedPublisher;
use crate::clock::{Clock, Millis};

/// The state that every observer keeps besides its own. `C` is a change of it on the change feed.
pub struct ObserverShell<V, C> {
    clock: Clock,
    view: ViewHandle<V>,
    feed: Option<FeedPublisher<C>>,
    next_tick: ActorTimer,
}

impl<V, C> ObserverShell<V, C> {
    /// A shell without a change feed. The observer publishes to `view`.
    pub fn new(clock: Clock, view: ViewHandle<V>) -> Self {
        ObserverShell { clock, view, feed: None, next_tick: ActorTimer::default() }
    }

    /// The clock of the observer, and its only one.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The present time.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Where the view is published.
    pub fn view(&self) -> &ViewHandle<V> {
        &self.view
    }

    /// Publishes a change on the change feed, if there is one.
    pub fn publish_change(&self, at: Millis, change: C) {
        if let Some(feed) = &self.feed {
            feed.publish(at, change);
        }
    }
}

/// An actor without a piece. The required methods are its own; the provided ones are the same for every
/// observer.
pub trait Observer: Actor<Context = Context<Self>> {
    /// The read view that it publishes.
    type View: 'static;

    /// A change that it publishes on the change feed.
    type Change: 'static;

    /// The shell of this observer.
    fn shell(&mut self) -> &mut ObserverShell<Self::View, Self::Change>;

    /// The view as it is now.
    fn build_view(&mut self) -> Self::View;

    /// Does the work that is due, and plans the next tick by [`Observer::sleep`].
    fn tick(&mut self, ctx: &mut Context<Self>);

    /// Publishes to `view` from now on. After a panic the restarted observer gets the handle that the
    /// readers already hold.
    fn publishing_to(mut self, view: ViewHandle<Self::View>) -> Self {
        self.shell().view = view;
        self
    }

    /// Publishes changes on `feed` from now on.
    fn with_change_feed(mut self, feed: FeedPublisher<Self::Change>) -> Self {
        self.shell().feed = Some(feed);
        self
    }

    /// Publishes a new view.
    fn publish_view(&mut self) {
        let view = self.build_view();
        self.shell().view.publish(view);
    }

    /// Ticks again after `delay`. It replaces the planned one. A tick that is a second or more away comes up
    /// to a second early, together with the ticks of other actors.
    fn sleep(&mut self, delay: Duration, ctx: &mut Context<Self>) {
        let delay = self.shell().clock.shared_wait(delay, SHARED_PERIOD);
        self.shell().next_tick.clone().set(delay, ctx, Self::tick);
    }
}
