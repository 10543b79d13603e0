//! The journal's store: sled, used in a durable way.
//!
//! **Invariant:** a write is answered only after `flush` *and* `sync_data` on the log file. On Linux sled's
//! flush alone leaves the data in the page cache.
//!
//! **Invariant:** every write that must be durable runs on the thread of the store, in the order of the
//! calls. Many writes share one flush and its head.
//!
//! **Invariant:** nothing in a store is changed before it is known to be whole.

pub(crate) mod database;
pub(crate) mod disk;
mod error;
mod journal_store;
mod observer;
pub(crate) mod opening;
mod opening_error;
pub(crate) mod record;
mod snapshot_readers;
mod snapshots;
mod writer;

pub(crate) use database::head::Purged;
pub(crate) use database::snapshot_manifest::SnapshotManifest;
pub(crate) use database::trees::Trees;
pub(crate) use disk::disk_space::DiskSpace;
pub use disk::identity_file::StoreIdentity;
pub(crate) use disk::skipped_entries::SkippedEntries;
pub use disk::skipped_entries::SkippedEntry;
pub(crate) use error::StoreError;
pub(crate) use journal_store::{JournalStore, StoreSettings};
pub use observer::StoreObserver;
pub use opening_error::OpenError;
pub(crate) use snapshots::{SnapshotInstalled, SnapshotReader, SnapshotWriter};
