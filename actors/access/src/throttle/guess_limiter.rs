//! Failed attempts per address and per account. Pure.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use reelyard_core::address_range::caller_network;
use reelyard_core::burst_limit::BurstLimit;

use super::bounded_map::BoundedMap;

/// How many failures are allowed at once, and after which time one more.
const LIMIT: BurstLimit = BurstLimit::new(10, Duration::from_secs(6));

/// Largest number of addresses. Those without an attempt for the longest time give way.
const MOST_ADDRESSES: usize = 65_536;

/// Largest number of account names that are counted, known or not.
const MOST_ACCOUNTS: usize = 65_536;

/// Too many failures. The next attempt may be made after this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many failed attempts: try again in {} s", .0.as_secs().saturating_add(1))]
pub struct RetryAfter(pub Duration);

/// Limits failed attempts per address and per account.
///
/// A known token is never limited: check it first, and call [`GuessLimiter::admit_failure`] only after a refusal.
/// A password is slow to check: call [`GuessLimiter::admit_failure`] before the check, so that attempts at the same
/// time are limited too. Call [`GuessLimiter::record_success`] after a right password.
///
/// All times are those of one monotonic clock, so that a step of the wall clock has no effect.
#[derive(Debug)]
pub struct GuessLimiter {
    /// For each network, the time until which its failures are used.
    by_address: BoundedMap<IpAddr, Duration>,
    /// The same by the hash of an account name.
    by_account: BoundedMap<u64, Duration>,
    hasher: RandomState,
}

impl Default for GuessLimiter {
    fn default() -> Self {
        GuessLimiter {
            by_address: BoundedMap::new(MOST_ADDRESSES),
            by_account: BoundedMap::new(MOST_ACCOUNTS),
            hasher: RandomState::new(),
        }
    }
}

impl GuessLimiter {
    /// Whether an attempt may be made. Nothing is counted.
    ///
    /// # Errors
    /// Too many failures from the address or for the account.
    pub fn check(
        &self,
        address: IpAddr,
        account: Option<&str>,
        now: Duration,
    ) -> Result<(), RetryAfter> {
        next(self.by_address.get(&caller_network(address)), now)?;
        if let Some(account) = account {
            next(self.by_account.get(&self.account(account)), now)?;
        }
        Ok(())
    }

    /// Counts a failure, or an attempt that may fail.
    ///
    /// # Errors
    /// Too many failures. This one is not counted, so that a caller that waits as long as it says is admitted.
    pub fn admit_failure(
        &mut self,
        address: IpAddr,
        account: Option<&str>,
        now: Duration,
    ) -> Result<(), RetryAfter> {
        let network = caller_network(address);
        let used_by_address = next(self.by_address.get(&network), now)?;
        if let Some(account) = account {
            let account = self.account(account);
            let used_by_account = next(self.by_account.get(&account), now)?;
            self.by_account.insert(account, used_by_account);
        }
        self.by_address.insert(network, used_by_address);
        Ok(())
    }

    /// An admitted attempt was right: it no longer counts, and the failures of its account are forgotten. Those of
    /// other accounts from the address stay.
    pub fn record_success(&mut self, address: IpAddr, account: Option<&str>) {
        let network = caller_network(address);
        if let Some(used) = self.by_address.get(&network) {
            self.by_address.insert(network, used.saturating_sub(LIMIT.every()));
        }
        if let Some(account) = account {
            let account = self.account(account);
            self.by_account.remove(&account);
        }
    }

    fn account(&self, name: &str) -> u64 {
        self.hasher.hash_one(name)
    }
}

/// The time until which failures are used after one more.
fn next(used: Option<Duration>, now: Duration) -> Result<Duration, RetryAfter> {
    LIMIT.one_more(used, now).map_err(RetryAfter)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1000);

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// How many failures are admitted now, at most 100.
    fn admitted(
        limiter: &mut GuessLimiter,
        from: &str,
        account: Option<&str>,
        now: Duration,
    ) -> u32 {
        let from = address(from);
        (0..100).map(|_| u32::from(limiter.admit_failure(from, account, now).is_ok())).sum()
    }

    #[test]
    fn ten_failures_are_admitted_at_once_then_one_every_six_seconds() {
        let mut limiter = GuessLimiter::default();
        assert_eq!(admitted(&mut limiter, "10.0.0.1", None, START), 10);
        let refused = limiter.check(address("10.0.0.1"), None, START);
        assert_eq!(refused, Err(RetryAfter(LIMIT.every())));
        assert_eq!(refused.unwrap_err().to_string(), "too many failed attempts: try again in 7 s");
        assert_eq!(admitted(&mut limiter, "10.0.0.1", None, START + LIMIT.every()), 1);
        assert_eq!(admitted(&mut limiter, "10.0.0.1", None, START + LIMIT.every() * 3), 2);
        assert_eq!(admitted(&mut limiter, "10.0.0.1", None, START + LIMIT.every() * 1000), 10);
        assert_eq!(admitted(&mut limiter, "10.0.0.2", None, START), 10, "another address");
    }

    #[test]
    fn an_ipv6_network_and_a_mapped_address_have_one_limit() {
        let mut limiter = GuessLimiter::default();
        assert_eq!(admitted(&mut limiter, "2001:db8::1", None, START), 10);
        assert_eq!(admitted(&mut limiter, "2001:db8::ffff:2", None, START), 0);
        assert_eq!(admitted(&mut limiter, "2001:db8:0:1::1", None, START), 10);
        assert_eq!(admitted(&mut limiter, "10.0.0.1", None, START), 10);
        assert_eq!(admitted(&mut limiter, "::ffff:10.0.0.1", None, START), 0);
    }

    #[test]
    fn an_account_is_limited_from_all_addresses_together() {
        let mut limiter = GuessLimiter::default();
        for host in 0..10 {
            let from = IpAddr::from([10, 0, 0, host]);
            assert_eq!(limiter.admit_failure(from, Some("alice"), START), Ok(()));
        }
        let other = address("10.9.9.9");
        assert!(limiter.admit_failure(other, Some("alice"), START).is_err());
        assert_eq!(
            admitted(&mut limiter, "10.9.9.9", Some("bob"), START),
            10,
            "not counted before"
        );
    }

    #[test]
    fn a_right_password_gives_its_attempt_back_and_frees_its_account_only() {
        let mut limiter = GuessLimiter::default();
        let from = address("10.0.0.1");
        for _ in 0..1000 {
            limiter.admit_failure(from, Some("alice"), START).unwrap();
            limiter.record_success(from, Some("alice"));
        }
        assert_eq!(admitted(&mut limiter, "10.0.0.1", Some("bob"), START), 10);
        limiter.record_success(from, Some("alice"));
        assert_eq!(admitted(&mut limiter, "10.0.0.1", None, START), 1);
        assert!(limiter.check(address("10.0.0.2"), Some("bob"), START).is_err());
    }

    #[test]
    fn a_flood_from_many_addresses_needs_bounded_memory() {
        let mut limiter = GuessLimiter::default();
        for number in 0..200_000_u32 {
            let from = IpAddr::from(number.to_be_bytes());
            let name = number.to_string();
            assert_eq!(limiter.admit_failure(from, Some(&name), START), Ok(()));
        }
        assert!(limiter.by_address.len() <= MOST_ADDRESSES);
        assert!(limiter.by_account.len() <= MOST_ACCOUNTS);
    }

    #[test]
    fn a_throttled_address_stays_throttled_during_a_flood() {
        let mut limiter = GuessLimiter::default();
        assert_eq!(admitted(&mut limiter, "10.0.0.1", None, START), 10);
        for number in 0..20_000_u32 {
            let from = IpAddr::from((0x2000_0000 + number).to_be_bytes());
            limiter.admit_failure(from, None, START).unwrap();
        }
        assert_eq!(admitted(&mut limiter, "10.0.0.1", None, START), 0);
    }
}
