//! Moves a snapshot to another node, beside the log.
//!
//! The sender asks where to go on, sends parts, and asks again until the receiver has installed the snapshot. A broken
//! connection costs the part that was under way. The receiver checks the whole snapshot away from the raft thread, and
//! only then hands it to openraft. A damaged one is fetched once more and changes nothing.

mod message;
mod receiver;
mod sender;

pub(super) use message::{SnapshotPart, SnapshotProgress, SnapshotSource};
pub(super) use receiver::SnapshotReceiver;
pub(super) use sender::{PART_TIMEOUT, SnapshotNotSent, SnapshotSender};
