//! Actors that decide in turns: each says within which time it wants the next one.

use std::time::{Duration, Instant};

use actix::{Actor, AsyncContext, Context, SpawnHandle};

/// When the next turn of an actor begins, if one is planned.
#[derive(Default)]
pub struct TurnTimer(Option<(Instant, SpawnHandle)>);

impl TurnTimer {
    /// How long it is until then; no time at all if none is planned.
    pub fn left(&self) -> Duration {
        let left = |(at, _): &(Instant, SpawnHandle)| at.saturating_duration_since(Instant::now());
        self.0.as_ref().map_or(Duration::ZERO, left)
    }
}

/// An actor that decides in turns.
pub trait ScheduledTurns: Actor<Context = Context<Self>> {
    /// Where it notes its next turn.
    fn next_turn(&mut self) -> &mut TurnTimer;

    /// Does the work that is due now.
    fn take_turn(&mut self, ctx: &mut Context<Self>);

    /// Has a turn taken within so long. One that is planned before that is soon enough; a later one
    /// is put forward.
    fn wake_after(&mut self, delay: Duration, ctx: &mut Context<Self>) {
        let at = Instant::now() + delay;
        match self.next_turn().0 {
            Some((planned, _)) if planned <= at => return,
            Some((_, timer)) => {
                ctx.cancel_future(timer);
            }
            None => {}
        }
        let timer = ctx.run_later(delay, |actor, ctx| {
            actor.next_turn().0 = None;
            actor.take_turn(ctx);
        });
        self.next_turn().0 = Some((at, timer));
    }
}
