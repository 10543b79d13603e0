//! Options of the commands that lease boxes.

use clap::Args;
use reelyard_api::{Span, WantedLease};
use reelyard_boxes::box_lease::Priority;
use reelyard_protocol::boxes::Holder;

use super::option_values::priority;

/// The options that `reelyard box acquire` and `reelyard box run` share.
#[derive(Clone, Debug, Args)]
pub struct LeaseOptions {
    /// Lifetime of a lease without a renewal, for example 30s [default: that of the pool].
    #[arg(long)]
    ttl: Option<Span>,
    /// Longest wait for the boxes, for example 5m; 0s does not wait.
    #[arg(long, default_value = "0s")]
    wait: Span,
    /// Priority from -100 to 100; higher is served first.
    #[arg(long, default_value = "0", allow_negative_numbers = true, value_parser = priority)]
    priority: Priority,
    /// Idempotency key of one attempt of a job, for example job-17/2. A repeated attempt with the
    /// same key gets the same leases. It is refused after one of them has ended.
    #[arg(long)]
    request_id: Option<String>,
    /// Take over the leases that the same request gave to another holder, which must have ended.
    #[arg(long, requires = "request_id")]
    take_over: bool,
}

impl LeaseOptions {
    /// The request of `holder` for `count` boxes.
    pub fn request(self, holder: Holder, count: u32) -> WantedLease {
        let LeaseOptions { ttl, wait, priority, request_id, take_over } = self;
        WantedLease { holder, ttl, wait, priority, count, request_id, take_over }
    }
}
