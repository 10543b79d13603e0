//! Scopes: the smallest rights. Pure.

use std::fmt;
use std::str::FromStr;

use reelyard_core::text_form;
use reelyard_protocol::boxes::PoolName;

/// Longest text of a refused scope that an error repeats, in characters.
const LONGEST_SHOWN: usize = 100;

/// A right of a caller. Its text is `area:verb`, or `boxes:lease:POOL`. Sets of scopes are stored in this order: add
/// new ones at the end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessScope {
    /// Reads hosts, files, tasks, plans and removals.
    YardRead,
    /// Plans and cancels copies, removes and pins files, changes hosts.
    YardWrite,
    /// Reads shares.
    SharesRead,
    /// Creates, changes and revokes shares, and moves shared files.
    SharesWrite,
    /// Reads pools, boxes and leases.
    BoxesRead,
    /// Changes pools and boxes, and revokes leases.
    BoxesWrite,
    /// Leases boxes of every pool.
    BoxesLease,
    /// Leases boxes of one pool.
    BoxesLeaseOf(PoolName),
    /// Reads the metrics.
    MetricsRead,
    /// Reads the configuration, without its secrets.
    ConfigRead,
    /// Reloads the configuration, changes the log level, and puts settings of the cluster on record.
    ConfigWrite,
    /// Reads users, tokens and sessions, without their secrets.
    AccessRead,
    /// Changes users, tokens and sessions. A caller never grants more than its own rights.
    AccessWrite,
    /// Reads the audit.
    AuditRead,
    /// Changes the members of the cluster, and invites new ones.
    ClusterWrite,
    /// Makes new nodes members of the cluster.
    ClusterJoin,
}

/// A text that is no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no scope: expected one of {}, or boxes:lease:POOL", words_of_scopes())]
pub struct BadScope {
    /// The refused text, or its beginning.
    pub text: String,
}

fn words_of_scopes() -> String {
    AccessScope::PLAIN.each_ref().map(|(_, word)| *word).join(", ")
}

impl AccessScope {
    /// All scopes without an object, each with its text.
    const PLAIN: [(AccessScope, &str); 15] = [
        (AccessScope::YardRead, "yard:read"),
        (AccessScope::YardWrite, "yard:write"),
        (AccessScope::SharesRead, "shares:read"),
        (AccessScope::SharesWrite, "shares:write"),
        (AccessScope::BoxesRead, "boxes:read"),
        (AccessScope::BoxesWrite, "boxes:write"),
        (AccessScope::BoxesLease, "boxes:lease"),
        (AccessScope::MetricsRead, "metrics:read"),
        (AccessScope::ConfigRead, "config:read"),
        (AccessScope::ConfigWrite, "config:write"),
        (AccessScope::AccessRead, "access:read"),
        (AccessScope::AccessWrite, "access:write"),
        (AccessScope::AuditRead, "audit:read"),
        (AccessScope::ClusterWrite, "cluster:write"),
        (AccessScope::ClusterJoin, "cluster:join"),
    ];

    /// All scopes without an object, in the order of the documents.
    pub fn plain() -> impl Iterator<Item = AccessScope> {
        AccessScope::PLAIN.into_iter().map(|(scope, _)| scope)
    }

    /// Whether this scope allows everything that `other` allows.
    pub fn contains(&self, other: &AccessScope) -> bool {
        use AccessScope::*;
        match (self, other) {
            (YardWrite, YardRead)
            | (SharesWrite, SharesRead)
            | (BoxesWrite, BoxesRead | BoxesLease | BoxesLeaseOf(_))
            | (BoxesLease, BoxesLeaseOf(_))
            | (ConfigWrite, ConfigRead)
            | (AccessWrite, AccessRead)
            | (ClusterWrite, ClusterJoin) => true,
            (same, other) => same == other,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            AccessScope::YardRead => "yard:read",
            AccessScope::YardWrite => "yard:write",
            AccessScope::SharesRead => "shares:read",
            AccessScope::SharesWrite => "shares:write",
            AccessScope::BoxesRead => "boxes:read",
            AccessScope::BoxesWrite => "boxes:write",
            AccessScope::BoxesLease | AccessScope::BoxesLeaseOf(_) => "boxes:lease",
            AccessScope::MetricsRead => "metrics:read",
            AccessScope::ConfigRead => "config:read",
            AccessScope::ConfigWrite => "config:write",
            AccessScope::AccessRead => "access:read",
            AccessScope::AccessWrite => "access:write",
            AccessScope::AuditRead => "audit:read",
            AccessScope::ClusterWrite => "cluster:write",
            AccessScope::ClusterJoin => "cluster:join",
        }
    }
}

impl fmt::Display for AccessScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessScope::BoxesLeaseOf(pool) => write!(f, "{}:{pool}", self.word()),
            plain => f.pad(plain.word()),
        }
    }
}

impl FromStr for AccessScope {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<Self, BadScope> {
        if let Some((scope, _)) = Self::PLAIN.into_iter().find(|(_, word)| *word == text) {
            return Ok(scope);
        }
        let pool = text.strip_prefix("boxes:lease:").and_then(|pool| PoolName::new(pool).ok());
        match pool {
            Some(pool) => Ok(AccessScope::BoxesLeaseOf(pool)),
            None => Err(BadScope { text: text.chars().take(LONGEST_SHOWN).collect() }),
        }
    }
}

text_form!(AccessScope, "AccessScope");

impl utoipa::PartialSchema for AccessScope {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for AccessScope {}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> AccessScope {
        text.parse().unwrap()
    }

    #[test]
    fn a_scope_is_read_as_it_is_written() {
        let leases = scope("boxes:lease:gpu.1");
        for scope in AccessScope::plain().chain([leases]) {
            assert_eq!(scope.to_string().parse(), Ok(scope.clone()));
            let json = serde_json::to_string(&scope).unwrap();
            assert_eq!(json, format!("\"{scope}\""));
            assert_eq!(serde_json::from_str::<AccessScope>(&json).unwrap(), scope);
        }
        for (scope, word) in AccessScope::PLAIN {
            assert_eq!(scope.word(), word);
        }
    }

    #[test]
    fn an_unknown_scope_is_refused_with_all_words() {
        for bad in [
            "",
            "yard",
            "yard:",
            "yard:read ",
            "Yard:read",
            "boxes:lease:",
            "shares:lease",
            "admin",
        ] {
            let error = bad.parse::<AccessScope>().unwrap_err().to_string();
            assert!(error.contains("expected one of yard:read, "), "{bad}: {error}");
        }
        assert!("boxes:lease:a/b".parse::<AccessScope>().is_err());
    }

    #[test]
    fn a_scope_contains_weaker_scopes_of_its_area_only() {
        for (strong, weak) in [
            ("yard:write", "yard:read"),
            ("boxes:write", "boxes:lease"),
            ("boxes:write", "boxes:lease:gpu"),
            ("boxes:lease", "boxes:lease:gpu"),
            ("access:write", "access:read"),
        ] {
            assert!(scope(strong).contains(&scope(weak)), "{strong} contains {weak}");
            assert!(!scope(weak).contains(&scope(strong)), "{weak} contains {strong}");
        }
        for (one, other) in [
            ("yard:write", "shares:read"),
            ("boxes:lease", "boxes:read"),
            ("boxes:lease:gpu", "boxes:lease:cpu"),
            ("access:write", "audit:read"),
        ] {
            assert!(!scope(one).contains(&scope(other)), "{one} contains {other}");
        }
    }
}
