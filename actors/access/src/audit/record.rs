//! One audited act: who did what, from where, and with which outcome. Pure.

use std::fmt;
use std::net::IpAddr;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rights::Subject;

/// The HTTP header with the reason of a call: UTF-8, percent-encoded.
pub const REASON_HEADER: &str = "reelyard-reason";

/// Longest reason, in characters.
pub const LARGEST_REASON: usize = 500;

/// Longest other text, in characters.
pub const LARGEST_TEXT: usize = 300;

/// Largest JSON of a state before or after a change, in bytes.
const LARGEST_STATE: usize = 4 << 10;

/// How the person or program behind an act is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditActorKind {
    /// A user with a session.
    User,
    /// A program, or a person, with a token.
    Token,
    /// A worker of the yard.
    Worker,
    /// The node itself, or a command on its host.
    Node,
    /// A caller that is known only by its address.
    Unknown,
}

impl AuditActorKind {
    /// The word in rows and filters.
    pub fn word(self) -> &'static str {
        match self {
            AuditActorKind::User => "user",
            AuditActorKind::Token => "token",
            AuditActorKind::Worker => "worker",
            AuditActorKind::Node => "node",
            AuditActorKind::Unknown => "unknown",
        }
    }
}

/// The person or program behind an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditActor {
    /// Kind of the actor.
    pub kind: AuditActorKind,
    /// Its name. Empty for the node and for unknown callers.
    pub name: String,
}

impl AuditActor {
    /// The node itself.
    pub fn node() -> Self {
        AuditActor { kind: AuditActorKind::Node, name: String::new() }
    }

    /// A caller that is known only by its address.
    pub fn unknown() -> Self {
        AuditActor { kind: AuditActorKind::Unknown, name: String::new() }
    }

    /// A known caller.
    pub fn of(subject: &Subject) -> Self {
        let (kind, name) = match subject {
            Subject::User(name) => (AuditActorKind::User, name.to_string()),
            Subject::Token(name) => (AuditActorKind::Token, name.to_string()),
            Subject::Worker(host) => (AuditActorKind::Worker, host.to_string()),
            Subject::Legacy => (AuditActorKind::Token, "legacy".to_owned()),
            Subject::Node => (AuditActorKind::Node, String::new()),
        };
        AuditActor { kind, name }
    }

    /// Whether `wanted` names this actor: its kind, its name, or both as in "user alice".
    pub fn is_called(&self, wanted: &str) -> bool {
        let word = self.kind.word();
        let both = wanted.strip_prefix(word).and_then(|rest| rest.strip_prefix(' '));
        wanted == word || wanted == self.name || both.is_some_and(|name| name == self.name)
    }
}

impl fmt::Display for AuditActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => f.write_str(self.kind.word()),
            name => write!(f, "{} {name}", self.kind.word()),
        }
    }
}

/// One audited act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Time of the act.
    pub at: Millis,
    /// The person or program behind it.
    pub actor: AuditActor,
    /// The address of the caller. None for acts of the node.
    pub from: Option<IpAddr>,
    /// The id of the call in the API document, or a name with a dot for acts of the node.
    pub operation: String,
    /// The object of the act, such as "share ABC".
    pub subject: Option<String>,
    /// The HTTP status of the answer. None for acts of the node.
    pub status: Option<u16>,
    /// The last word of the problem type, if the call was refused or failed.
    pub problem: Option<String>,
    /// Id of the request. The answer names it in `X-Request-Id`.
    pub request_id: Option<String>,
    /// The caller's reason.
    pub reason: Option<String>,
    /// The changed values before the act.
    pub before: Option<Value>,
    /// The changed values after the act.
    pub after: Option<Value>,
    /// Number of similar acts that this row stands for, if not one.
    pub count: Option<u64>,
}

impl AuditRecord {
    /// An act of the node itself.
    pub fn of_node(at: Millis, operation: &str) -> Self {
        AuditRecord {
            at,
            actor: AuditActor::node(),
            from: None,
            operation: operation.to_owned(),
            subject: None,
            status: None,
            problem: None,
            request_id: None,
            reason: None,
            before: None,
            after: None,
            count: None,
        }
    }

    /// Whether the act was carried out. A refused form of a page can end with a redirect, but has a problem.
    pub fn is_accepted(&self) -> bool {
        self.problem.is_none() && self.status.is_none_or(|status| status < 400)
    }

    /// The record with every member within its limit.
    pub(super) fn bounded(mut self) -> Self {
        shorten(&mut self.operation, LARGEST_TEXT);
        shorten(&mut self.actor.name, LARGEST_TEXT);
        for text in [&mut self.subject, &mut self.problem, &mut self.request_id] {
            text.iter_mut().for_each(|text| shorten(text, LARGEST_TEXT));
        }
        self.reason.iter_mut().for_each(|reason| shorten(reason, LARGEST_REASON));
        for state in [&mut self.before, &mut self.after] {
            let bytes = state.as_ref().map_or(0, |state| state.to_string().len());
            if bytes > LARGEST_STATE {
                *state = Some(serde_json::json!({ "left_out_bytes": bytes }));
            }
        }
        self
    }
}

/// Cuts a text to this number of characters.
fn shorten(text: &mut String, most: usize) {
    // A character has at least one byte.
    if text.len() > most
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_found_by_kind_name_or_both() {
        let alice = AuditActor::of(&Subject::User("alice".parse().unwrap()));
        assert_eq!(alice.to_string(), "user alice");
        for wanted in ["user", "alice", "user alice"] {
            assert!(alice.is_called(wanted), "{wanted}");
        }
        for wanted in ["", "bob", "token alice", "user bob", "useralice"] {
            assert!(!alice.is_called(wanted), "{wanted}");
        }
        assert_eq!(AuditActor::of(&Subject::Legacy).to_string(), "token legacy");
        assert_eq!(AuditActor::node().to_string(), "node");
    }

    #[test]
    fn a_refused_form_with_a_redirect_is_not_accepted() {
        let done = AuditRecord { status: Some(303), ..AuditRecord::of_node(Millis(1), "page") };
        assert!(done.is_accepted());
        let refused = AuditRecord { problem: Some("not-found".to_owned()), ..done.clone() };
        assert!(!refused.is_accepted());
        assert!(!AuditRecord { status: Some(403), ..done }.is_accepted());
    }

    #[test]
    fn a_record_has_no_unlimited_member() {
        let long = "\u{e9}".repeat(5000);
        let mut record = AuditRecord::of_node(Millis(1), &long);
        record.subject = Some(long.clone());
        record.reason = Some(long.clone());
        record.before = Some(serde_json::json!({ "all": long }));
        let bounded = record.bounded();
        assert_eq!(bounded.operation.chars().count(), LARGEST_TEXT);
        assert_eq!(bounded.reason.map(|reason| reason.chars().count()), Some(LARGEST_REASON));
        assert_eq!(bounded.before, Some(serde_json::json!({ "left_out_bytes": 10_010 })));
    }
}
