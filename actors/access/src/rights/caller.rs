//! The caller of a request, once it is known. Pure.

use std::fmt;

use reelyard_core::host::HostAddr;

use super::granted_rights::Rights;
use super::names::{TokenName, UserName};
use super::role::Role;

/// A known caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The person or program.
    pub subject: Subject,
    /// The rights at the time of the check.
    pub rights: Rights,
}

impl Caller {
    /// The node itself, or a command on its host: it has all rights.
    pub fn node() -> Self {
        Caller { subject: Subject::Node, rights: Rights::Role(Role::Admin) }
    }
}

/// A person or program that calls. Its text is at most 80 bytes long; audit and history show it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A user with a session.
    User(UserName),
    /// A program, or a person, with a token.
    Token(TokenName),
    /// The worker on a host.
    Worker(HostAddr),
    /// A program with the shared token of the configuration.
    Legacy,
    /// The node itself, or a command on its host.
    Node,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::User(name) => write!(f, "user {name}"),
            Subject::Token(name) => write!(f, "token {name}"),
            Subject::Worker(host) => write!(f, "worker {host}"),
            Subject::Legacy => write!(f, "token {}", TokenName::LEGACY),
            Subject::Node => f.write_str("node"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_shown_with_its_kind() {
        let host = "10.0.0.21:8888".parse().unwrap();
        for (subject, shown) in [
            (Subject::User("alice".parse().unwrap()), "user alice"),
            (Subject::Token("ci".parse().unwrap()), "token ci"),
            (Subject::Worker(host), "worker 10.0.0.21:8888"),
            (Subject::Legacy, "token legacy"),
            (Subject::Node, "node"),
        ] {
            assert_eq!(subject.to_string(), shown);
        }
        let longest = Subject::Token("x".repeat(64).parse().unwrap());
        assert!(longest.to_string().len() <= 80);
    }
}
