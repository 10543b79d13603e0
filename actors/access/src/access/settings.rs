//! The operator's settings for sessions and for the locks of accounts.

use std::num::NonZeroU64;
use std::time::Duration;

use reelyard_core::settings;

settings! {
    /// Sessions: how long a login lasts.
    pub struct SessionConfig {
        /// A session ends after this long without use.
        idle: Duration = Default "8h",
        /// A session ends after this long, however much it is used.
        max_age: Duration = Default "30d",
    }
}

settings! {
    /// Access: the lock of an account after wrong passwords.
    pub struct AccountLockConfig {
        /// An account is locked after this number of wrong passwords, without a right one in between.
        lock_after: NonZeroU64 = Default "10",
        /// Only wrong passwords within this time count together.
        lock_window: Duration = Default "15m",
        /// A locked account takes no password for this long. An administrator can unlock it earlier.
        lock_for: Duration = Default "15m",
    }
}

/// Everything that can be set of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSettings {
    /// A session ends after this long without use.
    pub idle: Duration,
    /// A session ends after this long.
    pub max_age: Duration,
    /// The number of wrong passwords that locks an account.
    pub lock_after: u64,
    /// Only wrong passwords within this time count together.
    pub lock_window: Duration,
    /// The duration of a lock.
    pub lock_for: Duration,
}

impl AccessSettings {
    /// The settings of an operator.
    pub fn of(sessions: &SessionConfig, locks: &AccountLockConfig) -> Self {
        AccessSettings {
            idle: sessions.idle,
            max_age: sessions.max_age,
            lock_after: locks.lock_after.get(),
            lock_window: locks.lock_window,
            lock_for: locks.lock_for,
        }
    }

    /// A session's use is recorded if it is this much later than the recorded one.
    pub(in crate::access) fn session_use_gap(&self) -> Duration {
        self.idle / 16
    }
}

impl Default for AccessSettings {
    fn default() -> Self {
        AccessSettings::of(&SessionConfig::default(), &AccountLockConfig::default())
    }
}
