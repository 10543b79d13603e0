//! Users: requests and answers of the API.

use reelyard_access::access::User;
use reelyard_access::rights::{Role, UserName};
use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::instant::Rfc3339;
use crate::request_name::request_name;
use crate::shares::share::Password;

/// A new user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedUser {
    /// Unique name.
    #[schema(value_type = String)]
    pub name: UserName,
    /// Role: `viewer`, `operator` or `admin`.
    pub role: Role,
    /// Password of 12 to 1024 characters. Without one the user cannot log in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub password: Option<Password>,
    /// Idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    #[schema(min_length = 1, max_length = 200)]
    pub request_id: Option<String>,
}

/// A change of a user. Exactly one of the members except `request_id` is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedUserChange {
    /// Another role. A weaker one ends the sessions of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Another password. It ends the sessions of the user, and a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub password: Option<Password>,
    /// Whether the user is disabled. It ends the sessions of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// Ends the lock after wrong passwords.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlock: bool,
    /// Idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    #[schema(min_length = 1, max_length = 200)]
    pub request_id: Option<String>,
}

/// A person with a role, without the password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserInfo {
    /// Name of the user.
    pub name: String,
    /// Role of the user.
    pub role: Role,
    /// Whether an administrator disabled the user.
    pub disabled: bool,
    /// Whether the user has a password. Without one the user cannot log in.
    pub has_password: bool,
    /// End of the lock after wrong passwords. Missing for a user who is not locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<Rfc3339>,
    /// Time of the creation.
    pub created_at: Rfc3339,
    /// The caller that created the user.
    pub created_by: String,
    /// Time of the last login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_login_at: Option<Rfc3339>,
}

impl UserInfo {
    /// A user as it is at this time.
    pub fn of(user: &User, now: Millis) -> Self {
        UserInfo {
            name: user.name.to_string(),
            role: user.role,
            disabled: user.is_disabled,
            has_password: user.has_password(),
            locked_until: user.locked_until.filter(|_| user.is_locked(now)).map(Rfc3339),
            created_at: Rfc3339(user.created_at),
            created_by: user.created_by.clone(),
            last_login_at: user.last_login_at.map(Rfc3339),
        }
    }
}
