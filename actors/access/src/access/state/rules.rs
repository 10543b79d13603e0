//! The preconditions of the events. Decisions check them, and `apply` checks them again, because another commit
//! may be applied in between. Pure.

use std::sync::Arc;

use reelyard_core::clock::Millis;

use super::access_table::AccessTable;
use super::constants::{MOST_TOKENS, MOST_USERS};
use super::event::{AccessEvent, AccessRefusal, NewSession, NewToken, RotatedToken};
use super::values::session::SessionSubject;
use super::values::token::Token;
use super::values::user::User;
use crate::rights::{Rights, Role, TokenName, UserName};
use crate::secrets::{LinkHash, TokenHash};

type Checked<T> = Result<T, AccessRefusal>;

impl AccessTable {
    /// Whether the event may be applied at this time.
    ///
    /// # Errors
    /// The precondition that does not hold.
    pub(in crate::access) fn check(&self, at: Millis, event: &AccessEvent) -> Checked<()> {
        match event {
            AccessEvent::UserAdded(new) => self.check_new_user(&new.name),
            AccessEvent::UserRoleSet { name, role, .. } if *role < Role::Admin => {
                self.check_loss_of_user(name)
            }
            AccessEvent::UserDisabled { name, .. } | AccessEvent::UserRemoved { name, .. } => {
                self.check_loss_of_user(name)
            }
            AccessEvent::UserRoleSet { name, .. }
            | AccessEvent::UserPasswordSet { name, .. }
            | AccessEvent::UserEnabled { name, .. }
            | AccessEvent::UserLocked { name, .. }
            | AccessEvent::UserUnlocked { name, .. } => self.known_user(name).map(|_| ()),
            AccessEvent::TokenCreated(new) => self.check_new_token(new),
            AccessEvent::TokenRevoked { name, .. } => {
                self.known_token(name)?;
                self.check_loss(SessionSubject::Token(name.clone()))
            }
            AccessEvent::TokenRotated(rotated) => self.check_rotation(rotated),
            AccessEvent::SessionBegun(new) => self.check_session(at, new),
            AccessEvent::LoginLinkIssued { subject, generation, .. } => {
                self.check_subject(at, subject, *generation)
            }
            AccessEvent::TokensForgotten { .. }
            | AccessEvent::UsesRecorded { .. }
            | AccessEvent::SessionsSeen { .. }
            | AccessEvent::SessionsEnded { .. }
            | AccessEvent::SessionsOfEnded { .. }
            | AccessEvent::LoginLinksForgotten { .. } => Ok(()),
        }
    }

    pub(in crate::access) fn known_user(&self, name: &UserName) -> Checked<&Arc<User>> {
        self.user(name).ok_or_else(|| AccessRefusal::UnknownUser { name: name.clone() })
    }

    pub(in crate::access) fn known_token(&self, name: &TokenName) -> Checked<&Arc<Token>> {
        self.token(name).ok_or_else(|| AccessRefusal::UnknownToken { name: name.clone() })
    }

    fn check_new_user(&self, name: &UserName) -> Checked<()> {
        if self.user(name).is_some() {
            return Err(AccessRefusal::UserExists { name: name.clone() });
        }
        if self.users.len() >= MOST_USERS {
            return Err(AccessRefusal::TooManyUsers);
        }
        Ok(())
    }

    fn check_loss_of_user(&self, name: &UserName) -> Checked<()> {
        self.known_user(name)?;
        self.check_loss(SessionSubject::User(name.clone()))
    }

    /// Whether an administrator is left without this user or token.
    fn check_loss(&self, subject: SessionSubject) -> Checked<()> {
        if self.is_last_admin(&subject) {
            return Err(AccessRefusal::LastAdmin { subject });
        }
        Ok(())
    }

    fn check_new_token(&self, new: &NewToken) -> Checked<()> {
        if self.token(&new.name).is_some() {
            return Err(AccessRefusal::TokenExists { name: new.name.clone() });
        }
        if self.tokens.len() >= MOST_TOKENS {
            return Err(AccessRefusal::TooManyTokens);
        }
        self.check_unused(&new.hash)
    }

    fn check_unused(&self, hash: &TokenHash) -> Checked<()> {
        if self.tokens_by_hash.get(hash).is_some() {
            return Err(AccessRefusal::SecretInUse);
        }
        Ok(())
    }

    fn check_rotation(&self, rotated: &RotatedToken) -> Checked<()> {
        self.known_token(&rotated.name)?;
        self.check_unused(&rotated.hash)?;
        // A token with an end does not administrate the yard at any time.
        match rotated.expires_at {
            Some(_) => self.check_loss(SessionSubject::Token(rotated.name.clone())),
            None => Ok(()),
        }
    }

    fn check_session(&self, at: Millis, new: &NewSession) -> Checked<()> {
        if let Some(link) = &new.link {
            self.check_link(at, link, &new.subject)?;
        }
        if self.sessions.get(&new.hash).is_some() {
            return Err(AccessRefusal::SecretInUse);
        }
        self.check_subject(at, &new.subject, new.generation)
    }

    fn check_link(&self, at: Millis, link: &LinkHash, subject: &SessionSubject) -> Checked<()> {
        match self.links.get(link) {
            Some(link) if at < link.expires_at && link.subject == *subject => Ok(()),
            _ => Err(AccessRefusal::LinkNotValid),
        }
    }

    /// Whether a session of the subject may begin, with the generation that the login saw.
    fn check_subject(&self, at: Millis, subject: &SessionSubject, generation: u64) -> Checked<()> {
        match subject {
            SessionSubject::User(name) => {
                let user = self.known_user(name)?;
                if user.is_disabled {
                    return Err(AccessRefusal::Disabled { name: name.clone() });
                }
                if let Some(until) = user.locked_until.filter(|until| at < *until) {
                    return Err(AccessRefusal::Locked { name: name.clone(), until });
                }
            }
            SessionSubject::Token(name) => {
                let token = self.token(name).filter(|token| !token.is_expired(at));
                let token = token.ok_or(AccessRefusal::TokenNotValid)?;
                if let Rights::Worker(_) = token.rights {
                    return Err(AccessRefusal::WorkerSession);
                }
            }
        }
        if self.generation(subject) != Some(generation) {
            return Err(AccessRefusal::CredentialsChanged);
        }
        Ok(())
    }
}
