//! Logged downloads of a share.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A logged download of a share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DownloadInfo {
    /// Time of the end of the download, in RFC 3339.
    pub at: String,
    /// Address of the visitor, or its network.
    pub address: String,
    /// `file` or `zip`.
    pub part: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// Sent bytes of the body.
    pub bytes: u64,
    /// The program of the visitor, as it named itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}
