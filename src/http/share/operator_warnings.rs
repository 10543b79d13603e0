//! Telling whoever runs this node what clients are not told: of shares that cannot be read, of
//! downloads that cannot be counted. Clients ask as often as they like: that is not to fill the log.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_actors::share_expiry::ShareId;

use super::throttle::Throttle;

/// How often it is told of the same share at most, and of downloads that cannot be counted.
const EVERY: Duration = Duration::from_secs(60);

/// What was told lately.
pub(super) struct OperatorWarnings {
    shares: Throttle<ShareId>,
    counting: Throttle<()>,
}

impl OperatorWarnings {
    /// Nothing was.
    pub(super) fn new() -> Self {
        let shares = Throttle::new(NonZeroU32::MIN, EVERY);
        OperatorWarnings { shares, counting: Throttle::new(NonZeroU32::MIN, EVERY) }
    }

    /// What a share stands for cannot be read.
    pub(super) fn warn_unreadable(&self, id: ShareId, why: &dyn Display) {
        if self.shares.one(&id).is_ok() {
            tracing::warn!(?id, why = why.to_string(), "cannot read a shared file or directory");
        }
    }

    /// A download cannot be counted now, and so is refused.
    pub(super) fn warn_uncounted(&self, why: &dyn Display) {
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

    /// What is in the log after `complain`.
    fn told(complain: impl FnOnce(&OperatorWarnings)) -> String {
        let log = CapturedLog::default();
        let writer = log.clone();
        let told = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(told, || complain(&OperatorWarnings::new()));
        let log = log.0.lock().unwrap();
        String::from_utf8(log.clone()).unwrap()
    }

    #[test]
    fn each_share_is_told_of_once_in_a_while() {
        let log = told(|complaints| {
            for id in [1, 1, 2, 1] {
                complaints.warn_unreadable(ShareId(id), &"permission denied");
            }
        });
        assert_eq!(log.matches("permission denied").count(), 2, "{log}");
        assert!(log.contains("WARN"), "{log}");
    }

    #[test]
    fn that_nothing_is_counted_is_told_once_in_a_while() {
        let log = told(|complaints| {
            for _ in 0..3 {
                complaints.warn_uncounted(&"/data is full");
            }
        });
        assert_eq!(log.matches("/data is full").count(), 1, "{log}");
        assert!(log.contains("WARN"), "{log}");
    }
}
