//! The piece: users, tokens, sessions and login links. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reelyard_core::clock::Millis;

use super::shared_map::SharedMap;
use super::values::login_link::LoginLink;
use super::values::session::{Session, SessionSubject};
use super::values::token::Token;
use super::values::user::User;
use crate::rights::{Rights, TokenName, UserName};
use crate::secrets::{LinkHash, SessionHash, TokenHash};

/// Sessions, the one without use for the longest time first. Only uses in the journal count.
pub(in crate::access) type SessionsByUse = BTreeSet<(Millis, SessionHash)>;

/// All users, tokens, sessions and login links.
#[derive(Clone, Debug, Default)]
pub struct AccessTable {
    pub(in crate::access) users: SharedMap<UserName, Arc<User>>,
    pub(in crate::access) tokens: SharedMap<TokenName, Arc<Token>>,
    /// The same tokens by their hashes.
    pub(in crate::access) tokens_by_hash: SharedMap<TokenHash, Arc<Token>>,
    pub(in crate::access) sessions: SharedMap<SessionHash, Arc<Session>>,
    pub(in crate::access) links: BTreeMap<LinkHash, LoginLink>,
    /// The generation of the next change of a credential.
    pub(in crate::access) next_generation: u64,
    /// Tokens with an end, by that end.
    pub(in crate::access) tokens_by_end: BTreeSet<(Millis, TokenName)>,
    pub(in crate::access) sessions_by_use: SessionsByUse,
    pub(in crate::access) sessions_by_end: BTreeSet<(Millis, SessionHash)>,
    pub(in crate::access) sessions_by_subject: BTreeMap<SessionSubject, SessionsByUse>,
}

impl AccessTable {
    /// The user of this name.
    pub(in crate::access) fn user(&self, name: &UserName) -> Option<&Arc<User>> {
        self.users.get(name.as_str())
    }

    /// The token of this name.
    pub(in crate::access) fn token(&self, name: &TokenName) -> Option<&Arc<Token>> {
        self.tokens.get(name.as_str())
    }

    /// Whether a user or token can administrate the yard at any time.
    pub(in crate::access) fn has_admin_credential(&self) -> bool {
        self.users.values().any(|user| user.is_admin_credential())
            || self.tokens.values().any(|token| token.is_admin_credential())
    }

    /// Whether only this user or token can administrate the yard at any time.
    pub(in crate::access) fn is_last_admin(&self, subject: &SessionSubject) -> bool {
        let is_admin = match subject {
            SessionSubject::User(name) => {
                self.user(name).is_some_and(|user| user.is_admin_credential())
            }
            SessionSubject::Token(name) => {
                self.token(name).is_some_and(|token| token.is_admin_credential())
            }
        };
        let is_other = |other: SessionSubject| other != *subject;
        let mut users = self.users.values().filter(|user| user.is_admin_credential());
        let mut tokens = self.tokens.values().filter(|token| token.is_admin_credential());
        is_admin
            && !users.any(|user| is_other(SessionSubject::User(user.name.clone())))
            && !tokens.any(|token| is_other(SessionSubject::Token(token.name.clone())))
    }

    /// The generation of a user or token.
    pub(in crate::access) fn generation(&self, subject: &SessionSubject) -> Option<u64> {
        match subject {
            SessionSubject::User(name) => self.user(name).map(|user| user.generation),
            SessionSubject::Token(name) => self.token(name).map(|token| token.generation),
        }
    }

    pub(in crate::access) fn draw_generation(&mut self) -> u64 {
        let generation = self.next_generation;
        self.next_generation += 1;
        generation
    }

    pub(in crate::access) fn put_user(&mut self, user: User) {
        self.users.insert(user.name.clone(), Arc::new(user));
    }

    /// Replaces the token of this name.
    pub(in crate::access) fn put_token(&mut self, token: Token) {
        self.remove_token(&token.name);
        let token = Arc::new(token);
        // An expired token of a worker is never forgotten: without it the worker would need none.
        if let Some(end) = token.expires_at.filter(|_| !matches!(token.rights, Rights::Worker(_))) {
            self.tokens_by_end.insert((end, token.name.clone()));
        }
        self.tokens_by_hash.insert(token.hash, Arc::clone(&token));
        self.tokens.insert(token.name.clone(), token);
    }

    pub(in crate::access) fn remove_token(&mut self, name: &TokenName) -> Option<Arc<Token>> {
        let token = self.tokens.remove(name.as_str())?;
        self.tokens_by_hash.remove(&token.hash);
        if let Some(end) = token.expires_at {
            self.tokens_by_end.remove(&(end, token.name.clone()));
        }
        Some(token)
    }

    /// Replaces the session of this hash.
    pub(in crate::access) fn put_session(&mut self, session: Session) {
        self.remove_session(&session.hash);
        let (used, hash) = (session.recorded_use, session.hash);
        self.sessions_by_use.insert((used, hash));
        self.sessions_by_end.insert((session.ends_at, hash));
        let of_subject = self.sessions_by_subject.entry(session.subject.clone());
        of_subject.or_default().insert((used, hash));
        self.sessions.insert(hash, Arc::new(session));
    }

    pub(in crate::access) fn remove_session(&mut self, hash: &SessionHash) -> Option<Arc<Session>> {
        let session = self.sessions.remove(hash)?;
        let key = (session.recorded_use, *hash);
        self.sessions_by_use.remove(&key);
        self.sessions_by_end.remove(&(session.ends_at, *hash));
        if let Some(of_subject) = self.sessions_by_subject.get_mut(&session.subject) {
            of_subject.remove(&key);
            if of_subject.is_empty() {
                self.sessions_by_subject.remove(&session.subject);
            }
        }
        Some(session)
    }

    /// Ends the sessions and login links of a user or token. Returns whether there was one.
    pub(in crate::access) fn end_sessions_of(&mut self, subject: &SessionSubject) -> bool {
        let sessions = self.sessions_by_subject.get(subject).cloned().unwrap_or_default();
        for (_, hash) in &sessions {
            self.remove_session(hash);
        }
        let links = self.links.len();
        self.links.retain(|_, link| link.subject != *subject);
        !sessions.is_empty() || links != self.links.len()
    }
}
