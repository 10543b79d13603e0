//! A user. Pure.

use reelyard_core::clock::Millis;

use crate::rights::{Role, UserName};
use crate::secrets::UserPasswordHash;

/// A person with a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The unique name.
    pub name: UserName,
    /// The present role.
    pub role: Role,
    /// The hash of the password; a user without one cannot log in.
    pub(crate) password: Option<UserPasswordHash>,
    /// Whether an administrator disabled the user.
    pub is_disabled: bool,
    /// Changes with everything that ends the user's sessions. A session begins only with the generation that its
    /// login saw.
    pub(crate) generation: u64,
    /// When the user was added.
    pub created_at: Millis,
    /// The administrator who added the user.
    pub created_by: String,
    /// The end of the lock after wrong passwords. None if it was never locked, or was unlocked.
    pub locked_until: Option<Millis>,
    /// When the last session began.
    pub last_login_at: Option<Millis>,
}

impl User {
    /// Whether the user has a password.
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Whether no session of the user may begin now, because of wrong passwords.
    pub fn is_locked(&self, now: Millis) -> bool {
        self.locked_until.is_some_and(|until| now < until)
    }

    /// Whether the user can administrate the yard at any time. A lock is short, so it does not count.
    pub(in crate::access) fn is_admin_credential(&self) -> bool {
        self.role == Role::Admin && !self.is_disabled && self.has_password()
    }
}
