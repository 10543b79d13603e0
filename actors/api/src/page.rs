//! Common types of all answers of the API: pages of lists, and problems.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One page of a list, with the cursor of the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// The items, in the order of the list.
    pub items: Vec<T>,
    /// Where the next page begins; null on the last one.
    #[schema(required)]
    pub next: Option<Cursor>,
}

/// The place where a page begins. Clients send it back unchanged; its form may change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(transparent)]
pub struct Cursor(pub String);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A problem as in RFC 9457 (`application/problem+json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// Names the kind of problem, for programs: a URI that stays the same.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of the problem as a short text.
    pub title: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// Details of this occurrence.
    pub detail: String,
}

impl Problem {
    /// The last part of its `type`. Programs distinguish problems by it.
    pub fn word(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or_default()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() { f.write_str(&self.title) } else { f.write_str(&self.detail) }
    }
}
