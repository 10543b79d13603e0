//! Telling whoever runs this node of shares that cannot be read. Clients ask as often as they like:
//! that is not to fill the log.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_actors::share_expiry::ShareId;

use super::throttle::Throttle;

/// How often it is told of the same share at most.
const EVERY: Duration = Duration::from_secs(60);

/// What was told lately.
pub(super) struct Complaints(Throttle<ShareId>);

impl Complaints {
    /// Nothing was.
    pub(super) fn new() -> Self {
        Complaints(Throttle::new(NonZeroU32::MIN, EVERY))
    }

    /// What a share stands for cannot be read.
    pub(super) fn tell(&self, id: ShareId, why: &dyn Display) {
        if self.0.one(&id).is_ok() {
            tracing::warn!(?id, %why, "what a share stands for cannot be read");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_share_is_told_of_once_in_a_while() {
        let log = Log::default();
        let writer = log.clone();
        let told = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(told, || {
            let complaints = Complaints::new();
            for id in [1, 1, 2, 1] {
                complaints.tell(ShareId(id), &"it may not be read");
            }
        });
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(log.matches("it may not be read").count(), 2, "{log}");
        assert!(log.contains("WARN"), "{log}");
    }
}
