//! The nodes and old cfms that give orders to this worker.

pub mod node_link;
pub(in crate::downloader) mod outbox;
pub mod seen_managers;
