//! Tokens: requests and answers of the API. Only the answer to a creation or a rotation contains the secret.

use std::fmt;

use reelyard_access::access::Token;
use reelyard_access::rights::{AccessScope, Rights, Role, TokenName};
use reelyard_core::address_range::AddressRange;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::instant::{Rfc3339, Ttl};
use crate::request_name::request_name;

/// A new token. Exactly one of `role`, `scopes` and `worker` is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedToken {
    /// Unique name. The token of a worker is named by its host; leave the name out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub name: Option<TokenName>,
    /// Role: `viewer`, `operator` or `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Scopes such as `shares:write` or `boxes:lease:judges`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub scopes: Vec<AccessScope>,
    /// The host whose worker gets the token. It has no scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<HostAddr>,
    /// Lifetime from now on. Default: no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// End of the token. Default: no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Addresses and networks from which the token is accepted. Default: from everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub addresses: Vec<AddressRange>,
    /// Replaces the token of the same worker. Without it, a second one is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// Idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    #[schema(min_length = 1, max_length = 200)]
    pub request_id: Option<String>,
}

/// A request for a token that does not say exactly one kind of rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("set exactly one of role, scopes and worker, and name unless it is the token of a worker")]
pub struct BadTokenRights;

impl WantedToken {
    /// The name and the rights of the token.
    ///
    /// # Errors
    ///
    /// Not exactly one of `role`, `scopes` and `worker` is set, or no name.
    pub fn name_and_rights(&self) -> Result<(TokenName, Rights), BadTokenRights> {
        let name = self.name.clone();
        match (self.role, self.scopes.as_slice(), self.worker) {
            (Some(role), [], None) => Ok((name.ok_or(BadTokenRights)?, Rights::Role(role))),
            (None, [], Some(host)) => {
                let own = TokenName::of_worker(host);
                match name {
                    Some(other) if other != own => Err(BadTokenRights),
                    _ => Ok((own, Rights::Worker(host))),
                }
            }
            (None, [_, ..], None) => {
                let scopes = self.scopes.iter().cloned().collect();
                Ok((name.ok_or(BadTokenRights)?, Rights::Scopes(scopes)))
            }
            _ => Err(BadTokenRights),
        }
    }
}

/// Rotation of a token: a new secret with the same name and rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedRotation {
    /// Lifetime of the new secret from now on. Default: the end of the former secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// End of the new secret. Default: the end of the former secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    #[schema(min_length = 1, max_length = 200)]
    pub request_id: Option<String>,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenInfo {
    /// The unique text by which it is rotated and revoked.
    pub name: String,
    /// Its role. Missing for a token with scopes, and for that of a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Its scopes. Empty for a token with a role, and for that of a worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub scopes: Vec<AccessScope>,
    /// The host whose worker has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<HostAddr>,
    /// End of the token. Missing for one without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Whether the end has passed.
    pub expired: bool,
    /// Addresses and networks from which it is accepted. Empty: from everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub addresses: Vec<AddressRange>,
    /// Time of its creation. Missing for the token of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Rfc3339>,
    /// The caller that created it.
    pub created_by: String,
    /// Time of the last use. After a restart of the node it may be up to an hour too early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Rfc3339>,
    /// Address of the last use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_from: Option<String>,
}

impl TokenInfo {
    /// A token of the journal.
    pub fn of(token: &Token, now: Millis) -> Self {
        let (role, scopes, worker) = match &token.rights {
            Rights::Role(role) => (Some(*role), Vec::new(), None),
            Rights::Scopes(scopes) => (None, scopes.iter().cloned().collect(), None),
            Rights::Worker(host) => (None, Vec::new(), Some(*host)),
        };
        let last = token.last_use();
        TokenInfo {
            name: token.name.to_string(),
            role,
            scopes,
            worker,
            expires_at: token.expires_at.map(Rfc3339),
            expired: token.is_expired(now),
            addresses: token.addresses.clone(),
            created_at: Some(Rfc3339(token.created_at)),
            created_by: token.created_by.clone(),
            last_used_at: last.map(|last| Rfc3339(last.at)),
            last_used_from: last.map(|last| last.address.to_string()),
        }
    }

    /// The shared token of the configuration.
    pub fn legacy() -> Self {
        TokenInfo {
            name: TokenName::LEGACY.to_owned(),
            role: Some(Role::Admin),
            scopes: Vec::new(),
            worker: None,
            expires_at: None,
            expired: false,
            addresses: Vec::new(),
            created_at: None,
            created_by: "configuration".to_owned(),
            last_used_at: None,
            last_used_from: None,
        }
    }
}

/// A new or rotated token with its secret, which is shown only once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewTokenInfo {
    /// The text of the token. The node stores only its hash.
    pub token: String,
    /// The token without its secret.
    #[serde(flatten)]
    pub info: TokenInfo,
}

impl fmt::Debug for NewTokenInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewTokenInfo").field("info", &self.info).finish_non_exhaustive()
    }
}
