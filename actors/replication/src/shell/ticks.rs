//! The ticks of an owner, and when its view is renewed.

use std::time::Duration;

use actix::Context;

use reelyard_core::actor_parts::SHARED_PERIOD;

use super::owner::Owner;
use crate::piece::Piece;

/// The shortest wait for the end of a pause.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// How long a leader waits before it asks again whether it may decide.
const HELD: Duration = Duration::from_millis(250);

/// Ticks and views, the same for every owner.
pub trait OwnerTicks: Owner {
    /// Ticks soon, so that changes at the same time are handled together.
    fn soon(&mut self, ctx: &mut Context<Self>) {
        self.wake_after(self.batch_delay(), ctx);
    }

    /// Ticks within `delay`. An earlier planned tick stays. A tick that is a second or more away comes up to a
    /// second early, together with the ticks of other actors.
    fn wake_after(&mut self, delay: Duration, ctx: &mut Context<Self>) {
        let delay = self.shell().clock.shared_wait(delay, SHARED_PERIOD);
        self.shell().next_tick.clone().set_within(delay, ctx, Self::run_tick);
    }

    /// Ticks now, and publishes its view.
    fn run_tick(&mut self, ctx: &mut Context<Self>) {
        self.begin_tick(ctx);
        let shell = self.shell();
        let leads = shell.replica.epoch().is_some();
        if leads && !shell.log.allows_decisions() {
            self.wake_after(HELD, ctx);
            return self.renew_view();
        }
        match shell.pause_left() {
            Some(left) if leads => {
                self.wake_after(left.max(SHORTEST_PAUSE), ctx);
                self.tick_paused(ctx);
                self.renew_view();
            }
            None if leads => {
                self.tick(ctx);
                if Self::VIEW_AGE.is_zero() || self.shell().is_view_stale {
                    self.renew_view();
                }
            }
            _ => self.renew_view(),
        }
    }

    /// Publishes a new view now, unless that of an earlier incarnation stays.
    fn renew_view(&mut self) {
        let shell = self.shell();
        if Self::KEEPS_EARLIER_VIEW && shell.has_earlier_view && !shell.is_caught_up {
            return;
        }
        self.shell().is_view_stale = false;
        let view = self.build_view();
        let handle = &self.shell().view;
        if Self::is_news(&handle.load(), &view) {
            handle.publish_news(view);
        } else {
            handle.publish(view);
        }
        self.on_view_published();
        let shell = self.shell();
        shell.log.view_published(Self::Piece::ID, shell.replica.applied());
    }

    /// The view changed. It is renewed before it is older than [`Owner::VIEW_AGE`].
    fn mark_view_stale(&mut self, ctx: &mut Context<Self>) {
        if Self::VIEW_AGE.is_zero() {
            self.renew_view();
        } else {
            self.shell().is_view_stale = true;
            self.wake_after(Self::VIEW_AGE, ctx);
        }
    }
}

impl<O: Owner> OwnerTicks for O {}
