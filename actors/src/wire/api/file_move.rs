//! Moves of what is shared, as the API takes them.

use serde::{Deserialize, Serialize};

use super::request_name::request_name;
use crate::share_files::UnsettledMove;
use crate::wire::api::Rfc3339;

/// A move that is wanted.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedMove {
    /// What is moved: the name of a root, and the path below it, as in "movies/new/a.mpg".
    pub from: String,
    /// Its new path, with its own name at the end.
    pub to: String,
    /// Whether what is there is overwritten: its shares end.
    #[serde(default)]
    pub overwrite: bool,
    /// Names the request, so that repeating it is safe.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    pub request_id: Option<String>,
}

/// A move of which only the disk knows what became of it.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MoveShown {
    /// Its number.
    pub number: u64,
    /// What is moved: the name of a root, and the path below it.
    pub from: String,
    /// Its new path.
    pub to: String,
    /// Who asked for it.
    pub asked_by: String,
    /// Since when the node knows of it: since its start, or since it leads, where the move is older.
    pub since: Rfc3339,
    /// Why it cannot be said what became of it. Missing while it is being made, or looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl From<&UnsettledMove> for MoveShown {
    fn from(unsettled: &UnsettledMove) -> Self {
        let UnsettledMove { moving, since, why } = unsettled;
        let new = &moving.new;
        MoveShown {
            number: moving.number,
            from: new.from.to_string(),
            to: new.to.to_string(),
            asked_by: new.by.clone(),
            since: Rfc3339(*since),
            why: why.clone(),
        }
    }
}
