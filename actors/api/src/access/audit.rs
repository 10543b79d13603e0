//! The audit: rows of the API.

use reelyard_access::audit::{AuditActorKind, AuditRow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::instant::Rfc3339;

/// The person or program behind an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditActorInfo {
    /// Kind of the actor.
    pub kind: AuditActorKind,
    /// Its name. Missing for the node itself and for unknown callers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A row of the audit: a change, a refused call, or an act of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditRowInfo {
    /// Number of the row. The first row of a log has 1.
    pub seq: u64,
    /// Time of the act.
    pub at: Rfc3339,
    /// The person or program behind it.
    pub actor: AuditActorInfo,
    /// Address of the caller. Missing for acts of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Id of the call in this document, or a name with a dot, such as `node.started`.
    pub operation: String,
    /// The object of the act, such as `share ABC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// HTTP status of the answer. Missing for acts of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The last word of the problem's `type`, if the call was refused or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Id of the request, from `X-Request-Id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The reason that the caller gave in `Reelyard-Reason`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The changed values before the act, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub before: Option<Value>,
    /// The changed values after the act, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub after: Option<Value>,
    /// Number of similar refused calls that this row stands for, if not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Hash of the row and of everything before it.
    pub chain: String,
}

impl AuditRowInfo {
    /// The row as the API shows it.
    pub fn of(row: &AuditRow) -> Self {
        let record = row.record.clone();
        AuditRowInfo {
            seq: row.seq,
            at: Rfc3339(record.at),
            actor: AuditActorInfo { kind: record.actor.kind, name: record.actor.name },
            from: record.from.map(|from| from.to_string()),
            operation: record.operation,
            subject: record.subject,
            status: record.status,
            problem: record.problem,
            request_id: record.request_id,
            reason: record.reason,
            before: record.before,
            after: record.after,
            count: record.count,
            chain: row.chain.to_string(),
        }
    }
}
