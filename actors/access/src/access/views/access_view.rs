//! The read view: it knows callers by their credentials, and lists users, tokens and sessions.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::token::SharedToken;

use super::refusals::{LoginRefused, SessionRefused, TokenRefused};
use crate::access::settings::AccessSettings;
use crate::access::state::access_table::AccessTable;
use crate::access::state::shared_map::SharedMap;
use crate::access::state::values::last_use::LastUse;
use crate::access::state::values::session::{Session, SessionSubject};
use crate::access::state::values::token::Token;
use crate::access::state::values::use_queue::{UseQueue, UsedCredential};
use crate::access::state::values::user::User;
use crate::rights::{Caller, Rights, Subject, TokenName, UserName};
use crate::secrets::{SessionHash, SessionSecret, TokenHash, UserPasswordHash};

/// A token's use is recorded if it is this much later than the recorded one.
const TOKEN_USE_GAP: Duration = Duration::from_secs(3600);

/// The users, tokens and sessions at one moment. Its maps are shared with the piece, so a view costs little.
#[derive(Clone, Debug, Default)]
pub struct AccessView {
    /// Whether the piece contains everything that this node had recorded when it started. Before that all
    /// credentials are refused, because one of them may be revoked.
    pub is_ready: bool,
    /// The epoch this node leads in; none on a follower.
    pub epoch: Option<Epoch>,
    /// Commits without an outcome, since the process started.
    pub uncommitted: u64,
    /// Whether a user or token can administrate the yard at any time.
    pub has_admin: bool,
    /// Grows with each change that may have taken rights away, since the process started.
    pub rights_changes: u64,
    settings: AccessSettings,
    users: SharedMap<UserName, Arc<User>>,
    tokens: SharedMap<TokenName, Arc<Token>>,
    tokens_by_hash: SharedMap<TokenHash, Arc<Token>>,
    sessions: SharedMap<SessionHash, Arc<Session>>,
    uses: UseQueue,
}

/// A password to check. Every name gives one, so that a caller does not learn whether a user exists.
#[derive(Clone, Debug)]
pub struct PasswordLogin {
    password: UserPasswordHash,
    generation: Option<u64>,
}

impl PasswordLogin {
    /// Checks the password: the generation of the user for
    /// [`LoginProof::Password`](crate::access::LoginProof::Password), or none if it is wrong. Takes 50 to 300 ms by design:
    /// call it on a thread for blocking work.
    pub fn check(&self, given: &str) -> Option<u64> {
        let is_right = self.password.is_password(given);
        self.generation.filter(|_| is_right)
    }
}

impl AccessView {
    /// The view of this table.
    pub(in crate::access) fn of(
        table: &AccessTable,
        settings: AccessSettings,
        uses: UseQueue,
        has_admin: bool,
    ) -> Self {
        AccessView {
            has_admin,
            settings,
            users: table.users.clone(),
            tokens: table.tokens.clone(),
            tokens_by_hash: table.tokens_by_hash.clone(),
            sessions: table.sessions.clone(),
            uses,
            ..AccessView::default()
        }
    }

    /// The caller with the token of this text, and records its use.
    ///
    /// # Errors
    /// The token is malformed, unknown or expired, or not accepted from this address.
    pub fn authenticate_token(
        &self,
        text: &str,
        address: IpAddr,
        now: Millis,
    ) -> Result<Caller, TokenRefused> {
        self.authenticate_token_hash(&TokenHash::of_token(text)?, address, now)
    }

    /// The caller with the token of this hash, and records its use.
    ///
    /// # Errors
    /// The token is unknown or expired, or not accepted from this address.
    pub fn authenticate_token_hash(
        &self,
        hash: &TokenHash,
        address: IpAddr,
        now: Millis,
    ) -> Result<Caller, TokenRefused> {
        if !self.is_ready {
            return Err(TokenRefused::NotReady);
        }
        let token = self.tokens_by_hash.get(hash).ok_or(TokenRefused::Unknown)?;
        self.admit(token, address, now)
    }

    /// The rights that a token gives now. Records no use, for answers that last longer than the request.
    pub fn rights_of_token(
        &self,
        hash: &TokenHash,
        address: IpAddr,
        now: Millis,
    ) -> Option<Rights> {
        let token = self.tokens_by_hash.get(hash)?;
        (!token.is_expired(now) && token.admits(address)).then(|| token.rights.clone())
    }

    /// The rights that a session gives now. Records no use: an open page alone does not keep a session alive.
    pub fn rights_of_session(
        &self,
        secret: &SessionSecret,
        address: IpAddr,
        now: Millis,
    ) -> Option<Rights> {
        let session = self.sessions.get(&secret.hash())?;
        self.session_rights(session, address, now).ok()
    }

    /// The worker on this host as a caller, after its signature was checked with [`AccessView::worker_key`]. Records
    /// the use of its token. None if the worker has no token of its own.
    ///
    /// # Errors
    /// The token is expired, or not accepted from this address.
    pub fn authenticate_worker(
        &self,
        host: HostAddr,
        address: IpAddr,
        now: Millis,
    ) -> Result<Option<Caller>, TokenRefused> {
        if !self.is_ready {
            return Err(TokenRefused::NotReady);
        }
        let token = self.token(&TokenName::of_worker(host));
        token.map(|token| self.admit(&token, address, now)).transpose()
    }

    fn admit(
        &self,
        token: &Arc<Token>,
        address: IpAddr,
        now: Millis,
    ) -> Result<Caller, TokenRefused> {
        if let Some(at) = token.expires_at.filter(|at| now >= *at) {
            return Err(TokenRefused::Expired(at));
        }
        if !token.admits(address) {
            return Err(TokenRefused::OutsideItsAddresses);
        }
        let last = LastUse { at: now, address: address.into() };
        if token.uses.record(last, token.recorded_use.map(|last| last.at), TOKEN_USE_GAP) {
            self.uses.push(UsedCredential::Token(Arc::clone(token)));
        }
        let subject = match &token.rights {
            Rights::Worker(host) => Subject::Worker(*host),
            Rights::Role(_) | Rights::Scopes(_) => Subject::Token(token.name.clone()),
        };
        Ok(Caller { subject, rights: token.rights.clone() })
    }

    /// The caller with this session, and records its use. The rights are those that the user or token has now.
    ///
    /// # Errors
    /// The session is unknown or has ended, or its token does not admit the address.
    pub fn authenticate_session(
        &self,
        secret: &SessionSecret,
        address: IpAddr,
        now: Millis,
    ) -> Result<Caller, SessionRefused> {
        if !self.is_ready {
            return Err(SessionRefused::NotReady);
        }
        let session = self.sessions.get(&secret.hash()).ok_or(SessionRefused::Unknown)?;
        let rights = self.session_rights(session, address, now)?;
        let last = LastUse { at: now, address: address.into() };
        let gap = self.settings.session_use_gap();
        if session.uses.record(last, Some(session.recorded_use), gap) {
            self.uses.push(UsedCredential::Session(Arc::clone(session)));
        }
        Ok(Caller { subject: Subject::from(&session.subject), rights })
    }

    fn session_rights(
        &self,
        session: &Session,
        address: IpAddr,
        now: Millis,
    ) -> Result<Rights, SessionRefused> {
        if !self.is_live(session, now) {
            return Err(SessionRefused::Ended);
        }
        match &session.subject {
            SessionSubject::User(name) => {
                let user = self.users.get(name.as_str()).filter(|user| !user.is_disabled);
                Ok(Rights::Role(user.ok_or(SessionRefused::Unknown)?.role))
            }
            SessionSubject::Token(name) => {
                let token = self.tokens.get(name.as_str()).filter(|token| !token.is_expired(now));
                let token = token.ok_or(SessionRefused::Ended)?;
                if !token.admits(address) {
                    return Err(SessionRefused::OutsideItsAddresses);
                }
                Ok(token.rights.clone())
            }
        }
    }

    /// Whether a session is accepted now.
    pub fn is_live(&self, session: &Session, now: Millis) -> bool {
        now < session.ends_at && now < session.last_seen_at().after(self.settings.idle)
    }

    /// The password that a login must match.
    ///
    /// # Errors
    /// The account is locked.
    pub fn password_login(&self, name: &str, now: Millis) -> Result<PasswordLogin, LoginRefused> {
        if !self.is_ready {
            return Err(LoginRefused::NotReady);
        }
        let user = self.users.get(name);
        if let Some(until) = user.and_then(|user| user.locked_until).filter(|until| now < *until) {
            return Err(LoginRefused::Locked(until));
        }
        let known = user.filter(|user| !user.is_disabled);
        let known = known.and_then(|user| Some((user.password.clone()?, user.generation)));
        Ok(match known {
            Some((password, generation)) => {
                PasswordLogin { password, generation: Some(generation) }
            }
            None => PasswordLogin { password: UserPasswordHash::of_nobody(), generation: None },
        })
    }

    /// The key for signed calls to and from the worker on this host. None if it has no token of its own. An expired
    /// token has a key as well, so that the worker's calls are refused with the right reason.
    pub fn worker_key(&self, host: HostAddr) -> Option<SharedToken> {
        self.token(&TokenName::of_worker(host))?.hash.signing_key().ok()
    }

    /// Whether any worker has a token of its own, valid or not.
    pub fn has_worker_tokens(&self) -> bool {
        self.tokens.values().any(|token| matches!(token.rights, Rights::Worker(_)))
    }

    /// The user that a caller names by this text, if there is one.
    pub fn known_user(&self, name: &str) -> Option<Arc<User>> {
        self.users.get(name).cloned()
    }

    /// The user of this name.
    pub fn user(&self, name: &UserName) -> Option<Arc<User>> {
        self.users.get(name.as_str()).cloned()
    }

    /// The token of this name.
    pub fn token(&self, name: &TokenName) -> Option<Arc<Token>> {
        self.tokens.get(name.as_str()).cloned()
    }

    /// All users, in the order of their names.
    pub fn users(&self) -> Vec<Arc<User>> {
        let mut users: Vec<Arc<User>> = self.users.values().cloned().collect();
        users.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        users
    }

    /// All tokens, in the order of their names. Expired ones stay in the list for 30 days.
    pub fn tokens(&self) -> Vec<Arc<Token>> {
        let mut tokens: Vec<Arc<Token>> = self.tokens.values().cloned().collect();
        tokens.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        tokens
    }

    /// The sessions that are accepted now, the newest login first.
    pub fn sessions(&self, now: Millis) -> Vec<Arc<Session>> {
        let live = self.sessions.values().filter(|session| self.is_live(session, now));
        let mut sessions: Vec<Arc<Session>> = live.cloned().collect();
        // The id is the beginning of the hash.
        sessions.sort_unstable_by_key(|session| (Reverse(session.created_at), session.hash));
        sessions
    }
}
