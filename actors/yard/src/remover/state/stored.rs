//! The stored forms of reasons and endings, which are also JSON of the API. Pure.
//!
//! **Invariant:** a stored form never changes: events and snapshots of all earlier versions hold it.

use crate::settings::remover::KeptBy;
use reelyard_core::clock::Millis;
use reelyard_core::names::FileName;
use reelyard_replication::{stored_form, stored_form_of_event};

use super::ending::Ending;
use super::reason::Reason;

stored_form! {
    /// The reason of a removal.
    pub(in crate::remover) enum StoredReason of Reason {
        Duplicate { copies: u32, wanted: u32, kept_by: KeptBy, },
        Draining { elsewhere: u32, },
        OverLimit { used: u64, limit: u64, low_water: u64, grade: Option<u32>, },
        MakesRoom {
            better: FileName,
            better_size: u64,
            better_grade: Option<u32>,
            better_hits: u32,
            grade: Option<u32>,
        },
        Exchanged { better: FileName, better_size: u64, better_demand: u64, demand: u64, },
    }
}

stored_form_of_event! {
    /// For the field of an event.
    pub(in crate::remover) mod reason_of_event: StoredReason of Reason;
}

stored_form! {
    /// The end of a removal.
    pub(in crate::remover) enum StoredEnding of Ending {
        Removed,
        Absent,
        NotAsked { why: String, },
        Refused { why: String, },
        StillThere { doubted_until: Millis, },
    }
}

stored_form_of_event! {
    /// For the field of an event or of a row.
    pub(in crate::remover) mod ending_of_event: StoredEnding of Ending;
}
