//! Single boxes and their audit: requests and answers of the API.

use reelyard_boxes::box_lease::{
    AuditEntry, BoxLogEntry, BoxLogEvent, BoxPhase, BoxState, BoxStatus, LeaseEnd,
};
use reelyard_protocol::boxes::{BoxNumber, FenceToken, HookOutput, PoolName, Reason, SlotId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::lease::LeaseInfo;
use crate::instant::Rfc3339;

/// State of one box of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BoxInfo {
    /// Number of the box in its pool.
    pub number: BoxNumber,
    /// Current state of the box.
    pub state: BoxPhase,
    /// Time of the last change of the state.
    pub since: Rfc3339,
    /// Whether the box is removed once it is free, because its pool became smaller.
    pub retiring: bool,
    /// Fencing token of its current or last lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<FenceToken>,
    /// Id of the box for its current or last holder. Missing once the box is clean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotId>,
    /// The lease of the current holder, if the box is leased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseInfo>,
    /// End of the last lease, while the box is being cleaned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<LeaseEnd>,
    /// Consecutive failures of its cleanup or preparation.
    pub failures: u32,
    /// Evidence: the reason of the quarantine, or the output of the last failed cleaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Operator who quarantined it. Missing after a failed cleaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantined_by: Option<String>,
}

impl From<&BoxStatus> for BoxInfo {
    fn from(status: &BoxStatus) -> Self {
        let record = &status.record;
        let info = BoxInfo {
            number: status.number,
            state: record.state.phase(),
            since: Rfc3339(record.since),
            retiring: record.retiring,
            token: record.token,
            slot: record.slot,
            lease: status.lease.as_ref().map(LeaseInfo::live),
            after: None,
            failures: record.init_failures,
            output: None,
            quarantined_by: None,
        };
        match &record.state {
            BoxState::Draining(draining) => BoxInfo {
                after: draining.after,
                failures: draining.failures,
                output: draining.output.as_ref().map(plain_text),
                ..info
            },
            BoxState::Quarantined { output, by } => {
                BoxInfo { output: Some(plain_text(output)), quarantined_by: by.clone(), ..info }
            }
            _ => info,
        }
    }
}

fn plain_text(output: &HookOutput) -> String {
    output.as_str().to_owned()
}

/// Request to quarantine a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedQuarantine {
    /// Reason, for the audit and for other operators.
    pub reason: Reason,
}

/// One line of the audit of boxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum AuditLine {
    /// A lease that ended.
    Lease(LeaseInfo),
    /// A command ran for a box, or the box was quarantined.
    #[serde(rename = "care")]
    BoxLog(BoxLogLine),
}

impl From<&AuditEntry> for AuditLine {
    fn from(entry: &AuditEntry) -> Self {
        match entry {
            AuditEntry::Lease(ended) => AuditLine::Lease(LeaseInfo::ended(ended)),
            AuditEntry::BoxLog(line) => AuditLine::BoxLog(line.into()),
        }
    }
}

/// A run of a command for a box with its output, or a quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BoxLogLine {
    /// Time of the event.
    pub at: Rfc3339,
    /// Pool of the box.
    pub pool: PoolName,
    /// Number of the box in its pool.
    pub number: BoxNumber,
    /// Fencing token of its last lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<FenceToken>,
    /// Id of the box for that lease, if the pool has a range of ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotId>,
    /// Kind of the event.
    pub what: BoxLogKind,
    /// Number of the failed attempt to clean, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Output of the command, or the operator's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Operator who asked for it. Missing when the node decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Events of a box other than grants and ends of leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoxLogKind {
    /// The preparation failed.
    InitFailed,
    /// The box was cleaned.
    Cleaned,
    /// The cleaning command failed.
    CleanFailed,
    /// A check by its host found it dirty.
    FoundDirty,
    /// The box was quarantined.
    Quarantined,
    /// The quarantine ended: the box is cleaned for use.
    Unquarantined,
    /// A client used a lease of the box with the fencing token of another lease.
    WrongToken,
    /// The pool took over boxes of other pools on its host.
    Adopted,
}

impl From<&BoxLogEntry> for BoxLogLine {
    fn from(line: &BoxLogEntry) -> Self {
        let wrong_token: HookOutput;
        let (what, attempt, output, by) = match &line.news {
            BoxLogEvent::InitFailed(output) => (BoxLogKind::InitFailed, None, Some(output), None),
            BoxLogEvent::Cleaned(output) => (BoxLogKind::Cleaned, None, output.as_ref(), None),
            BoxLogEvent::CleanFailed { attempt, output } => {
                (BoxLogKind::CleanFailed, Some(*attempt), Some(output), None)
            }
            BoxLogEvent::FoundDirty(output) => (BoxLogKind::FoundDirty, None, Some(output), None),
            BoxLogEvent::Quarantined { output, by } => {
                (BoxLogKind::Quarantined, None, Some(output), by.clone())
            }
            BoxLogEvent::Unquarantined { by } => {
                (BoxLogKind::Unquarantined, None, None, Some(by.clone()))
            }
            BoxLogEvent::Adopted { output, by } => {
                (BoxLogKind::Adopted, None, Some(output), Some(by.clone()))
            }
            BoxLogEvent::WrongToken { given, times } => {
                wrong_token =
                    HookOutput::cut(&format!("token {given} was given, {times} times in all"));
                (BoxLogKind::WrongToken, None, Some(&wrong_token), None)
            }
        };
        BoxLogLine {
            at: Rfc3339(line.at),
            pool: line.pool.clone(),
            number: line.number,
            token: line.token,
            slot: line.slot,
            what,
            attempt,
            output: output.map(plain_text),
            by,
        }
    }
}
