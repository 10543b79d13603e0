//! The time of an actor's next turn.

use std::time::Duration;

use actix::SpawnHandle;
use tokio::time::Instant;

/// When the next turn of an actor begins, if one is planned.
#[derive(Default)]
pub struct TurnTimer(Option<(Instant, SpawnHandle)>);

/// How a requested turn changes the planned turn.
pub(crate) enum TurnChange {
    /// The planned turn is early enough.
    Keep,
    /// No turn is planned, or a later one: this timer is cancelled.
    Plan(Option<SpawnHandle>),
}

impl TurnTimer {
    /// Time from `now` until the turn. Zero if no turn is planned.
    pub fn left(&self, now: Instant) -> Duration {
        match self.0 {
            Some((at, _)) => at.saturating_duration_since(now),
            None => Duration::ZERO,
        }
    }

    /// Compares the planned turn with a turn at `at`.
    pub(crate) fn change(&self, at: Instant) -> TurnChange {
        match self.0 {
            Some((planned, _)) if planned <= at => TurnChange::Keep,
            Some((_, timer)) => TurnChange::Plan(Some(timer)),
            None => TurnChange::Plan(None),
        }
    }

    /// Records the planned turn.
    pub(crate) fn plan(&mut self, at: Instant, timer: SpawnHandle) {
        self.0 = Some((at, timer));
    }

    /// The planned turn begins.
    pub(crate) fn begin(&mut self) {
        self.0 = None;
    }
}
