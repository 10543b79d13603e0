//! Decides while an answer is sent whether it may continue.

use std::time::Duration;

use tokio::time::sleep;

/// Interval of the checks of a running answer.
pub const CHECK_EVERY: Duration = Duration::from_millis(250);

/// Decides while an answer is sent whether it may continue.
///
/// After the last byte was handed over, the kernel may still hold some megabytes for a slow client. They can
/// be discarded until the connection reads its next request or ends.
pub trait SendWatch: Send {
    /// Whether the answer may continue. Called between chunks, so it must be cheap.
    fn may_continue(&mut self) -> bool;
}

/// Returns when `watch` ends the answer; never without a watch.
pub(crate) async fn until_cut(watch: Option<Box<dyn SendWatch>>) {
    let Some(mut watch) = watch else { return std::future::pending().await };
    while watch.may_continue() {
        sleep(CHECK_EVERY).await;
    }
}
