//! Wrong passwords in a row, per user. Only the leader counts them, in memory. Pure.

use std::collections::HashMap;
use std::time::Duration;

use crate::access::settings::AccessSettings;
use crate::rights::UserName;

/// The wrong passwords of users since their last login.
#[derive(Debug, Default)]
pub(in crate::access) struct LoginFailures {
    by_user: HashMap<UserName, FailureRun>,
}

/// Wrong passwords without a right one in between.
#[derive(Debug)]
struct FailureRun {
    /// The uptime of the machine at the first one.
    began: Duration,
    count: u64,
}

impl LoginFailures {
    /// Counts a wrong password of an existing user. Returns whether the account must be locked.
    pub(in crate::access) fn record(
        &mut self,
        name: &UserName,
        uptime: Duration,
        settings: &AccessSettings,
    ) -> bool {
        let run =
            self.by_user.entry(name.clone()).or_insert(FailureRun { began: uptime, count: 0 });
        if uptime.saturating_sub(run.began) > settings.lock_window {
            *run = FailureRun { began: uptime, count: 0 };
        }
        run.count += 1;
        run.count >= settings.lock_after
    }

    /// The user logged in, was locked or unlocked, or is gone.
    pub(in crate::access) fn forget(&mut self, name: &UserName) {
        self.by_user.remove(name);
    }

    /// Forgets all of them: another node counts, or this one begins.
    pub(in crate::access) fn clear(&mut self) {
        self.by_user.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(count: u64) -> Duration {
        Duration::from_secs(60 * count)
    }

    #[test]
    fn ten_wrong_passwords_within_the_window_lock_an_account() {
        let (settings, alice) = (AccessSettings::default(), "alice".parse().unwrap());
        let bob = "bob".parse().unwrap();
        let mut failures = LoginFailures::default();
        for _ in 0..9 {
            assert!(!failures.record(&alice, minutes(1), &settings));
        }
        assert!(!failures.record(&bob, minutes(1), &settings), "each user has an own count");
        assert!(failures.record(&alice, minutes(16), &settings));
        failures.forget(&alice);
        assert!(!failures.record(&alice, minutes(16), &settings));
    }

    #[test]
    fn a_wrong_password_after_the_window_is_the_first_again() {
        let (settings, alice) = (AccessSettings::default(), "alice".parse().unwrap());
        let mut failures = LoginFailures::default();
        for _ in 0..9 {
            failures.record(&alice, minutes(0), &settings);
        }
        for _ in 0..9 {
            assert!(!failures.record(&alice, minutes(16), &settings));
        }
        assert!(failures.record(&alice, minutes(17), &settings));
        failures.clear();
        assert!(!failures.record(&alice, minutes(17), &settings));
    }
}
