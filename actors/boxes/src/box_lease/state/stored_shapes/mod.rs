//! The shapes of all types that events, outcomes, refusals and snapshot rows of boxes consist of.

use reelyard_core::host::HostAddr;
use reelyard_replication::check_stored_shapes;

use super::event::{BoxEvent, BoxLogEvent, BoxOutcome, BoxRefusal};
use super::leases::lease::LeaseEnd;
use super::pools::spec::BadSpec;
use super::snapshot::BoxSnapshotRow;
use super::stored::StoredBoxState;

#[test]
fn stored_shapes_of_boxes_stay() {
    let host: HostAddr = "10.0.0.1:8888".parse().unwrap();
    check_stored_shapes!(
        "kept.txt",
        values: [host],
        types: [
            BadSpec,
            LeaseEnd,
            BoxLogEvent,
            StoredBoxState,
            BoxEvent,
            BoxOutcome,
            BoxRefusal,
            BoxSnapshotRow,
        ],
    );
}
