//! The shapes of all types that events, outcomes, refusals and snapshot rows of removals consist of.

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_replication::check_stored_shapes;

use super::event::{RemovalEvent, RemovalOutcome, RemovalRefusal};
use super::snapshot::RemoverSnapshotRow;
use super::stored::{StoredEnding, StoredReason};
use crate::settings::remover::KeptBy;

#[test]
fn stored_shapes_of_removals_stay() {
    let host: HostAddr = "10.0.0.1:8888".parse().unwrap();
    let file = FileName::new("a.mpg").unwrap();
    check_stored_shapes!(
        "kept.txt",
        values: [host, file],
        types: [
            KeptBy,
            StoredReason,
            StoredEnding,
            RemovalEvent,
            RemovalOutcome,
            RemovalRefusal,
            RemoverSnapshotRow,
        ],
    );
}
