//! The records of the piece as a snapshot stores them. A stored form never changes. Pure.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_replication::stored_form;
use serde::{Deserialize, Serialize};

use super::values::last_use::LastUse;
use super::values::login_link::LoginLink;
use super::values::session::{Session, SessionSubject};
use super::values::token::Token;
use super::values::user::User;
use super::values::user_agent::UserAgent;
use crate::rights::{Rights, Role, TokenName, UserName};
use crate::secrets::{SessionHash, TokenHash, UserPasswordHash};
use reelyard_core::address_range::{AddressRange, CallerAddress};

stored_form! {
    /// A user with all fields of row version 1.
    pub(in crate::access) struct StoredUser of User {
        name: UserName,
        role: Role,
        password: Option<UserPasswordHash>,
        is_disabled: bool,
        generation: u64,
        created_at: Millis,
        created_by: String,
        locked_until: Option<Millis>,
        last_login_at: Option<Millis>,
    }
}

stored_form! {
    /// The recorded use of a token.
    pub(in crate::access) struct StoredUse of LastUse {
        at: Millis,
        address: CallerAddress,
    }
}

stored_form! {
    /// A login link, without its hash.
    pub(in crate::access) struct StoredLoginLink of LoginLink {
        subject: SessionSubject,
        generation: u64,
        expires_at: Millis,
    }
}

/// A token, without its last use in this process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::access) struct StoredToken {
    name: TokenName,
    hash: TokenHash,
    rights: Rights,
    expires_at: Option<Millis>,
    addresses: Vec<AddressRange>,
    generation: u64,
    created_at: Millis,
    created_by: String,
    recorded_use: Option<StoredUse>,
}

impl From<&Token> for StoredToken {
    fn from(token: &Token) -> Self {
        let Token { name, hash, rights, expires_at, addresses, .. } = token.clone();
        let Token { generation, created_at, created_by, recorded_use, uses: _, .. } = token.clone();
        let recorded_use = recorded_use.map(StoredUse::from);
        StoredToken {
            name,
            hash,
            rights,
            expires_at,
            addresses,
            generation,
            created_at,
            created_by,
            recorded_use,
        }
    }
}

impl From<StoredToken> for Token {
    fn from(stored: StoredToken) -> Self {
        let StoredToken { name, hash, rights, expires_at, addresses, .. } = stored;
        let StoredToken { generation, created_at, created_by, recorded_use, .. } = stored;
        Token {
            name,
            hash,
            rights,
            expires_at,
            addresses,
            generation,
            created_at,
            created_by,
            recorded_use: recorded_use.map(LastUse::from),
            uses: Arc::default(),
        }
    }
}

/// A session, without its last use in this process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::access) struct StoredSession {
    hash: SessionHash,
    subject: SessionSubject,
    created_at: Millis,
    ends_at: Millis,
    recorded_use: Millis,
    address: CallerAddress,
    user_agent: UserAgent,
}

impl From<&Session> for StoredSession {
    fn from(session: &Session) -> Self {
        let Session {
            hash,
            subject,
            created_at,
            ends_at,
            recorded_use,
            address,
            user_agent,
            uses: _,
        } = session.clone();
        StoredSession { hash, subject, created_at, ends_at, recorded_use, address, user_agent }
    }
}

impl From<StoredSession> for Session {
    fn from(stored: StoredSession) -> Self {
        let StoredSession { hash, subject, created_at, ends_at, recorded_use, address, user_agent } =
            stored;
        let uses = Arc::default();
        Session { hash, subject, created_at, ends_at, recorded_use, address, user_agent, uses }
    }
}
