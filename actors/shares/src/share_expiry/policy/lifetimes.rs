//! How long shares may last. Pure.

use reelyard_core::clock::Millis;

use crate::share_expiry::settings::AllowedLifetimes;
use crate::share_expiry::state::values::bad_lifetime::BadLifetime;
use crate::share_expiry::state::values::share_lifetime::ShareLifetime;
use crate::share_expiry::state::values::value_types::Deadline;

impl AllowedLifetimes {
    /// The deadline of a share that gets its terms at `now`.
    pub fn deadline(&self, term: ShareLifetime, now: Millis) -> Result<Deadline, BadLifetime> {
        let at = match term {
            ShareLifetime::Never => return self.never(),
            ShareLifetime::Default => match self.default_ttl {
                Some(ttl) => now.after(ttl),
                None => return self.never(),
            },
            ShareLifetime::Ttl(ttl) => now.after(ttl),
            ShareLifetime::At(at) => at,
        };
        if at < now.after(self.min_ttl) || at <= now {
            return Err(BadLifetime::TooShort { least: self.min_ttl });
        }
        match self.max_ttl {
            Some(most) if at > now.after(most) => Err(BadLifetime::TooLong { most }),
            // Not "never", because a client that gives a deadline wants one.
            _ if at > Millis::LAST => Err(BadLifetime::BeyondCalendar),
            _ => Ok(Deadline::at(at)),
        }
    }

    fn never(&self) -> Result<Deadline, BadLifetime> {
        if self.allow_never { Ok(Deadline::NEVER) } else { Err(BadLifetime::NeverNotAllowed) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn policy() -> AllowedLifetimes {
        AllowedLifetimes {
            default_ttl: Some(Duration::from_secs(60)),
            min_ttl: Duration::from_secs(10),
            max_ttl: Some(Duration::from_secs(100)),
            allow_never: false,
        }
    }

    #[test]
    fn both_sides_of_the_shortest_and_the_longest_life() {
        let ttl = |ms| policy().deadline(ShareLifetime::Ttl(Duration::from_millis(ms)), NOW);
        let at = |ms| policy().deadline(ShareLifetime::At(Millis(NOW.0 + ms)), NOW);
        let short = Err(BadLifetime::TooShort { least: Duration::from_secs(10) });
        let long = Err(BadLifetime::TooLong { most: Duration::from_secs(100) });
        assert_eq!((ttl(9_999), at(9_999)), (short.clone(), short.clone()));
        assert!(ttl(10_000).is_ok() && at(10_000).is_ok());
        assert!(ttl(100_000).is_ok() && at(100_000).is_ok());
        assert_eq!((ttl(100_001), at(100_001)), (long.clone(), long));
        assert_eq!(at(-5), short);
        assert_eq!(
            policy().deadline(ShareLifetime::Default, NOW),
            Ok(Deadline::at(Millis(1_060_000)))
        );
    }

    #[test]
    fn a_share_without_any_life_is_refused_also_without_a_shortest() {
        let policy = AllowedLifetimes { min_ttl: Duration::ZERO, ..policy() };
        assert!(policy.deadline(ShareLifetime::At(NOW), NOW).is_err());
        assert!(policy.deadline(ShareLifetime::Ttl(Duration::ZERO), NOW).is_err());
        assert!(policy.deadline(ShareLifetime::Ttl(Duration::from_millis(1)), NOW).is_ok());
    }

    #[test]
    fn endless_shares_need_permission() {
        let forever = AllowedLifetimes { default_ttl: None, max_ttl: None, ..policy() };
        let allowed = AllowedLifetimes { allow_never: true, ..forever.clone() };
        for term in [ShareLifetime::Never, ShareLifetime::Default] {
            assert_eq!(forever.deadline(term, NOW), Err(BadLifetime::NeverNotAllowed));
            assert_eq!(allowed.deadline(term, NOW), Ok(Deadline::NEVER));
        }
        for term in
            [ShareLifetime::At(Millis(Millis::LAST.0 + 1)), ShareLifetime::Ttl(Duration::MAX)]
        {
            assert_eq!(forever.deadline(term, NOW), Err(BadLifetime::BeyondCalendar));
            assert_eq!(allowed.deadline(term, NOW), Err(BadLifetime::BeyondCalendar));
        }
        let last = ShareLifetime::At(Millis::LAST);
        assert_eq!(forever.deadline(last, NOW), Ok(Deadline::at(Millis::LAST)));
    }
}
