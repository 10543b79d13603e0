//! The shapes of all types that events, outcomes, refusals and snapshot rows of shares consist of.

use reelyard_replication::check_stored_shapes;

use super::event::{ShareEvent, ShareOutcome, ShareRefusal};
use super::event_v2::{NewShareV2, ShareChangesV2};
use super::moves::pending_move::{MoveEnd, MoveRefused, MoveStage};
use super::notification::ShareNotificationKind;
use super::snapshot::ShareSnapshotRow;
use super::values::bad_lifetime::BadLifetime;
use super::values::path::BadPath;
use super::values::share_terms::ShareTerm;
use super::values::value_types::{ShareEnding, ShareKind};

#[test]
fn stored_shapes_of_shares_stay() {
    check_stored_shapes!(
        "kept.txt",
        values: [],
        types: [
            ShareKind,
            ShareEnding,
            BadLifetime,
            BadPath,
            MoveRefused,
            MoveEnd,
            MoveStage,
            ShareNotificationKind,
            ShareTerm,
            ShareEvent,
            NewShareV2,
            ShareChangesV2,
            ShareOutcome,
            ShareRefusal,
            ShareSnapshotRow<'_>,
        ],
    );
}
