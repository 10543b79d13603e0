//! Running copies: their order, their threads, and their end.

pub(in crate::downloader) mod active_copy;
pub mod batching;
pub mod cancel;
pub(in crate::downloader) mod copy_batch;
pub(super) mod copy_context;
pub(in crate::downloader) mod copy_threads;
pub mod order;
pub(in crate::downloader) mod publisher;
pub mod transfers;
