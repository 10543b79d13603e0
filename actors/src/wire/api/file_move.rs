//! Moves of what is shared, as the API takes them.

use serde::{Deserialize, Serialize};

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}
