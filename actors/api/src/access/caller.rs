//! The caller of a request, as it sees itself.

use reelyard_access::rights::{AccessScope, Caller, Rights, Role, Subject};
use reelyard_core::host::HostAddr;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether a person or a program calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallerKind {
    /// A person with a session.
    User,
    /// A program, or a person with a token.
    Token,
    /// The program on a storage host.
    Worker,
    /// The node itself.
    Node,
}

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallerInfo {
    /// Kind of the caller.
    pub kind: CallerKind,
    /// The caller in the audit and in histories.
    pub name: String,
    /// Role of the caller. Missing for a caller with scopes, and for a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// All scopes of the caller. A scope that another one contains is not listed.
    #[schema(value_type = Vec<String>)]
    pub scopes: Vec<AccessScope>,
    /// The host whose worker it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<HostAddr>,
}

impl From<&Caller> for CallerInfo {
    fn from(Caller { subject, rights }: &Caller) -> Self {
        let kind = match subject {
            Subject::User(_) => CallerKind::User,
            Subject::Token(_) | Subject::Legacy => CallerKind::Token,
            Subject::Worker(_) => CallerKind::Worker,
            Subject::Node => CallerKind::Node,
        };
        let (role, scopes, worker) = match rights {
            Rights::Role(role) => (Some(*role), role.scopes().to_vec(), None),
            Rights::Scopes(scopes) => (None, scopes.iter().cloned().collect(), None),
            Rights::Worker(host) => (None, Vec::new(), Some(*host)),
        };
        CallerInfo { kind, name: subject.to_string(), role, scopes, worker }
    }
}
