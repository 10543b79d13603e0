//! Signs of life of a copy that waits for its disk.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::attempt::FetchProgressCallback;

/// How often a copy gives a sign of life.
const EVERY: Duration = Duration::from_secs(1);

/// Smaller files are synced before a sign of life could be missed.
pub(super) const LARGE: u64 = 16 << 20;

/// Runs `work`, which may take long for a copy of `bytes`. Meanwhile it reports to `progress` that all
/// bytes have arrived.
pub(in crate::downloader) fn meanwhile<T>(
    bytes: u64,
    progress: &FetchProgressCallback<'_>,
    work: impl FnOnce() -> T,
) -> T {
    if bytes < LARGE {
        return work();
    }
    let (working, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                progress(bytes);
            }
        });
        let done = work();
        drop(working);
        done
    })
}
