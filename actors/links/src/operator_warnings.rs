//! Warns the operator about failures that clients do not see in detail: unreadable shares and
//! uncounted downloads. The warnings are rate-limited, because clients can cause any number of
//! them.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_shares::share_expiry::ShareId;

use crate::access::throttle::Throttle;

/// Shortest interval between two warnings of the same share, and between two about counting.
const EVERY: Duration = Duration::from_secs(60);

/// Rate limiters of the warnings.
pub(crate) struct OperatorWarnings {
    shares: Throttle<ShareId>,
    counting: Throttle<()>,
}

impl OperatorWarnings {
    /// Starts without any earlier warning.
    pub(crate) fn new() -> Self {
        let shares = Throttle::new(NonZeroU32::MIN, EVERY);
        OperatorWarnings { shares, counting: Throttle::new(NonZeroU32::MIN, EVERY) }
    }

    /// Warns that a shared file or directory cannot be read.
    pub(crate) fn warn_unreadable(&self, id: ShareId, why: &dyn Display) {
        if self.shares.one(&id).is_ok() {
            tracing::warn!(?id, why = why.to_string(), "cannot read a shared file or directory");
        }
    }

    /// Warns that a download cannot be counted and is therefore refused.
    pub(crate) fn warn_uncounted(&self, why: &dyn Display) {
        if self.counting.one(&()).is_ok() {
            tracing::warn!(%why, "cannot count downloads of shares, refusing them");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The log after `warn`.
    fn logged(warn: impl FnOnce(&OperatorWarnings)) -> String {
        let log = CapturedLog::default();
        let writer = log.clone();
        let logged = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(logged, || warn(&OperatorWarnings::new()));
        let log = log.0.lock().unwrap();
        String::from_utf8(log.clone()).unwrap()
    }

    #[test]
    fn warnings_are_limited_for_each_share() {
        let log = logged(|warnings| {
            for id in [1, 1, 2, 1] {
                warnings.warn_unreadable(ShareId(id), &"permission denied");
            }
        });
        assert_eq!(log.matches("permission denied").count(), 2, "{log}");
        assert!(log.contains("WARN"), "{log}");
    }

    #[test]
    fn the_warning_of_uncounted_downloads_is_rate_limited() {
        let log = logged(|warnings| {
            for _ in 0..3 {
                warnings.warn_uncounted(&"/data is full");
            }
        });
        assert_eq!(log.matches("/data is full").count(), 1, "{log}");
        assert!(log.contains("WARN"), "{log}");
    }
}
