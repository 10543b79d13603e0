//! A timer of an actor.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, SpawnHandle};
use tokio::time::Instant;

/// A longer wait is cut to this one, so that its end can be computed.
const LONGEST_WAIT: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Ticks that are at least this far away come at its multiples, so that actors wake the process together.
pub const SHARED_PERIOD: Duration = Duration::from_secs(1);

/// A call that an actor plans for itself, at most one at a time. Clones plan the same call. It waits by the
/// timers of the runtime: see `Clock::timer`.
#[derive(Clone, Default)]
pub struct ActorTimer(Rc<Cell<Option<(Instant, SpawnHandle)>>>);

impl ActorTimer {
    /// Calls `then` after `delay`. It replaces a planned call.
    pub fn set<A: Actor<Context = Context<A>>>(
        &self,
        delay: Duration,
        ctx: &mut Context<A>,
        then: impl FnOnce(&mut A, &mut Context<A>) + 'static,
    ) {
        self.stop(ctx);
        let delay = delay.min(LONGEST_WAIT);
        let planned = Rc::clone(&self.0);
        let handle = ctx.run_later(delay, move |actor, ctx| {
            planned.set(None);
            then(actor, ctx);
        });
        self.0.set(Some((Instant::now() + delay, handle)));
    }

    /// Calls `then` after `delay`, unless a call is planned for an earlier time, which stays.
    pub fn set_within<A: Actor<Context = Context<A>>>(
        &self,
        delay: Duration,
        ctx: &mut Context<A>,
        then: impl FnOnce(&mut A, &mut Context<A>) + 'static,
    ) {
        let at = Instant::now() + delay.min(LONGEST_WAIT);
        let is_early_enough = self.0.get().is_some_and(|(planned, _)| planned <= at);
        if !is_early_enough {
            self.set(delay, ctx, then);
        }
    }

    /// Calls nothing.
    pub fn stop<A: Actor<Context = Context<A>>>(&self, ctx: &mut Context<A>) {
        if let Some((_, handle)) = self.0.take() {
            ctx.cancel_future(handle);
        }
    }

    /// Time until the planned call. Zero if none is planned.
    pub fn left(&self) -> Duration {
        let planned = self.0.get().map(|(at, _)| at);
        planned.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix::{Handler, Message, System};
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

    use super::*;

    /// Plans calls, and reports their names when they come.
    struct PlanningActor {
        timer: ActorTimer,
        calls: UnboundedSender<&'static str>,
    }

    impl Actor for PlanningActor {
        type Context = Context<Self>;
    }

    #[derive(Message)]
    #[rtype(result = "()")]
    struct Plan {
        delay: Duration,
        name: &'static str,
        keeps_earlier: bool,
    }

    impl Handler<Plan> for PlanningActor {
        type Result = ();

        fn handle(&mut self, plan: Plan, ctx: &mut Context<Self>) {
            let Plan { delay, name, keeps_earlier } = plan;
            let timer = self.timer.clone();
            let then = move |planner: &mut Self, _: &mut Context<Self>| {
                // The test ends before late calls.
                let _ = planner.calls.send(name);
            };
            match keeps_earlier {
                true => timer.set_within(delay, ctx, then),
                false => timer.set(delay, ctx, then),
            }
        }
    }

    /// The first two calls after these plans and a call that is planned behind them.
    async fn first_calls(plans: &[(u64, &'static str, bool)]) -> Vec<&'static str> {
        let (calls, mut called): (_, UnboundedReceiver<&'static str>) = unbounded_channel();
        let planner = PlanningActor { timer: ActorTimer::default(), calls }.start();
        for &(seconds, name, keeps_earlier) in plans {
            let delay = Duration::from_secs(seconds);
            planner.send(Plan { delay, name, keeps_earlier }).await.unwrap();
        }
        let first = called.recv().await.unwrap();
        let after = Plan { delay: Duration::from_secs(9), name: "after", keeps_earlier: true };
        planner.send(after).await.unwrap();
        vec![first, called.recv().await.unwrap()]
    }

    #[test]
    fn a_timer_plans_one_call_at_a_time() {
        System::new().block_on(async {
            tokio::time::pause();
            let replaced = [(1, "early", false), (5, "late", false)];
            assert_eq!(first_calls(&replaced).await, ["late", "after"]);
            let kept = [(1, "early", true), (5, "late", true)];
            assert_eq!(first_calls(&kept).await, ["early", "after"]);
            let hurried = [(5, "late", true), (1, "early", true)];
            assert_eq!(first_calls(&hurried).await, ["early", "after"]);
        });
    }
}
