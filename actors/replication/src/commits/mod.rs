//! Commits of an owner: in a batch, in flight, answered once, and after a loss.

pub mod batch;
pub(super) mod commit_backoff;
pub(super) mod idempotency_ledger;
pub(super) mod in_flight;
