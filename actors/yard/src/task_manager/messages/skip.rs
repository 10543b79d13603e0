//! Why a file is not planned, and why a round plans nothing.

use reelyard_core::host::HostAddr;
use serde::{Deserialize, Serialize};

/// Why a file gets no copy in a round.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// It has no grade, and is not hot or may not be placed for being hot alone.
    #[error("it has no grade")]
    Ungraded,
    /// No source directory lists it.
    #[error("no source directory has it")]
    NoMaster,
    /// Its name begins with an ignored prefix.
    #[error("its name begins with an ignored prefix")]
    Ignored,
    /// A host has it, as last confirmed.
    #[error("a host already holds it")]
    Placed,
    /// hitcount.history lists it on a host whose inventory was never read.
    #[error("hitcount.history lists it on a host whose files were not read yet")]
    Listed,
    /// An open task copies it.
    #[error("a task already copies it")]
    UnderWay,
    /// It failed and backs off.
    #[error("it is in backoff after a failure")]
    BacksOff,
    /// A check found no regular file at the listed place.
    #[error("its master does not exist as a regular file")]
    MasterAbsent,
    /// Its master could not be checked.
    #[error("its master could not be checked")]
    MasterUnknown,
    /// Its master is being checked.
    #[error("its master is being checked")]
    LookUnderWay,
    /// It is larger than the room of any destination.
    #[error("it is larger than the free room of every destination")]
    TooBig,
    /// No destination has room for it after the running copies have arrived.
    #[error("no destination has room for it now")]
    NoRoom,
    /// Only old hosts have room, and their protocol cannot carry its name.
    #[error("only old hosts have room, and their protocol cannot carry its name")]
    NameNotCarried,
    /// No free source can serve a destination with room.
    #[error("no free source can serve a destination that has room")]
    NoPair,
}

/// Why a host takes no part in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// It is being drained.
    Draining,
    /// An operator set the mode "maintenance".
    Maintenance,
    /// It was silent for too long, so that it is presumed lost.
    Lost,
    /// It does not answer its probes.
    NotUp,
    /// The program that answers there is unknown.
    KindUnknown,
    /// Its files were not listed since this node started.
    InventoryUnknown,
    /// Its disk is not known.
    DiskUnknown,
    /// It backs off after a failure.
    BacksOff,
    /// It answers its probes, but calls to it keep failing.
    CallsFail,
    /// It is on probation after failures, and its only allowed copy is running.
    OnTrial,
    /// Others use more of its link than its mark allows.
    BusyLink,
}

impl Unusable {
    /// Whether the reason is in the record of the host, so that it does not end without a
    /// decision.
    pub fn is_on_record(self) -> bool {
        matches!(self, Unusable::Draining | Unusable::Maintenance | Unusable::Lost)
    }
}

/// The input that a whole round waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerWaits {
    /// The ranking was not read yet.
    Ranking,
    /// The source directories were not listed yet.
    Masters,
    /// These destinations answer, but their inventories were never read, so any file may be
    /// there.
    FirstLook(Vec<HostAddr>),
    /// No source is up and free.
    Source,
    /// No destination is usable.
    Destination,
    /// This many masters must be checked first.
    Looks(usize),
    /// Nothing: every file that can have a copy has one or gets one.
    Nothing,
    /// Planning is switched off.
    SwitchedOff,
    /// The inputs of this new leader are missing, older or smaller than those on record.
    Inputs,
}
