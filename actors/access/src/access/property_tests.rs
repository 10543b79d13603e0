//! After all requests, restarts and passages of time, the view accepts exactly the credentials of a simple model.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::Piece;

use crate::access::messages::*;
use crate::access::policy::decision_context::AccessDecision;
use crate::access::samples::{
    START, address, at, link_secret, password, secret, session_secret, token_name, user_name,
    view_of,
};
use crate::access::settings::AccessSettings;
use crate::access::state::access_table::AccessTable;
use crate::access::state::event::AccessEvent;
use crate::access::state::values::session::SessionSubject;
use crate::access::state::values::use_queue::UseQueue;
use crate::rights::{Caller, Rights, Role, Subject, TokenName};

const USERS: [&str; 3] = ["alice", "bob", "carol"];
const TOKENS: [&str; 4] = ["ci", "ops", "admin", "worker/10.0.0.21:8888"];
const HOST: &str = "10.0.0.21:8888";

/// The next step. Users, tokens and sessions are named by their positions.
#[derive(Clone, Debug)]
enum AccessStep {
    AddUser(usize, Role, bool, usize),
    Change(usize, UserChangeKind, usize),
    RemoveUser(usize, usize),
    CreateToken {
        token: usize,
        rights: usize,
        lasts: Option<u64>,
        replace: bool,
        by: usize,
    },
    Rotate(usize, NewEnd, usize),
    Revoke(usize, usize),
    EnsureAdmin,
    RecoverAdmin,
    IssueLink(usize, usize),
    LoginByPassword(usize),
    /// With the secret of this number, if one was drawn.
    LoginByToken(u32),
    LoginByLink(u32),
    /// Ends the session of this number.
    Logout(u32),
    EndSessionsOf(usize),
    /// Passes this many minutes.
    Wait(u64),
    Upkeep,
    /// Restarts the node from a snapshot.
    Restart,
}

#[derive(Clone, Copy, Debug)]
enum UserChangeKind {
    Role(Role),
    Password,
    Disable,
    Enable,
    Lock,
    Unlock,
}

#[derive(Clone, Copy, Debug)]
enum NewEnd {
    Same,
    Never,
    In(u64),
}

/// A user as the rules describe it.
#[derive(Clone, Debug)]
struct ModelUser {
    role: Role,
    has_password: bool,
    is_disabled: bool,
    locked_until: Millis,
}

#[derive(Clone, Debug)]
struct ModelToken {
    secret: u32,
    rights: Rights,
    expires_at: Option<Millis>,
}

#[derive(Clone, Debug)]
struct ModelSession {
    subject: SessionSubject,
    ends_at: Millis,
    seen: Millis,
    is_over: bool,
}

#[derive(Clone, Debug)]
struct ModelLink {
    subject: SessionSubject,
    expires_at: Millis,
    is_over: bool,
}

/// The owner and the model side by side.
struct AccessWorld {
    table: AccessTable,
    uses: UseQueue,
    now: Millis,
    users: BTreeMap<String, ModelUser>,
    tokens: BTreeMap<String, ModelToken>,
    /// By the number of the secret.
    sessions: BTreeMap<u32, ModelSession>,
    links: BTreeMap<u32, ModelLink>,
    /// The number of the next secret.
    next: u32,
    had_admin: bool,
}

fn role() -> impl Strategy<Value = Role> {
    prop::sample::select(Role::ALL.to_vec())
}

fn change() -> impl Strategy<Value = UserChangeKind> {
    prop_oneof![
        role().prop_map(UserChangeKind::Role),
        Just(UserChangeKind::Password),
        Just(UserChangeKind::Disable),
        Just(UserChangeKind::Enable),
        Just(UserChangeKind::Lock),
        Just(UserChangeKind::Unlock),
    ]
}

fn minutes() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0, 1, 20, 61, 9 * 60, 40 * 24 * 60])
}

fn step() -> impl Strategy<Value = AccessStep> {
    let (user, token, by) = (0..USERS.len(), 0..TOKENS.len(), 0..10_usize);
    let end = prop_oneof![Just(NewEnd::Same), Just(NewEnd::Never), minutes().prop_map(NewEnd::In)];
    let create =
        (token.clone(), 0..5_usize, prop::option::of(minutes()), any::<bool>(), by.clone());
    prop_oneof![
        3 => (user.clone(), role(), any::<bool>(), by.clone())
            .prop_map(|(user, role, has, by)| AccessStep::AddUser(user, role, has, by)),
        4 => (user.clone(), change(), by.clone())
            .prop_map(|(user, change, by)| AccessStep::Change(user, change, by)),
        1 => (user.clone(), by.clone()).prop_map(|(user, by)| AccessStep::RemoveUser(user, by)),
        4 => create.prop_map(|(token, rights, lasts, replace, by)| {
            AccessStep::CreateToken { token, rights, lasts, replace, by }
        }),
        2 => (token.clone(), end, by.clone())
            .prop_map(|(token, end, by)| AccessStep::Rotate(token, end, by)),
        1 => (token, by.clone()).prop_map(|(token, by)| AccessStep::Revoke(token, by)),
        1 => Just(AccessStep::EnsureAdmin),
        1 => Just(AccessStep::RecoverAdmin),
        1 => (0..7_usize, by).prop_map(|(subject, by)| AccessStep::IssueLink(subject, by)),
        3 => user.prop_map(AccessStep::LoginByPassword),
        2 => (0..30_u32).prop_map(AccessStep::LoginByToken),
        2 => (0..30_u32).prop_map(AccessStep::LoginByLink),
        1 => (0..30_u32).prop_map(AccessStep::Logout),
        1 => (0..7_usize).prop_map(AccessStep::EndSessionsOf),
        2 => minutes().prop_map(AccessStep::Wait),
        1 => Just(AccessStep::Upkeep),
        1 => Just(AccessStep::Restart),
    ]
}

fn rights(number: usize) -> Rights {
    match number {
        0..3 => Rights::Role(Role::ALL[number]),
        3 => Rights::Scopes(["access:write", "yard:read"].map(|text| text.parse().unwrap()).into()),
        _ => Rights::Worker(HOST.parse().unwrap()),
    }
}

fn subject(number: usize) -> SessionSubject {
    match USERS.get(number) {
        Some(name) => SessionSubject::User(user_name(name)),
        None => SessionSubject::Token(token_name(TOKENS[number - USERS.len()])),
    }
}

impl AccessWorld {
    fn new() -> Self {
        AccessWorld {
            table: AccessTable::default(),
            uses: UseQueue::default(),
            now: START,
            users: BTreeMap::new(),
            tokens: BTreeMap::new(),
            sessions: BTreeMap::new(),
            links: BTreeMap::new(),
            next: 0,
            had_admin: false,
        }
    }

    fn draw(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn after(&self, minutes: u64) -> Millis {
        self.now.after(Duration::from_secs(60 * minutes))
    }

    /// A user or token with its present rights. The node, if there is none of this number.
    fn caller(&self, number: usize) -> Caller {
        let user = USERS.get(number).and_then(|name| Some((*name, self.users.get(*name)?)));
        if let Some((name, user)) = user {
            let subject = Subject::User(user_name(name));
            return Caller { subject, rights: Rights::Role(user.role) };
        }
        let name = number.checked_sub(USERS.len()).and_then(|number| TOKENS.get(number));
        match name.and_then(|name| Some((*name, self.tokens.get(*name)?))) {
            Some((name, token)) => {
                let subject = Subject::Token(token_name(name));
                Caller { subject, rights: token.rights.clone() }
            }
            None => Caller::node(),
        }
    }

    /// Applies a decision. Returns whether it was accepted.
    fn apply(&mut self, decision: AccessDecision) -> bool {
        let Ok(events) = decision else { return false };
        for event in &events {
            self.table.apply(self.now, event).expect("a decision holds when nothing came between");
        }
        !events.is_empty()
    }

    fn end_sessions_of(&mut self, subject: &SessionSubject) {
        for session in self.sessions.values_mut().filter(|session| session.subject == *subject) {
            session.is_over = true;
        }
        for link in self.links.values_mut().filter(|link| link.subject == *subject) {
            link.is_over = true;
        }
    }

    /// Rights that a caller gave away must be its own.
    fn granted(&self, by: &Caller, rights: &Rights) {
        assert!(by.rights.contain(rights), "{by:?} granted {rights:?}");
    }

    fn has_admin(&self) -> bool {
        let admin = Rights::Role(Role::Admin);
        let is_admin =
            |user: &ModelUser| user.role == Role::Admin && user.has_password && !user.is_disabled;
        self.users.values().any(is_admin)
            || self.tokens.values().any(|token| token.rights == admin && token.expires_at.is_none())
    }

    fn run(&mut self, step: &AccessStep) {
        let request = RequestId(0);
        match *step {
            AccessStep::AddUser(user, role, has_password, by) => {
                let (name, by) = (user_name(USERS[user]), self.caller(by));
                let password = has_password.then(password);
                let asked = AddUser { name, role, password, by: by.clone(), request };
                let decision = at(&self.table, self.now).add_user(&asked);
                if self.apply(decision) {
                    self.granted(&by, &Rights::Role(role));
                    let (is_disabled, locked_until) = (false, START);
                    let user_now = ModelUser { role, has_password, is_disabled, locked_until };
                    assert!(self.users.insert(USERS[user].to_owned(), user_now).is_none());
                }
            }
            AccessStep::Change(user, change, by) => self.change(USERS[user], change, by),
            AccessStep::RemoveUser(user, by) => {
                let (name, by) = (user_name(USERS[user]), self.caller(by));
                let asked = RemoveUser { name: name.clone(), by: by.clone(), request };
                let decision = at(&self.table, self.now).remove_user(&asked);
                if self.apply(decision) {
                    assert_ne!(by.subject, Subject::User(name.clone()));
                    self.users.remove(USERS[user]);
                    self.end_sessions_of(&SessionSubject::User(name));
                }
            }
            AccessStep::CreateToken { token, rights: number, lasts, replace, by } => {
                self.create_token(TOKENS[token], rights(number), lasts, replace, by);
            }
            AccessStep::Rotate(token, end, by) => self.rotate(TOKENS[token], end, by),
            AccessStep::Revoke(token, by) => {
                let (name, by) = (token_name(TOKENS[token]), self.caller(by));
                let asked = RevokeToken { name: name.clone(), by: by.clone(), request };
                let decision = at(&self.table, self.now).revoke_token(&asked);
                if self.apply(decision) {
                    assert_ne!(by.subject, Subject::Token(name.clone()));
                    self.tokens.remove(TOKENS[token]);
                    self.end_sessions_of(&SessionSubject::Token(name));
                }
            }
            AccessStep::EnsureAdmin => {
                let (number, needed) = (self.draw(), !self.has_admin());
                let hash = secret(number).hash();
                let decision = at(&self.table, self.now).ensure_admin(hash);
                assert_eq!(self.apply(decision), needed);
                if needed {
                    self.set_admin(number);
                }
            }
            AccessStep::RecoverAdmin => {
                let number = self.draw();
                let decision = at(&self.table, self.now).recover_admin(secret(number).hash());
                assert!(self.apply(decision));
                self.set_admin(number);
            }
            AccessStep::IssueLink(number, by) => self.issue_link(subject(number), by),
            AccessStep::LoginByPassword(user) => {
                let name = user_name(USERS[user]);
                let generation = self.table.generation(&SessionSubject::User(name.clone()));
                let known = self.users.get(USERS[user]);
                let may = known.is_some_and(|user| {
                    user.has_password && !user.is_disabled && self.now >= user.locked_until
                });
                let (subject, name_again) = (SessionSubject::User(name.clone()), name.clone());
                let generation = generation.unwrap_or(0);
                self.login(LoginProof::Password { name: name_again, generation }, may, subject);
                // A login that saw the user before a change begins no session.
                let generation = generation.wrapping_sub(1);
                let (subject, proof) =
                    (SessionSubject::User(name.clone()), LoginProof::Password { name, generation });
                self.login(proof, false, subject);
            }
            AccessStep::LoginByToken(number) => {
                let found = self.tokens.iter().find(|(_, token)| token.secret == number);
                let may = found.is_some_and(|(_, token)| {
                    !matches!(token.rights, Rights::Worker(_))
                        && token.expires_at.is_none_or(|at| self.now < at)
                });
                let name = found.map_or(TokenName::admin(), |(name, _)| token_name(name));
                let proof = LoginProof::Token(secret(number).hash());
                self.login(proof, may, SessionSubject::Token(name));
            }
            AccessStep::LoginByLink(number) => self.login_by_link(number),
            AccessStep::Logout(number) => {
                let (hash, by) = (session_secret(number).hash(), Caller::node());
                let decision = at(&self.table, self.now).end_session(&EndSession { hash, by });
                self.apply(decision);
                if let Some(session) = self.sessions.get_mut(&number) {
                    session.is_over = true;
                }
            }
            AccessStep::EndSessionsOf(number) => {
                let (subject, by) = (subject(number), Caller::node());
                let asked = EndSessionsOf { subject: subject.clone(), by, request };
                let decision = at(&self.table, self.now).end_sessions_of(&asked);
                self.apply(decision);
                self.end_sessions_of(&subject);
            }
            AccessStep::Wait(minutes) => self.now = self.after(minutes),
            AccessStep::Upkeep => self.upkeep(),
            AccessStep::Restart => self.restart(),
        }
    }

    fn change(&mut self, user: &str, change: UserChangeKind, by: usize) {
        let (name, by) = (user_name(user), self.caller(by));
        let until = self.after(15);
        let decision = match change {
            UserChangeKind::Lock => {
                let event = AccessEvent::UserLocked { name: name.clone(), until };
                at(&self.table, self.now).decide(event)
            }
            other => {
                let change = match other {
                    UserChangeKind::Role(role) => UserChange::Role(role),
                    UserChangeKind::Password => UserChange::Password(password()),
                    UserChangeKind::Disable => UserChange::Disable,
                    UserChangeKind::Enable => UserChange::Enable,
                    UserChangeKind::Lock | UserChangeKind::Unlock => UserChange::Unlock,
                };
                let (name, by, request) = (name.clone(), by.clone(), RequestId(0));
                let asked = ChangeUser { name, change, by, request };
                at(&self.table, self.now).change_user(&asked)
            }
        };
        if !self.apply(decision) {
            return;
        }
        let own = Subject::User(name.clone());
        let former = self.users[user].role;
        let mut ends_sessions = false;
        match change {
            UserChangeKind::Role(role) => {
                self.granted(&by, &Rights::Role(role));
                assert!(role >= former || by.subject != own);
                ends_sessions = role < former;
            }
            UserChangeKind::Password => {
                self.granted(&by, &Rights::Role(former));
                ends_sessions = true;
            }
            UserChangeKind::Disable => {
                assert_ne!(by.subject, own);
                // A user who is disabled already has no sessions.
                ends_sessions = true;
            }
            UserChangeKind::Enable | UserChangeKind::Unlock => {
                self.granted(&by, &Rights::Role(former))
            }
            UserChangeKind::Lock => {}
        }
        let model = self.users.get_mut(user).unwrap();
        match change {
            UserChangeKind::Role(role) => model.role = role,
            UserChangeKind::Password => (model.has_password, model.locked_until) = (true, START),
            UserChangeKind::Disable => model.is_disabled = true,
            UserChangeKind::Enable => model.is_disabled = false,
            UserChangeKind::Lock => model.locked_until = until,
            UserChangeKind::Unlock => model.locked_until = START,
        }
        if ends_sessions {
            self.end_sessions_of(&SessionSubject::User(name));
        }
    }

    fn create_token(
        &mut self,
        token: &str,
        rights: Rights,
        lasts: Option<u64>,
        replace: bool,
        by: usize,
    ) {
        let (number, by) = (self.draw(), self.caller(by));
        let expires_at = lasts.map(|minutes| self.after(minutes));
        let asked = CreateToken {
            name: token_name(token),
            hash: secret(number).hash(),
            rights: rights.clone(),
            expires_at,
            addresses: Vec::new(),
            replace,
            by: by.clone(),
            request: RequestId(0),
        };
        let decision = at(&self.table, self.now).create_token(&asked);
        if !self.apply(decision) {
            return;
        }
        self.granted(&by, &rights);
        assert_ne!(token, "admin", "the name is reserved");
        assert_eq!(token_name(token).worker().is_some(), matches!(rights, Rights::Worker(_)));
        assert!(expires_at.is_none_or(|at| at > self.now));
        let former =
            self.tokens.insert(token.to_owned(), ModelToken { secret: number, rights, expires_at });
        assert!(former.is_none() || replace && token.starts_with("worker/"));
        self.end_sessions_of(&SessionSubject::Token(token_name(token)));
    }

    fn rotate(&mut self, token: &str, end: NewEnd, by: usize) {
        let (number, by) = (self.draw(), self.caller(by));
        let new_end = match end {
            NewEnd::Same => NewTokenEnd::Same,
            NewEnd::Never => NewTokenEnd::Never,
            NewEnd::In(minutes) => NewTokenEnd::At(self.after(minutes)),
        };
        let asked = RotateToken {
            name: token_name(token),
            hash: secret(number).hash(),
            end: new_end,
            by: by.clone(),
            request: RequestId(0),
        };
        let decision = at(&self.table, self.now).rotate_token(&asked);
        if !self.apply(decision) {
            return;
        }
        let rights = self.tokens[token].rights.clone();
        self.granted(&by, &rights);
        let model = self.tokens.get_mut(token).unwrap();
        model.secret = number;
        model.expires_at = match new_end {
            NewTokenEnd::Same => model.expires_at,
            NewTokenEnd::Never => None,
            NewTokenEnd::At(at) => Some(at),
        };
        assert!(model.expires_at.is_none_or(|at| at > self.now));
        self.end_sessions_of(&SessionSubject::Token(token_name(token)));
    }

    fn set_admin(&mut self, secret: u32) {
        let rights = Rights::Role(Role::Admin);
        self.end_sessions_of(&SessionSubject::Token(TokenName::admin()));
        let token = ModelToken { secret, rights, expires_at: None };
        self.tokens.insert(TokenName::ADMIN.to_owned(), token);
    }

    fn rights_of(&self, subject: &SessionSubject) -> Option<Rights> {
        match subject {
            SessionSubject::User(name) => {
                self.users.get(name.as_str()).map(|user| Rights::Role(user.role))
            }
            SessionSubject::Token(name) => {
                self.tokens.get(name.as_str()).map(|token| token.rights.clone())
            }
        }
    }

    fn issue_link(&mut self, subject: SessionSubject, by: usize) {
        let (number, by) = (self.draw(), self.caller(by));
        let hash = link_secret(number).hash();
        let asked = IssueLoginLink { hash, subject: subject.clone(), by: by.clone() };
        let decision = at(&self.table, self.now).issue_link(&asked);
        if self.apply(decision) {
            let rights = self.rights_of(&subject).expect("the subject exists");
            self.granted(&by, &rights);
            let link = ModelLink { subject, expires_at: self.after(15), is_over: false };
            self.links.insert(number, link);
        }
    }

    fn login_by_link(&mut self, number: u32) {
        let Some(link) = self.links.get(&number).cloned() else { return };
        let (is_disabled, locked_until) = match &link.subject {
            SessionSubject::User(name) => {
                let user = self.users.get(name.as_str());
                user.map_or((true, START), |user| (user.is_disabled, user.locked_until))
            }
            SessionSubject::Token(name) => {
                let token = self.tokens.get(name.as_str());
                let is_expired =
                    |token: &ModelToken| token.expires_at.is_some_and(|at| self.now >= at);
                (token.is_none_or(is_expired), START)
            }
        };
        let may =
            !link.is_over && self.now < link.expires_at && !is_disabled && self.now >= locked_until;
        self.login(LoginProof::Link(link_secret(number).hash()), may, link.subject);
        if let Some(link) = self.links.get_mut(&number).filter(|_| may) {
            link.is_over = true;
        }
    }

    /// Begins a session, if the rules allow it.
    fn login(&mut self, proof: LoginProof, may: bool, subject: SessionSubject) {
        let number = self.draw();
        let hash = session_secret(number).hash();
        let (address, user_agent) = (address(1).into(), Default::default());
        let asked = BeginSession { proof, hash, address, user_agent };
        let decision = at(&self.table, self.now).begin_session(&asked);
        assert_eq!(self.apply(decision), may, "{asked:?}");
        if may {
            let latest = self.now.after(AccessSettings::default().max_age);
            let end = match &subject {
                SessionSubject::Token(name) => self.tokens[name.as_str()].expires_at,
                SessionSubject::User(_) => None,
            };
            let ends_at = end.map_or(latest, |end| end.min(latest));
            let session = ModelSession { subject, ends_at, seen: self.now, is_over: false };
            self.sessions.insert(number, session);
        }
    }

    fn upkeep(&mut self) {
        let used = self.uses.take_all();
        let recorded = at(&self.table, self.now).record_uses(&used);
        self.apply(Ok(recorded));
        let removed = at(&self.table, self.now).remove_ended();
        self.apply(Ok(removed));
        let long_ago = self.now.before(Duration::from_secs(30 * 24 * 3600));
        self.tokens.retain(|_, token| token.expires_at.is_none_or(|at| at > long_ago));
    }

    fn restart(&mut self) {
        self.upkeep();
        let rows = rows(&self.table);
        let mut restored = self.table.emptied();
        for row in &rows {
            restored.thaw(row).unwrap();
        }
        assert_eq!(self::rows(&restored), rows);
        self.table = restored;
        // Uses within a part of the idle time are not recorded.
        for (number, session) in &mut self.sessions {
            if let Some(stored) = self.table.sessions.get(&session_secret(*number).hash()) {
                let lost = session.seen.since(stored.recorded_use);
                assert!(lost <= AccessSettings::default().idle / 16, "{lost:?} of use are lost");
                session.seen = stored.recorded_use;
            }
        }
    }

    /// Compares the view with the model.
    fn check(&mut self) {
        let view = view_of(&self.table, &self.uses);
        for number in 0..self.next {
            let current = self.tokens.values().find(|token| token.secret == number);
            let valid = current.filter(|token| token.expires_at.is_none_or(|at| self.now < at));
            let secret = secret(number);
            let caller = view.authenticate_token(secret.reveal(), address(1), self.now);
            let rights = caller.ok().map(|caller| caller.rights);
            assert_eq!(rights, valid.map(|token| token.rights.clone()), "token {number}");

            let caller = view.authenticate_session(&session_secret(number), address(1), self.now);
            let rights = caller.ok().map(|caller| caller.rights);
            let idle = AccessSettings::default().idle;
            let session = self.sessions.get(&number).filter(|session| {
                let is_recent = self.now < session.seen.after(idle);
                !session.is_over && self.now < session.ends_at && is_recent
            });
            let expected = session.and_then(|session| self.rights_of(&session.subject));
            assert_eq!(rights, expected, "session {number}");
            if let Some(session) = self.sessions.get_mut(&number).filter(|_| rights.is_some()) {
                session.seen = self.now;
            }
        }
        let has_admin = self.has_admin();
        assert_eq!(view.has_admin, has_admin);
        assert!(has_admin || !self.had_admin, "nobody can administrate the yard any more");
        self.had_admin = has_admin;
    }
}

/// The rows of a snapshot.
fn rows(table: &AccessTable) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    table.freeze().write(&mut |row| rows.push(row.to_vec()));
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn the_view_accepts_exactly_the_credentials_of_the_model(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let mut world = AccessWorld::new();
        for step in &steps {
            world.run(step);
            world.check();
        }
        world.restart();
        world.check();
    }
}
