//! The shapes of all types that events, outcomes, refusals and snapshot rows of the settings consist of.

use reelyard_replication::check_stored_shapes;

use super::event::{SettingsEvent, SettingsOutcome, SettingsRefusal};
use super::snapshot::SettingsSnapshotRow;

#[test]
fn stored_shapes_of_settings_stay() {
    check_stored_shapes!(
        "kept.txt",
        values: [],
        types: [SettingsEvent, SettingsOutcome, SettingsRefusal, SettingsSnapshotRow],
    );
}
