//! Roles of people and programs. Pure.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::scope::AccessScope;

/// A fixed set of scopes. A later role has all scopes of an earlier one. Postcard numbers the variants in this
/// order.
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
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads everything except users, tokens, sessions and the audit.
    Viewer,
    /// Also changes the yard, shares and boxes, and reads the audit.
    Operator,
    /// Has every scope.
    Admin,
}

/// A text that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no role: expected viewer, operator or admin")]
pub struct BadRole {
    /// The refused text, or its beginning.
    pub text: String,
}

static VIEWER: [AccessScope; 5] = [
    AccessScope::YardRead,
    AccessScope::SharesRead,
    AccessScope::BoxesRead,
    AccessScope::MetricsRead,
    AccessScope::ConfigRead,
];

static OPERATOR: [AccessScope; 6] = [
    AccessScope::YardWrite,
    AccessScope::SharesWrite,
    AccessScope::BoxesWrite,
    AccessScope::MetricsRead,
    AccessScope::ConfigRead,
    AccessScope::AuditRead,
];

static ADMIN: [AccessScope; 8] = [
    AccessScope::YardWrite,
    AccessScope::SharesWrite,
    AccessScope::BoxesWrite,
    AccessScope::MetricsRead,
    AccessScope::ConfigWrite,
    AccessScope::AccessWrite,
    AccessScope::AuditRead,
    AccessScope::ClusterWrite,
];

impl Role {
    /// All roles, the weakest first.
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];

    /// The strongest scopes of the role. They contain all others.
    pub fn scopes(self) -> &'static [AccessScope] {
        match self {
            Role::Viewer => &VIEWER,
            Role::Operator => &OPERATOR,
            Role::Admin => &ADMIN,
        }
    }

    /// Whether the role allows `needed`.
    pub fn allows(self, needed: &AccessScope) -> bool {
        self == Role::Admin || self.scopes().iter().any(|scope| scope.contains(needed))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        })
    }
}

impl FromStr for Role {
    type Err = BadRole;

    fn from_str(text: &str) -> Result<Self, BadRole> {
        let role = Role::ALL.into_iter().find(|role| role.to_string() == text);
        role.ok_or_else(|| BadRole { text: text.chars().take(100).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain scopes that a role allows.
    fn allowed(role: Role) -> Vec<String> {
        let scopes = AccessScope::plain().filter(|scope| role.allows(scope));
        scopes.map(|scope| scope.to_string()).collect()
    }

    #[test]
    fn roles_allow_exactly_their_scopes() {
        let viewer = ["yard:read", "shares:read", "boxes:read", "metrics:read", "config:read"];
        assert_eq!(allowed(Role::Viewer), viewer);
        let operator = [
            "yard:read",
            "yard:write",
            "shares:read",
            "shares:write",
            "boxes:read",
            "boxes:write",
            "boxes:lease",
            "metrics:read",
            "config:read",
            "audit:read",
        ];
        assert_eq!(allowed(Role::Operator), operator);
        assert_eq!(allowed(Role::Admin).len(), AccessScope::plain().count());
        let lease = "boxes:lease:gpu".parse().unwrap();
        assert!(Role::Operator.allows(&lease) && !Role::Viewer.allows(&lease));
    }

    #[test]
    fn the_scopes_of_an_admin_contain_all_scopes() {
        for needed in AccessScope::plain() {
            let contained = Role::Admin.scopes().iter().any(|scope| scope.contains(&needed));
            assert!(contained, "{needed}");
        }
    }

    #[test]
    fn a_role_is_read_as_it_is_written() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
            assert_eq!(serde_json::to_string(&role).unwrap(), format!("\"{role}\""));
        }
        assert!("Admin".parse::<Role>().is_err() && "".parse::<Role>().is_err());
    }
}
