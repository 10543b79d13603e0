//! Notice of durable writes.

use std::fmt::Debug;

/// Gets notice of all durable writes, on the store's own thread. For tests that simulate a power failure.
pub trait StoreObserver: Debug + Send + Sync {
    /// Everything written to sled so far is durable. No waiting caller was answered yet.
    fn store_synced(&self);
    /// The mark itself is now durable.
    fn mark_synced(&self);
}
