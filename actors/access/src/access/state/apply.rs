//! How events change the piece. Deterministic: the piece, the event and its time decide alone.

use std::sync::Arc;

use AccessOutcome::{AlreadySo, Applied};
use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_replication::{FrozenPiece, OnFullDisk, Piece, UnreadableEvent};

use super::access_table::{AccessTable, SessionsByUse};
use super::constants::{MOST_LOGIN_LINKS, MOST_SESSIONS, MOST_SESSIONS_OF_ONE};
use super::event::{
    AccessEvent, AccessOutcome, AccessRefusal, NewSession, NewToken, NewUser, RecordedUse,
    RotatedToken,
};
use super::snapshot::{FrozenAccessTable, thaw_row};
use super::values::last_use::LastUse;
use super::values::login_link::LoginLink;
use super::values::session::{Session, SessionSubject};
use super::values::token::Token;
use super::values::user::User;
use crate::rights::{Role, TokenName, UserName};
use crate::secrets::{LinkHash, SessionHash, UserPasswordHash};

type AccessApplyResult = Result<AccessOutcome, AccessRefusal>;

impl Piece for AccessTable {
    const ID: PieceId = PieceId::Access;
    const EVENT_VERSION: u8 = 1;

    type Event = AccessEvent;
    type Outcome = AccessOutcome;
    type Refusal = AccessRefusal;

    fn apply(&mut self, at: Millis, event: &AccessEvent) -> AccessApplyResult {
        self.check(at, event)?;
        self.apply_checked(at, event)
    }

    /// Events that take rights away are small, and few at a time. A person signs in to see what is wrong.
    fn on_full_disk(event: &AccessEvent) -> OnFullDisk {
        match event {
            AccessEvent::UserDisabled { .. }
            | AccessEvent::UserRemoved { .. }
            | AccessEvent::TokenRevoked { .. }
            | AccessEvent::SessionsEnded { .. }
            | AccessEvent::SessionsOfEnded { .. } => OnFullDisk::UseReserve,
            AccessEvent::SessionBegun(_) | AccessEvent::LoginLinkIssued { .. } => {
                OnFullDisk::UseHalfOfReserve
            }
            _ => OnFullDisk::Refuse,
        }
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenAccessTable::of(self))
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        thaw_row(self, row)
    }

    fn emptied(&self) -> Self {
        AccessTable::default()
    }
}

/// Whether a change changed anything.
fn outcome(is_news: bool) -> AccessOutcome {
    if is_news { Applied } else { AlreadySo }
}

impl AccessTable {
    fn apply_checked(&mut self, at: Millis, event: &AccessEvent) -> AccessApplyResult {
        match event {
            AccessEvent::UserAdded(new) => Ok(self.add_user(at, new)),
            AccessEvent::UserRoleSet { name, role, .. } => self.set_role(name, *role),
            AccessEvent::UserPasswordSet { name, password, .. } => {
                self.set_password(name, password)
            }
            AccessEvent::UserDisabled { name, .. } => self.disable(name),
            AccessEvent::UserEnabled { name, .. } => self.enable(name),
            AccessEvent::UserRemoved { name, .. } => Ok(self.remove_user(name)),
            AccessEvent::UserLocked { name, until } => self.set_lock(name, Some(*until)),
            AccessEvent::UserUnlocked { name, .. } => self.set_lock(name, None),
            AccessEvent::TokenCreated(new) => Ok(self.create_token(at, new)),
            AccessEvent::TokenRevoked { name, .. } => Ok(self.revoke_token(name)),
            AccessEvent::TokenRotated(rotated) => self.rotate_token(rotated),
            AccessEvent::TokensForgotten { tokens } => Ok(self.forget_tokens(at, tokens)),
            AccessEvent::UsesRecorded { uses } => Ok(self.record_uses(uses)),
            AccessEvent::SessionBegun(new) => Ok(self.begin_session(at, new)),
            AccessEvent::SessionsSeen { seen } => Ok(self.record_seen(seen)),
            AccessEvent::SessionsEnded { sessions, .. } => Ok(self.end_sessions(sessions)),
            AccessEvent::SessionsOfEnded { subject, .. } => {
                Ok(outcome(self.end_sessions_of(subject)))
            }
            AccessEvent::LoginLinkIssued { hash, subject, generation, expires_at, .. } => {
                let link = LoginLink {
                    subject: subject.clone(),
                    generation: *generation,
                    expires_at: *expires_at,
                };
                Ok(self.issue_link(*hash, link))
            }
            AccessEvent::LoginLinksForgotten { links } => Ok(self.forget_links(links)),
        }
    }

    fn add_user(&mut self, at: Millis, new: &NewUser) -> AccessOutcome {
        let NewUser { name, role, password, by } = new;
        let generation = self.draw_generation();
        self.put_user(User {
            name: name.clone(),
            role: *role,
            password: password.clone(),
            is_disabled: false,
            generation,
            created_at: at,
            created_by: by.clone(),
            locked_until: None,
            last_login_at: None,
        });
        Applied
    }

    /// Changes a user. With `ends_sessions` a login that is under way fails, and all sessions end.
    fn change_user(
        &mut self,
        name: &UserName,
        ends_sessions: bool,
        change: impl FnOnce(&mut User),
    ) -> AccessApplyResult {
        let mut user = User::clone(self.known_user(name)?);
        change(&mut user);
        if ends_sessions {
            user.generation = self.draw_generation();
            self.end_sessions_of(&SessionSubject::User(name.clone()));
        }
        self.put_user(user);
        Ok(Applied)
    }

    fn set_role(&mut self, name: &UserName, role: Role) -> AccessApplyResult {
        let former = self.known_user(name)?.role;
        if former == role {
            return Ok(AlreadySo);
        }
        self.change_user(name, role < former, |user| user.role = role)
    }

    fn set_password(&mut self, name: &UserName, password: &UserPasswordHash) -> AccessApplyResult {
        self.change_user(name, true, |user| {
            user.password = Some(password.clone());
            user.locked_until = None;
        })
    }

    fn disable(&mut self, name: &UserName) -> AccessApplyResult {
        if self.known_user(name)?.is_disabled {
            return Ok(AlreadySo);
        }
        self.change_user(name, true, |user| user.is_disabled = true)
    }

    fn enable(&mut self, name: &UserName) -> AccessApplyResult {
        if !self.known_user(name)?.is_disabled {
            return Ok(AlreadySo);
        }
        self.change_user(name, false, |user| user.is_disabled = false)
    }

    fn remove_user(&mut self, name: &UserName) -> AccessOutcome {
        self.end_sessions_of(&SessionSubject::User(name.clone()));
        outcome(self.users.remove(name.as_str()).is_some())
    }

    fn set_lock(&mut self, name: &UserName, until: Option<Millis>) -> AccessApplyResult {
        if self.known_user(name)?.locked_until == until {
            return Ok(AlreadySo);
        }
        self.change_user(name, false, |user| user.locked_until = until)
    }

    fn create_token(&mut self, at: Millis, new: &NewToken) -> AccessOutcome {
        let NewToken { name, hash, rights, expires_at, addresses, by } = new;
        let generation = self.draw_generation();
        self.put_token(Token {
            name: name.clone(),
            hash: *hash,
            rights: rights.clone(),
            expires_at: *expires_at,
            addresses: addresses.clone(),
            generation,
            created_at: at,
            created_by: by.clone(),
            recorded_use: None,
            uses: Arc::default(),
        });
        Applied
    }

    fn revoke_token(&mut self, name: &TokenName) -> AccessOutcome {
        self.end_sessions_of(&SessionSubject::Token(name.clone()));
        outcome(self.remove_token(name).is_some())
    }

    fn rotate_token(&mut self, rotated: &RotatedToken) -> AccessApplyResult {
        let RotatedToken { name, hash, expires_at, addresses, by: _ } = rotated;
        let former = self.known_token(name)?;
        let mut token = Token {
            hash: *hash,
            expires_at: *expires_at,
            addresses: addresses.clone(),
            recorded_use: None,
            uses: Arc::default(),
            ..Token::clone(former)
        };
        token.generation = self.draw_generation();
        self.end_sessions_of(&SessionSubject::Token(name.clone()));
        self.put_token(token);
        Ok(Applied)
    }

    fn forget_tokens(&mut self, at: Millis, tokens: &[(TokenName, u64)]) -> AccessOutcome {
        let mut is_news = false;
        for (name, generation) in tokens {
            let token = self.token(name).filter(|token| token.generation == *generation);
            if token.is_some_and(|token| token.is_expired(at)) {
                self.revoke_token(name);
                is_news = true;
            }
        }
        outcome(is_news)
    }

    fn record_uses(&mut self, uses: &[RecordedUse]) -> AccessOutcome {
        let mut is_news = false;
        for RecordedUse { name, generation, at, address } in uses {
            let token = self.token(name).filter(|token| token.generation == *generation);
            if let Some(token) = token {
                let recorded_use = Some(LastUse { at: *at, address: *address });
                let token = Token { recorded_use, ..Token::clone(token) };
                self.put_token(token);
                is_news = true;
            }
        }
        outcome(is_news)
    }

    fn begin_session(&mut self, at: Millis, new: &NewSession) -> AccessOutcome {
        let NewSession { hash, subject, link, ends_at, address, user_agent, .. } = new;
        if let Some(link) = link {
            self.links.remove(link);
        }
        self.make_room_for_session(subject);
        self.put_session(Session {
            hash: *hash,
            subject: subject.clone(),
            created_at: at,
            ends_at: *ends_at,
            recorded_use: at,
            address: *address,
            user_agent: user_agent.clone(),
            uses: Arc::default(),
        });
        if let SessionSubject::User(name) = subject
            && let Some(user) = self.user(name)
        {
            let user = User { last_login_at: Some(at), ..User::clone(user) };
            self.put_user(user);
        }
        Applied
    }

    /// Ends the session without use for the longest time, if there are too many. The sessions of the same subject
    /// give way first, so that nobody pushes others out.
    fn make_room_for_session(&mut self, subject: &SessionSubject) {
        let first = |sessions: &SessionsByUse| sessions.first().map(|(_, hash)| *hash);
        let of_subject = self.sessions_by_subject.get(subject);
        let of_subject = of_subject.filter(|sessions| sessions.len() >= MOST_SESSIONS_OF_ONE);
        let full = self.sessions.len() >= MOST_SESSIONS;
        let gives_way = match of_subject {
            Some(sessions) => first(sessions),
            None if full => first(&self.sessions_by_use),
            None => None,
        };
        if let Some(hash) = gives_way {
            self.remove_session(&hash);
        }
    }

    fn record_seen(&mut self, seen: &[(SessionHash, Millis)]) -> AccessOutcome {
        let mut is_news = false;
        for (hash, at) in seen {
            let session = self.sessions.get(hash).filter(|session| session.recorded_use < *at);
            if let Some(session) = session {
                let session = Session { recorded_use: *at, ..Session::clone(session) };
                self.put_session(session);
                is_news = true;
            }
        }
        outcome(is_news)
    }

    fn end_sessions(&mut self, sessions: &[SessionHash]) -> AccessOutcome {
        let mut is_news = false;
        for hash in sessions {
            is_news |= self.remove_session(hash).is_some();
        }
        outcome(is_news)
    }

    fn issue_link(&mut self, hash: LinkHash, link: LoginLink) -> AccessOutcome {
        let gives_way = self.links.iter().min_by_key(|(_, link)| link.expires_at);
        let gives_way = gives_way.map(|(hash, _)| *hash);
        if let Some(first) = gives_way.filter(|_| self.links.len() >= MOST_LOGIN_LINKS) {
            self.links.remove(&first);
        }
        self.links.insert(hash, link);
        Applied
    }

    fn forget_links(&mut self, links: &[LinkHash]) -> AccessOutcome {
        let mut is_news = false;
        for hash in links {
            is_news |= self.links.remove(hash).is_some();
        }
        outcome(is_news)
    }
}
