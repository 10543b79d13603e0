//! The rights of one caller. Pure.

use std::collections::BTreeSet;
use std::fmt;

use reelyard_core::host::HostAddr;
use serde::{Deserialize, Serialize};

use super::role::Role;
use super::scope::AccessScope;

/// Largest number of scopes of one token. Part of the event version.
pub const MOST_SCOPES: usize = 64;

/// The rights of a user or a token. Postcard numbers the variants in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rights {
    /// The scopes of a role.
    Role(Role),
    /// At least one scope, and at most [`MOST_SCOPES`].
    Scopes(BTreeSet<AccessScope>),
    /// The calls that the worker on this host makes, and no scope.
    Worker(HostAddr),
}

/// A set of scopes that no token may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum BadRights {
    /// Rights without a scope allow nothing.
    #[error("a token needs a role or at least one scope")]
    NoScope,
    /// More scopes than one event carries.
    #[error(
        "a token has at most {MOST_SCOPES} scopes, not {count}: give it a role, or use several tokens"
    )]
    TooMany {
        /// The number of scopes.
        count: u64,
    },
}

impl Rights {
    /// Checks that the rights allow something and fit into an event.
    ///
    /// # Errors
    /// No scope, or too many.
    pub fn checked(self) -> Result<Self, BadRights> {
        match &self {
            Rights::Scopes(scopes) if scopes.is_empty() => Err(BadRights::NoScope),
            Rights::Scopes(scopes) if scopes.len() > MOST_SCOPES => {
                Err(BadRights::TooMany { count: scopes.len() as u64 })
            }
            _ => Ok(self),
        }
    }

    /// Whether a call that needs `needed` is allowed.
    pub fn allow(&self, needed: &AccessScope) -> bool {
        match self {
            Rights::Role(role) => role.allows(needed),
            Rights::Scopes(scopes) => scopes.iter().any(|scope| scope.contains(needed)),
            Rights::Worker(_) => false,
        }
    }

    /// Whether these rights allow everything that `other` allows. A caller grants only rights that its own
    /// contain. The rights of a worker need `access:write`.
    pub fn contain(&self, other: &Rights) -> bool {
        match other {
            Rights::Role(role) => role.scopes().iter().all(|scope| self.allow(scope)),
            Rights::Scopes(scopes) => scopes.iter().all(|scope| self.allow(scope)),
            Rights::Worker(_) => self == other || self.allow(&AccessScope::AccessWrite),
        }
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rights::Role(role) => write!(f, "role {role}"),
            Rights::Scopes(scopes) => {
                f.write_str(if scopes.len() == 1 { "scope" } else { "scopes" })?;
                scopes.iter().try_for_each(|scope| write!(f, " {scope}"))
            }
            Rights::Worker(host) => write!(f, "worker {host}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(texts: &[&str]) -> Rights {
        Rights::Scopes(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn worker() -> Rights {
        Rights::Worker("10.0.0.21:8888".parse().unwrap())
    }

    #[test]
    fn a_worker_has_no_scope() {
        for scope in AccessScope::plain() {
            assert!(!worker().allow(&scope), "{scope}");
        }
    }

    #[test]
    fn scopes_allow_themselves_and_those_within() {
        let rights = scopes(&["shares:write", "boxes:lease:gpu"]);
        for allowed in ["shares:write", "shares:read", "boxes:lease:gpu"] {
            assert!(rights.allow(&allowed.parse().unwrap()), "{allowed}");
        }
        for refused in ["boxes:lease", "boxes:lease:cpu", "boxes:read", "yard:read", "access:write"]
        {
            assert!(!rights.allow(&refused.parse().unwrap()), "{refused}");
        }
    }

    #[test]
    fn rights_contain_equal_and_weaker_rights_only() {
        let [viewer, operator, admin] = Role::ALL.map(Rights::Role);
        assert!(admin.contain(&operator) && operator.contain(&viewer) && admin.contain(&worker()));
        assert!(!viewer.contain(&operator) && !operator.contain(&admin));
        let grants = scopes(&["access:write", "shares:read"]);
        assert!(grants.contain(&scopes(&["access:read", "shares:read"])));
        assert!(!grants.contain(&admin) && !grants.contain(&scopes(&["shares:write"])));
        assert!(grants.contain(&worker()) && !operator.contain(&worker()));
        assert!(!worker().contain(&viewer) && worker().contain(&worker()));
        // All scopes together are as strong as the role.
        let all = Rights::Scopes(AccessScope::plain().collect());
        assert!(all.contain(&admin) && admin.contain(&all));
    }

    #[test]
    fn rights_without_a_scope_or_with_too_many_are_refused() {
        assert_eq!(scopes(&[]).checked(), Err(BadRights::NoScope));
        let pools = |count: usize| {
            let scopes = (0..count).map(|number| format!("boxes:lease:p{number}").parse().unwrap());
            Rights::Scopes(scopes.collect())
        };
        assert!(pools(MOST_SCOPES).checked().is_ok());
        assert_eq!(pools(65).checked(), Err(BadRights::TooMany { count: 65 }));
    }

    #[test]
    fn rights_are_shown_in_words() {
        let shown =
            [Rights::Role(Role::Admin), scopes(&["yard:read"]), worker()].map(|r| r.to_string());
        assert_eq!(shown, ["role admin", "scope yard:read", "worker 10.0.0.21:8888"]);
        assert_eq!(
            scopes(&["yard:read", "boxes:lease"]).to_string(),
            "scopes yard:read boxes:lease"
        );
    }
}
