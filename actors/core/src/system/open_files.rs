//! File descriptors of this process: their limit, and the last time when none was free.
//!
//! A failure for lack of free descriptors says nothing about the called host. This module detects such a
//! failure, so that no host is blamed for it.

use std::error::Error;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// How long the shortage is reported in the view, and how often it is logged.
const SHOWN_FOR: Duration = Duration::from_secs(60);

/// The last time without a free descriptor.
struct DescriptorShortage {
    last: Instant,
    logged: Instant,
    times: u64,
}

/// One value for the process, because the limit is one for the process.
static LACK: Mutex<Option<DescriptorShortage>> = Mutex::new(None);

/// How many files this process may open; none if there is no limit.
pub fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// `wanted` connections, or at most `percent` of all descriptors. The process itself needs the others. At
/// least 8.
pub fn at_most(wanted: usize, percent: u64) -> usize {
    let part = limit().unwrap_or(u64::MAX).saturating_mul(percent) / 100;
    wanted.min(usize::try_from(part).unwrap_or(usize::MAX)).max(8)
}

/// Whether an error, or its cause, is that this process or this machine has no free descriptor. If so, it
/// is logged and reported.
pub fn are_exhausted(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        let errno = io.and_then(Errno::from_io_error);
        if matches!(errno, Some(Errno::MFILE | Errno::NFILE)) {
            record_shortage(Instant::now());
            return true;
        }
        // `source` of an I/O error skips the error inside it.
        cause = match io.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}

/// A warning for operators if descriptors ran out recently.
pub fn shortage_warning() -> Option<String> {
    let lack = LACK.lock().unwrap_or_else(PoisonError::into_inner);
    let DescriptorShortage { last, times, .. } = lack.as_ref()?;
    let ago = last.elapsed();
    (ago < SHOWN_FOR).then(|| {
        let limit = limit().map_or("no limit".to_owned(), |limit| limit.to_string());
        format!(
            "this process had no free file descriptor {times} times, last {} s ago (its limit is \
             {limit}). Raise LimitNOFILE or \"ulimit -n\", and find the clients that hold connections open",
            ago.as_secs()
        )
    })
}

fn record_shortage(now: Instant) {
    let mut lack = LACK.lock().unwrap_or_else(PoisonError::into_inner);
    let before = lack.take().filter(|lack| now.saturating_duration_since(lack.last) < SHOWN_FOR);
    let times = before.as_ref().map_or(0, |lack| lack.times) + 1;
    let logged = before.map(|lack| lack.logged);
    let is_due = logged.is_none_or(|logged| now.saturating_duration_since(logged) >= SHOWN_FOR);
    if is_due {
        tracing::warn!(limit = limit(), times, "no free file descriptor: raise LimitNOFILE");
    }
    let logged = logged.filter(|_| !is_due).unwrap_or(now);
    *lack = Some(DescriptorShortage { last: now, logged, times });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_own_descriptors_differs_from_failures_of_others() {
        let of_others = io::Error::from_raw_os_error(Errno::CONNREFUSED.raw_os_error());
        assert!(!are_exhausted(&of_others));
        assert!(shortage_warning().is_none());
        for errno in [Errno::MFILE, Errno::NFILE] {
            let ours = io::Error::from_raw_os_error(errno.raw_os_error());
            assert!(are_exhausted(&ours));
            assert!(are_exhausted(&io::Error::other(ours)), "also as a cause");
        }
        let result = shortage_warning().unwrap();
        assert!(result.contains("4 times") && result.contains("LimitNOFILE"), "{result}");
        assert_eq!(at_most(10, 100), 10);
        assert_eq!(at_most(usize::MAX, 0), 8);
    }
}
