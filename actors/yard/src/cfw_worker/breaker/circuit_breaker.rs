//! The circuit breaker of the calls to one host. If calls keep failing although the host answers its
//! probes, only probes are sent. Pure.
//!
//! Each kind of call counts its own consecutive failures: a host also has a fault if its disk figures
//! arrive and its lists never do. The kind that opened the breaker also closes it. [`crate::backoff`]
//! decides how long it stays open and how it closes.

use reelyard_core::backoff::{BackOff, ExponentialBackoff};
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;

use crate::cfw_worker::breaker::circuit_state::{CallTrouble, CircuitState, HostCallKind};
use crate::cfw_worker::calls::ask_failure::AskFailure;

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitBreakerSettings {
    /// Number of consecutive failures of one kind of call after which it opens; at least 1.
    pub open_after: u32,
    /// How long it remains open.
    pub cool_down: ExponentialBackoff,
}

/// The breaker of one host.
#[derive(Clone, Debug)]
pub struct CircuitBreaker {
    settings: CircuitBreakerSettings,
    /// Spreads the ends of cool-downs over the hosts.
    seed: u64,
    /// Failures in a row by kind of call, while it is closed.
    in_a_row: [u32; 4],
    trouble: Option<CallTrouble>,
}

impl CircuitBreaker {
    /// A closed breaker; `seed` spreads the ends of its cool-downs.
    pub fn new(settings: CircuitBreakerSettings, seed: u64) -> Self {
        CircuitBreaker { settings, seed, in_a_row: [0; 4], trouble: None }
    }

    /// Applies these settings from now on. A running cool-down keeps its end.
    pub fn change_settings(&mut self, settings: CircuitBreakerSettings) {
        self.settings = settings;
    }

    /// The state of calls at `now`.
    pub fn state(&self, now: Millis) -> CircuitState {
        match &self.trouble {
            None => CircuitState::Closed,
            Some(trouble) if trouble.back_off.holds(now) => CircuitState::Open,
            Some(_) => CircuitState::Probation,
        }
    }

    /// The failures that opened it, while it is not closed.
    pub fn trouble(&self) -> Option<&CallTrouble> {
        self.trouble.as_ref()
    }

    /// Records the end of a call at `now`.
    pub fn ended<T>(&mut self, call: HostCallKind, outcome: &Result<T, AskFailure>, now: Millis) {
        match outcome {
            Ok(_) => self.succeeded(call, now),
            // If the call was not made, nothing is known of the host.
            Err(AskFailure::Busy | AskFailure::NotAsked(_) | AskFailure::NoDescriptor) => {}
            Err(failure) => self.failed(call, failure, now),
        }
    }

    fn failed(&mut self, call: HostCallKind, failure: &AskFailure, now: Millis) {
        let failures = match &self.trouble {
            // It was sent before the breaker opened, so it is part of the same fault.
            Some(trouble) if trouble.back_off.holds(now) => return,
            Some(trouble) => trouble.back_off.failures.saturating_add(1),
            None => {
                let in_a_row = &mut self.in_a_row[call as usize];
                *in_a_row = in_a_row.saturating_add(1);
                if *in_a_row < self.settings.open_after.max(1) {
                    return;
                }
                1
            }
        };
        let seed = self.seed.wrapping_add(u64::from(failures));
        let until = now.after(self.settings.cool_down.jittered(failures, seed));
        let back_off = BackOff { failures, since: now, until, reason: failure.to_string() };
        self.trouble = Some(CallTrouble { call, back_off });
    }

    fn succeeded(&mut self, call: HostCallKind, now: Millis) {
        self.in_a_row[call as usize] = 0;
        let Some(trouble) = self.trouble.take_if(|trouble| trouble.call == call) else { return };
        match trouble.back_off.after_success(now) {
            Some(back_off) => self.trouble = Some(CallTrouble { call, back_off }),
            None => self.reset(),
        }
    }

    /// The host did not answer its probes and answers again. Another program may be there, so a trial
    /// at once makes sense.
    pub fn came_back(&mut self, now: Millis) {
        if let Some(trouble) = &mut self.trouble {
            trouble.back_off.until = trouble.back_off.until.min(now);
        }
    }

    /// Closes it after a long time without calls. A call of the kind that opened it may no longer be
    /// needed.
    pub fn forget(&mut self, now: Millis) {
        let base = self.settings.cool_down.base;
        if self.trouble.as_ref().is_some_and(|trouble| trouble.back_off.is_stale(base, now)) {
            self.reset();
        }
    }

    /// Closes the breaker and forgets all failures.
    pub fn reset(&mut self) {
        self.trouble = None;
        self.in_a_row = [0; 4];
    }
}

/// A seed for the jitter, so that the trials of hosts that failed together are spread.
pub(in crate::cfw_worker) fn seed(host: HostAddr) -> u64 {
    let hash = blake3::hash(host.to_string().as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: i64 = 1000;

    fn breaker() -> CircuitBreaker {
        let cool_down =
            ExponentialBackoff { base: Duration::from_secs(10), cap: Duration::from_secs(60) };
        CircuitBreaker::new(CircuitBreakerSettings { open_after: 3, cool_down }, 7)
    }

    fn fail(breaker: &mut CircuitBreaker, call: HostCallKind, at: i64) {
        breaker.ended::<()>(call, &Err(AskFailure::Status(500)), Millis(at));
    }

    fn succeed(breaker: &mut CircuitBreaker, call: HostCallKind, at: i64) {
        breaker.ended(call, &Ok(()), Millis(at));
    }

    /// A breaker that has just opened at 0.
    fn opened() -> CircuitBreaker {
        let mut breaker = breaker();
        (0..3).for_each(|_| fail(&mut breaker, HostCallKind::List, 0));
        breaker
    }

    fn until(breaker: &CircuitBreaker) -> Millis {
        breaker.trouble().unwrap().back_off.until
    }

    #[test]
    fn failures_in_a_row_of_one_kind_open_the_breaker() {
        let mut breaker = breaker();
        for _ in 0..2 {
            fail(&mut breaker, HostCallKind::List, 0);
            succeed(&mut breaker, HostCallKind::Disk, 0);
            assert_eq!(breaker.state(Millis(0)), CircuitState::Closed);
        }
        succeed(&mut breaker, HostCallKind::List, 0);
        fail(&mut breaker, HostCallKind::List, 0);
        fail(&mut breaker, HostCallKind::Disk, 0);
        fail(&mut breaker, HostCallKind::List, 0);
        assert_eq!(breaker.state(Millis(0)), CircuitState::Closed);
        fail(&mut breaker, HostCallKind::List, 0);
        assert_eq!(breaker.state(Millis(0)), CircuitState::Open);
        assert_eq!(breaker.trouble().unwrap().call, HostCallKind::List);
    }

    #[test]
    fn a_call_that_was_not_made_is_no_failure() {
        let mut breaker = breaker();
        for _ in 0..9 {
            breaker.ended::<()>(HostCallKind::List, &Err(AskFailure::Busy), Millis(0));
            breaker.ended::<()>(HostCallKind::List, &Err(AskFailure::NoDescriptor), Millis(0));
            breaker.ended::<()>(
                HostCallKind::List,
                &Err(AskFailure::NotAsked("x".into())),
                Millis(0),
            );
        }
        assert_eq!(breaker.state(Millis(0)), CircuitState::Closed);
    }

    #[test]
    fn a_failed_trial_opens_it_longer_and_successes_close_it_stepwise() {
        let mut breaker = opened();
        let first = until(&breaker);
        assert!((Millis(9 * SECOND)..=Millis(10 * SECOND)).contains(&first));
        // A call that was under way when it opened changes nothing.
        fail(&mut breaker, HostCallKind::Disk, SECOND);
        assert_eq!(until(&breaker), first);
        assert_eq!(breaker.state(first), CircuitState::Probation);
        fail(&mut breaker, HostCallKind::List, first.0);
        assert_eq!(breaker.state(first), CircuitState::Open);
        let second = until(&breaker);
        assert!(second.since(first) >= Duration::from_secs(18));
        succeed(&mut breaker, HostCallKind::Info, second.0);
        assert_eq!(breaker.trouble().unwrap().back_off.failures, 2, "it is the list that failed");
        succeed(&mut breaker, HostCallKind::List, second.0);
        assert_eq!(breaker.state(second), CircuitState::Probation);
        succeed(&mut breaker, HostCallKind::List, second.0);
        assert_eq!(breaker.state(second), CircuitState::Closed);
        fail(&mut breaker, HostCallKind::List, second.0);
        assert_eq!(breaker.state(second), CircuitState::Closed, "it counts from the beginning");
    }

    #[test]
    fn a_host_that_was_away_and_an_operator_shorten_it() {
        let mut breaker = opened();
        breaker.came_back(Millis(SECOND));
        assert_eq!(breaker.state(Millis(SECOND)), CircuitState::Probation);
        let mut breaker = opened();
        breaker.reset();
        assert_eq!(breaker.state(Millis(SECOND)), CircuitState::Closed);
    }

    #[test]
    fn probation_without_a_trial_ends_after_a_time() {
        let mut breaker = opened();
        breaker.forget(Millis(19 * SECOND - 1000));
        assert_eq!(breaker.state(Millis(19 * SECOND)), CircuitState::Probation);
        breaker.forget(Millis(20 * SECOND));
        assert_eq!(breaker.state(Millis(20 * SECOND)), CircuitState::Closed);
    }
}
