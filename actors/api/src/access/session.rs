//! Sessions: requests and answers of the API. Only the answer to a login contains the secret.

use std::fmt;

use reelyard_access::access::Session;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::CallerInfo;
use crate::instant::Rfc3339;
use crate::shares::share::Password;

/// A login. Give `name` with `password`, or `link`, or `token`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedSession {
    /// Name of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Password of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub password: Option<Password>,
    /// Secret of a login link. It begins one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub link: Option<Password>,
    /// Token whose rights the session gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub token: Option<Password>,
}

/// A session without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionInfo {
    /// Id of the session. It gives no access.
    pub id: String,
    /// The user or token whose rights the session has.
    pub subject: String,
    /// Time of the login.
    pub created_at: Rfc3339,
    /// Time of the last use.
    pub last_seen_at: Rfc3339,
    /// The session ends at this time, however much it is used. It ends earlier when it is idle.
    pub ends_at: Rfc3339,
    /// Address at the login.
    pub address: String,
    /// Program at the login, as it named itself.
    pub user_agent: String,
}

impl From<&Session> for SessionInfo {
    fn from(session: &Session) -> Self {
        SessionInfo {
            id: session.id(),
            subject: session.subject.to_string(),
            created_at: Rfc3339(session.created_at),
            last_seen_at: Rfc3339(session.last_seen_at()),
            ends_at: Rfc3339(session.ends_at),
            address: session.address.to_string(),
            user_agent: session.user_agent.to_string(),
        }
    }
}

/// A new session with its secret, which is shown only once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewSessionInfo {
    /// Secret of the session, for `Authorization: Bearer`. The answer also sets it as a cookie.
    pub secret: String,
    /// CSRF token of the session. Changes that send the cookie need it in the header `Reelyard-Csrf`.
    pub csrf_token: String,
    /// The caller that the session authenticates.
    pub caller: CallerInfo,
    /// The session without its secret.
    #[serde(flatten)]
    pub info: SessionInfo,
}

impl fmt::Debug for NewSessionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewSessionInfo").field("info", &self.info).finish_non_exhaustive()
    }
}

/// A link that begins one session in a browser.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginLinkInfo {
    /// Path and query of the link, below the URL of the node.
    pub path: String,
    /// The link is refused from this time on.
    pub expires_at: Rfc3339,
}

impl fmt::Debug for LoginLinkInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginLinkInfo")
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}
