//! The pause after a commit without an outcome. Without it the same decision would be repeated
//! at once, on a full disk fifty times a second. Pure.

use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use reelyard_core::clock::Millis;

use crate::messages::CommitError;

/// The pause after an error that does not say how long to wait.
const PAUSE: Duration = Duration::from_secs(1);

/// The current pause, and the last error that was logged.
#[derive(Debug, Default)]
pub struct CommitBackoff {
    /// The start of the pause, and its length.
    pause: Option<(Millis, Duration)>,
    reported: Option<Discriminant<CommitError>>,
}

/// The pause after a commit without an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitPause {
    /// How long no decisions are made.
    pub pause: Duration,
    /// Whether the error differs from the last one: only then the owner logs it.
    pub is_news: bool,
}

impl CommitBackoff {
    /// A commit returned without an outcome.
    pub fn uncommitted(&mut self, error: &CommitError, now: Millis) -> CommitPause {
        let pause = match error {
            CommitError::Busy { retry_after } => *retry_after,
            _ => PAUSE,
        };
        self.pause = Some((now, pause));
        let kind = discriminant(error);
        CommitPause { pause, is_news: self.reported.replace(kind) != Some(kind) }
    }

    /// A commit returned with its outcome. Answers whether the one before had none.
    pub fn committed(&mut self) -> bool {
        self.reported.take().is_some()
    }

    /// The rest of the pause. None when it is over, or when the clock was set back.
    pub fn left(&self, now: Millis) -> Option<Duration> {
        let (from, pause) = self.pause?;
        (from <= now && now < from.after(pause)).then(|| from.after(pause).since(now))
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::event::RequestId;

    use super::*;

    #[test]
    fn nothing_is_decided_until_the_pause_is_over() {
        let mut hold = CommitBackoff::default();
        assert_eq!(hold.left(Millis(0)), None);
        let full = CommitError::DiskFull { why: "12 MiB left".to_owned() };
        assert_eq!(
            hold.uncommitted(&full, Millis(5000)),
            CommitPause { pause: PAUSE, is_news: true }
        );
        assert_eq!(hold.left(Millis(5020)), Some(Duration::from_millis(980)));
        assert_eq!(hold.left(Millis(6000)), None);
        assert_eq!(hold.left(Millis(4000)), None, "a clock set back makes no pause longer");
    }

    #[test]
    fn an_error_is_reported_when_it_changes() {
        let mut hold = CommitBackoff::default();
        let mut is_news = |error| hold.uncommitted(&error, Millis(0)).is_news;
        assert!(is_news(CommitError::DiskFull { why: "12 MiB left".to_owned() }));
        assert!(!is_news(CommitError::DiskFull { why: "11 MiB left".to_owned() }));
        assert!(is_news(CommitError::Unknown { request: RequestId(1) }));
        assert!(!is_news(CommitError::Unknown { request: RequestId(2) }));
        assert!(hold.committed() && !hold.committed());
        assert!(hold.uncommitted(&CommitError::Stopped, Millis(0)).is_news);
    }
}
