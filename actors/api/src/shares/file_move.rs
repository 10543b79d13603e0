//! Moves of shared files: requests and answers of the API.

use reelyard_shares::share_files::UnsettledMove;
use serde::{Deserialize, Serialize};

use crate::Rfc3339;
use crate::request_name::request_name;

/// Request to move a file or directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedMove {
    /// Current name of the root, and the path below it, as in "movies/new/a.mpg".
    pub from: String,
    /// Its new path, including its own name at the end.
    pub to: String,
    /// Whether the move overwrites a file at the new path. The shares of that file end.
    #[serde(default)]
    pub overwrite: bool,
    /// Idempotency key: a repetition of the request is safe.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    pub request_id: Option<String>,
}

/// A move whose outcome only the disk shows.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FileMoveInfo {
    /// Number of the move in the journal.
    pub number: u64,
    /// Current name of the root, and the path below it.
    pub from: String,
    /// New name of the root, and the path below it.
    pub to: String,
    /// Operator who asked for the move.
    pub asked_by: String,
    /// Time when this node learned of the move: its begin, or the start or leadership of the node if that is
    /// later.
    pub since: Rfc3339,
    /// Reason why the outcome is unknown. Missing while the move runs or is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl From<&UnsettledMove> for FileMoveInfo {
    fn from(unsettled: &UnsettledMove) -> Self {
        let UnsettledMove { moving, since, why } = unsettled;
        let new = &moving.new;
        FileMoveInfo {
            number: moving.number,
            from: new.from.to_string(),
            to: new.to.to_string(),
            asked_by: new.by.clone(),
            since: Rfc3339(*since),
            why: why.clone(),
        }
    }
}
