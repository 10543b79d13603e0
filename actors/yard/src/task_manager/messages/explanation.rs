//! The explanation of a file: stable codes, their texts, and the numbers behind them.

use std::net::IpAddr;

use reelyard_core::backoff::BackOff;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::task_id_text::optional_id_in_text;
use reelyard_protocol::worker::TaskId;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::skip::{Skip, Unusable};

/// The decision on a file, as a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum PlanVerdict {
    /// Nothing prevents a copy.
    #[error("nothing prevents it: the next round would plan it")]
    Goes,
    /// Sources that could serve it are busy.
    #[error("it waits for its turn: every source that could serve it is busy")]
    WaitsForTurn,
    /// There is no ranking.
    #[error("the ranking was not read yet")]
    RankingUnread,
    /// The source directories were not listed.
    #[error("the source directories were not listed yet")]
    MastersUnlisted,
    /// A destination answers but has not reported its files yet.
    #[error("a destination has not listed its files yet, and any file might be there")]
    FirstLook,
    /// No destination is usable.
    #[error("no destination is up, listed and able to take copies")]
    NoDestination,
    /// Planning is off in the settings.
    #[error("planning is switched off: task.mode = \"off\"")]
    SwitchedOff,
    /// This new leader does not plan by its inputs.
    #[error("the inputs of the leader are missing, older or smaller than those on record")]
    InputsRefused,
    /// The file is skipped for this reason.
    #[error(transparent)]
    #[serde(untagged)]
    Skipped(Skip),
}

impl PlanVerdict {
    /// All verdicts except `Skipped`.
    const OTHERS: [PlanVerdict; 8] = [
        PlanVerdict::Goes,
        PlanVerdict::WaitsForTurn,
        PlanVerdict::RankingUnread,
        PlanVerdict::MastersUnlisted,
        PlanVerdict::FirstLook,
        PlanVerdict::NoDestination,
        PlanVerdict::SwitchedOff,
        PlanVerdict::InputsRefused,
    ];
}

// By hand: the derive macro does not support the one untagged variant.
impl PartialSchema for PlanVerdict {
    fn schema() -> RefOr<Schema> {
        let words = PlanVerdict::OTHERS.map(|verdict| serde_json::to_value(verdict).ok());
        let others = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(words.into_iter().flatten()));
        OneOfBuilder::new()
            .description(Some(
                "The decision on a file: one of these codes, or the reason why it is skipped.",
            ))
            .item(others)
            .item(Ref::from_schema_name(Skip::name()))
            .into()
    }
}

impl ToSchema for PlanVerdict {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Skip::name().into_owned(), Skip::schema()));
        Skip::schemas(schemas);
    }
}

/// Whether a host can take part in a copy of the file, as a stable code.
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
pub enum HostUsability {
    /// It would take part now.
    #[error("usable")]
    Yes,
    /// It is being drained.
    #[error("it is being drained")]
    Draining,
    /// An operator set the mode "maintenance".
    #[error("it is in maintenance")]
    Maintenance,
    /// It was silent for hosts.presumed_lost_after.
    #[error("it is presumed lost after a long silence")]
    Lost,
    /// It does not answer its probes.
    #[error("it is not up")]
    NotUp,
    /// The program at its address is not known yet.
    #[error("the program at its address is not known yet")]
    KindUnknown,
    /// Its inventory was never read.
    #[error("its inventory was never read")]
    InventoryUnknown,
    /// Its disk is not known.
    #[error("its disk usage is not known yet")]
    DiskUnknown,
    /// It backs off after a failure.
    #[error("it is in backoff after failures")]
    BacksOff,
    /// Calls to it keep failing.
    #[error("its circuit breaker is open: calls to it failed")]
    CallsFail,
    /// It is on probation, and its only allowed copy is running.
    #[error("it is on probation: one copy at a time, and one is under way")]
    OnTrial,
    /// Others use more of its link than its mark allows.
    #[error("its link is too busy with other traffic")]
    BusyLink,
    /// It holds the file.
    #[error("it holds the file")]
    Holds,
    /// The file does not fit, even if all open tasks to the host ended.
    #[error("the file does not fit")]
    TooBig,
    /// The file does not fit, because running copies need the remaining room.
    #[error("the file does not fit: copies that are under way need the remaining room")]
    NoRoom,
    /// Its old cfw protocol cannot transport the file name.
    #[error("its old cfw protocol cannot carry the file name")]
    NameNotCarried,
    /// No free source can serve it now.
    #[error("no free source can serve this destination")]
    NoSource,
    /// It is at its limit of concurrent copies.
    #[error("it is at its limit of concurrent copies")]
    Busy,
    /// It has no data port, and every destination that could take the file needs one.
    #[error("it has no data port, and every destination that could take the file needs one")]
    NoDataPort,
    /// No destination can take the file from it now.
    #[error("no destination that could take the file can use this source")]
    NoDestination,
}

impl From<Unusable> for HostUsability {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Draining => HostUsability::Draining,
            Unusable::Maintenance => HostUsability::Maintenance,
            Unusable::Lost => HostUsability::Lost,
            Unusable::NotUp => HostUsability::NotUp,
            Unusable::KindUnknown => HostUsability::KindUnknown,
            Unusable::InventoryUnknown => HostUsability::InventoryUnknown,
            Unusable::DiskUnknown => HostUsability::DiskUnknown,
            Unusable::BacksOff => HostUsability::BacksOff,
            Unusable::CallsFail => HostUsability::CallsFail,
            Unusable::OnTrial => HostUsability::OnTrial,
            Unusable::BusyLink => HostUsability::BusyLink,
        }
    }
}

/// The state of the file's master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MasterState {
    /// No source directory lists it.
    NotListed,
    /// A source directory lists it; it was not checked yet.
    Listed,
    /// A regular file was found.
    Found {
        /// Directory of the file.
        dir: String,
        /// Its size in bytes.
        size: u64,
    },
    /// It is listed, but no regular file is there.
    Absent,
    /// It could not be checked.
    Unknown,
}

/// A destination that holds the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HeldOn {
    /// The host that holds a copy.
    pub host: HostAddr,
    /// Time when its files were last confirmed. Missing until that is durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Millis>,
}

/// Load of a host's link in the direction that copies use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LinkLoad {
    /// The share of the link that other traffic uses, in percent. For a source it is the sent traffic,
    /// for a destination the busier direction.
    pub used_percent: u32,
    /// Limit in percent: above it the host gets no new copies. Missing if no limit is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_percent: Option<u32>,
}

/// The state of a destination, with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DestinationState {
    /// Address of the destination.
    pub host: HostAddr,
    /// Whether it can take a copy, and if not, why.
    #[serde(rename = "says")]
    pub usability: HostUsability,
    /// Free bytes after all running copies have arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u64>,
    /// Bytes of the running copies to it that have not arrived.
    pub on_its_way: u64,
    /// Running copies to it.
    pub fetching: usize,
    /// Number of turns until its turn; only with task.placement = "ring".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<usize>,
    /// Load of its link. Missing if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkLoad>,
    /// Current backoff or probation, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOff>,
}

/// The state of a source, with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SourceState {
    /// Address of the source.
    pub host: HostAddr,
    /// Whether it can serve a copy, and if not, why.
    #[serde(rename = "says")]
    pub usability: HostUsability,
    /// Running copies from it.
    pub serving: usize,
    /// Number of further copies that it may serve now.
    pub free: usize,
    /// Load of its link. Missing if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkLoad>,
    /// Current backoff or probation, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOff>,
    /// At most 10 of the destinations with which it backs off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_with: Vec<HostAddr>,
    /// Number of the other destinations with which it backs off.
    #[serde(default)]
    pub not_with_left_out: u64,
}

/// Hosts that an explanation only counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostsLeftOut {
    /// Whether they can take part, and if not, why.
    #[serde(rename = "says")]
    pub usability: HostUsability,
    /// Number of these hosts.
    pub hosts: u64,
}

/// Why a file is or is not planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Explanation {
    /// The decision on the file.
    pub verdict: PlanVerdict,
    /// Its rank, 1 = best. Missing if grade.info does not name the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its rising hits; 0 when it is not hot.
    pub hits: u32,
    /// Number of files before it that need a copy. Missing if it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// State of the master that is copied.
    pub master: MasterState,
    /// At most 1000 of the hosts that hold it, as last confirmed. Of more, those that are down come last.
    pub held_on: Vec<HeldOn>,
    /// Number of the other hosts that hold it.
    #[serde(default)]
    pub held_on_left_out: u64,
    /// At most 1000 of the IPs for which hitcount.history lists it.
    #[schema(value_type = Vec<String>)]
    pub listed_on: Vec<IpAddr>,
    /// Number of the other IPs for which hitcount.history lists it.
    #[serde(default)]
    pub listed_on_left_out: u64,
    /// The task that copies it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_id_in_text")]
    #[schema(value_type = Option<String>)]
    pub task: Option<TaskId>,
    /// Backoff of the file itself, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOff>,
    /// State of at most 500 sources. Of more, those that can serve the file come first.
    pub sources: Vec<SourceState>,
    /// Number of the other sources by state. Missing if all are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources_left_out: Vec<HostsLeftOut>,
    /// State of at most 500 destinations. Of more, those that hold the file or can take it come first.
    pub destinations: Vec<DestinationState>,
    /// Number of the other destinations by state. Missing if all are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destinations_left_out: Vec<HostsLeftOut>,
}
