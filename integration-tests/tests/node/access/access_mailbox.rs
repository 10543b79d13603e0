//! The AccessActor over messages: a real journal and a manual clock.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use actix::{Actor, Addr};
use reelyard_access::access::{
    AccessActor, AccessError, AccessRefusal, AccessSettings, AccessView, AddUser, BeginSession,
    ChangeUser, CreateToken, EndSession, EndSessionsOf, EnsureAdmin, IssueLoginLink, LoginProof,
    RecoverAdmin, RemoveUser, ReportWrongPassword, RevokeToken, Session, SessionRefused,
    SessionSubject, TokenRefused, UserAgent, UserChange,
};
use reelyard_access::rights::{Caller, Rights, Role, Subject, TokenName, UserName};
use reelyard_access::secrets::{
    LinkSecret, SessionSecret, TokenKind, TokenSecret, UserPasswordHash, draw,
};
use reelyard_core::actor_parts::{ChangeSettings, ViewHandle};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_journal::{Journal, JournalOptions, NoPeers};

const HOUR: Duration = Duration::from_secs(3600);
const FROM: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9));

const PASSWORD: &str = "the password of all users";

/// Hashing is slow.
static HASH: LazyLock<UserPasswordHash> = LazyLock::new(|| UserPasswordHash::of(PASSWORD).unwrap());

struct AccessRig {
    actor: Addr<AccessActor>,
    view: ViewHandle<AccessView>,
    clock: Clock,
    journal: Journal,
}

/// A journal and an AccessActor that leads.
async fn opened(dir: &Path) -> AccessRig {
    let (view, clock) = (ViewHandle::default(), Clock::manual(Millis(1_800_000_000_000)));
    let options = JournalOptions::alone(dir, 1);
    let journal = Journal::open(options, Arc::new(NoPeers), &[PieceId::Access]).await.unwrap();
    let settings = AccessSettings::default();
    let actor = AccessActor::new(settings, clock.clone(), journal.clone(), view.clone()).start();
    let rig = AccessRig { actor, view, clock, journal };
    rig.until("this node leads", |view| view.epoch).await;
    rig
}

impl AccessRig {
    async fn until<T>(&self, what: &str, show: impl Fn(&AccessView) -> Option<T>) -> T {
        eventually_some(what, || {
            let shown = show(&self.view.load());
            async move { shown }
        })
        .await
    }

    async fn close(self) {
        self.journal.stop().await;
    }

    fn authenticate(&self, secret: &TokenSecret) -> Result<Caller, TokenRefused> {
        self.view.load().authenticate_token(secret.reveal(), FROM, self.clock.now())
    }

    fn session(&self, secret: &SessionSecret) -> Result<Caller, SessionRefused> {
        self.view.load().authenticate_session(secret, FROM, self.clock.now())
    }

    async fn add_user(&self, name: &str, role: Role) {
        let (name, password) = (user(name), Some(HASH.clone()));
        let (by, request) = (Caller::node(), RequestId::random());
        self.actor.send(AddUser { name, role, password, by, request }).await.unwrap().unwrap();
    }

    async fn change(&self, name: &str, change: UserChange) {
        let (name, by, request) = (user(name), Caller::node(), RequestId::random());
        self.actor.send(ChangeUser { name, change, by, request }).await.unwrap().unwrap();
    }

    async fn begin(&self, proof: LoginProof) -> Result<(SessionSecret, Arc<Session>), AccessError> {
        let secret = SessionSecret::new(draw().unwrap());
        let (hash, address) = (secret.hash(), FROM.into());
        let user_agent = UserAgent::cut("browser\u{1b}");
        let begun = BeginSession { proof, hash, address, user_agent };
        let session = self.actor.send(begun).await.unwrap()?;
        Ok((secret, session))
    }

    /// A session of the user, with the right password.
    async fn login(&self, name: &str) -> Result<SessionSecret, AccessError> {
        let proof = LoginProof::Password { name: user(name), generation: self.generation(name) };
        Ok(self.begin(proof).await?.0)
    }

    /// The generation that a right password gives.
    fn generation(&self, name: &str) -> u64 {
        let login = self.view.load().password_login(name, self.clock.now()).unwrap();
        login.check(PASSWORD).unwrap()
    }

    /// Lets the actor do its work.
    async fn tick(&self) {
        let settings = AccessSettings::default();
        self.actor.send(ChangeSettings(settings)).await.unwrap();
    }
}

fn user(name: &str) -> UserName {
    name.parse().unwrap()
}

fn token(name: &str) -> TokenName {
    name.parse().unwrap()
}

fn secret() -> TokenSecret {
    TokenSecret::new(TokenKind::General, &draw().unwrap())
}

fn create(name: &str, secret: &TokenSecret, request: RequestId) -> CreateToken {
    CreateToken {
        name: token(name),
        hash: secret.hash(),
        rights: Rights::Role(Role::Viewer),
        expires_at: None,
        addresses: Vec::new(),
        replace: false,
        by: Caller::node(),
        request,
    }
}

fn refused<T>(result: Result<T, AccessError>) -> AccessRefusal {
    match result {
        Err(AccessError::Refused(refusal)) => refusal,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[actix::test]
async fn a_repeated_request_creates_one_token_and_shows_no_other_secret() {
    let dir = tempfile::tempdir().unwrap();
    let rig = opened(dir.path()).await;
    let (first, second, request) = (secret(), secret(), RequestId::of("key", b"ci viewer"));
    let created = rig.actor.send(create("ci", &first, request)).await.unwrap().unwrap();
    assert_eq!((created.name.as_str(), created.created_by.as_str()), ("ci", "node"));
    let again = rig.actor.send(create("ci", &first, request)).await.unwrap().unwrap();
    assert_eq!(again.created_at, created.created_at);
    // The client repeats the request, and the server draws another secret.
    let repeated = rig.actor.send(create("ci", &second, request)).await.unwrap();
    let name = token("ci");
    assert_eq!(repeated.unwrap_err(), AccessError::SecretNotStored { name: name.clone() });
    assert!(rig.authenticate(&first).is_ok());
    assert_eq!(rig.authenticate(&second), Err(TokenRefused::Unknown));
    let other = RequestId::of("key", b"other");
    let refusal = refused(rig.actor.send(create("other", &second, other)).await.unwrap());
    assert_eq!(refusal, AccessRefusal::OtherRequest);
    let new = create("ci", &second, RequestId::random());
    assert_eq!(refused(rig.actor.send(new).await.unwrap()), AccessRefusal::TokenExists { name });
    rig.close().await;
}

#[actix::test]
async fn two_equal_requests_at_once_create_one_token() {
    let dir = tempfile::tempdir().unwrap();
    let rig = opened(dir.path()).await;
    let (first, second, request) = (secret(), secret(), RequestId::random());
    let both = [&first, &second].map(|secret| rig.actor.send(create("ci", secret, request)));
    let [one, other] = both;
    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    assert!(one.is_ok() && matches!(other, Err(AccessError::SecretNotStored { .. })), "{other:?}");
    let (a, b) =
        (create("x", &second, RequestId::random()), create("x", &secret(), RequestId::random()));
    let both = [a, b].map(|asked| rig.actor.send(asked));
    let [one, other] = both;
    assert!(one.await.unwrap().is_ok());
    assert_eq!(refused(other.await.unwrap()), AccessRefusal::TokenExists { name: token("x") });
    rig.close().await;
}

#[actix::test]
async fn disabled_users_and_revoked_tokens_lose_their_rights_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let rig = opened(dir.path()).await;
    rig.add_user("root", Role::Admin).await;
    rig.add_user("alice", Role::Operator).await;
    let stale = rig.generation("alice");
    let alice = rig.login("alice").await.unwrap();
    assert_eq!(rig.session(&alice).unwrap().subject, Subject::User(user("alice")));
    rig.change("alice", UserChange::Role(Role::Admin)).await;
    assert_eq!(rig.session(&alice).unwrap().rights, Rights::Role(Role::Admin), "it got stronger");
    rig.change("alice", UserChange::Disable).await;
    assert_eq!(rig.session(&alice), Err(SessionRefused::Unknown));
    rig.change("alice", UserChange::Enable).await;
    assert_eq!(rig.session(&alice), Err(SessionRefused::Unknown), "it has ended");
    let late = LoginProof::Password { name: user("alice"), generation: stale };
    assert_eq!(refused(rig.begin(late).await), AccessRefusal::CredentialsChanged);

    let (ci, request) = (secret(), RequestId::random());
    rig.actor.send(create("ci", &ci, request)).await.unwrap().unwrap();
    let (of_token, session) = rig.begin(LoginProof::Token(ci.hash())).await.unwrap();
    assert_eq!(session.user_agent.as_str(), "browser ");
    assert!(rig.authenticate(&ci).is_ok() && rig.session(&of_token).is_ok());
    let (name, by) = (token("ci"), Caller::node());
    let revoked = RevokeToken { name, by, request: RequestId::random() };
    rig.actor.send(revoked.clone()).await.unwrap().unwrap();
    rig.actor.send(revoked).await.unwrap().unwrap();
    assert_eq!(rig.authenticate(&ci), Err(TokenRefused::Unknown));
    assert_eq!(rig.session(&of_token), Err(SessionRefused::Unknown));
    rig.close().await;
}

#[actix::test]
async fn an_account_is_locked_by_ten_wrong_passwords_and_unlocks_by_time() {
    let dir = tempfile::tempdir().unwrap();
    let rig = opened(dir.path()).await;
    rig.add_user("alice", Role::Viewer).await;
    let running = rig.login("alice").await.unwrap();
    let generation = rig.generation("alice");
    let wrong = |name: &str| rig.actor.send(ReportWrongPassword { name: user(name) });
    for _ in 0..9 {
        assert_eq!(wrong("alice").await.unwrap(), Ok(None));
    }
    // A right password ends the row.
    rig.login("alice").await.unwrap();
    for _ in 0..9 {
        assert_eq!(wrong("alice").await.unwrap(), Ok(None));
    }
    let until = rig.clock.now().after(HOUR / 4);
    assert_eq!(wrong("alice").await.unwrap(), Ok(Some(until)));
    assert!(rig.view.load().password_login("alice", rig.clock.now()).is_err());
    let proof = || LoginProof::Password { name: user("alice"), generation };
    let locked = AccessRefusal::Locked { name: user("alice"), until };
    assert_eq!(refused(rig.begin(proof()).await), locked);
    assert!(rig.session(&running).is_ok(), "a guesser logs nobody out");
    rig.clock.advance(HOUR / 4);
    assert!(rig.begin(proof()).await.is_ok());
    for _ in 0..10 {
        wrong("alice").await.unwrap().unwrap();
    }
    rig.change("alice", UserChange::Unlock).await;
    assert!(rig.begin(proof()).await.is_ok());
    for _ in 0..20 {
        assert_eq!(wrong("nobody").await.unwrap(), Ok(None));
    }
    rig.close().await;
}

#[actix::test]
async fn users_tokens_and_sessions_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let rig = opened(dir.path()).await;
    assert!(!rig.view.load().has_admin);
    let admin = secret();
    let ensure = |secret: &TokenSecret| rig.actor.send(EnsureAdmin { hash: secret.hash() });
    assert_eq!(ensure(&admin).await.unwrap(), Ok(true));
    assert_eq!(ensure(&secret()).await.unwrap(), Ok(false));
    assert!(rig.view.load().has_admin);
    rig.add_user("alice", Role::Viewer).await;
    let session = rig.login("alice").await.unwrap();
    let ended = rig.login("alice").await.unwrap();
    let (hash, by) = (ended.hash(), Caller::node());
    assert_eq!(rig.actor.send(EndSession { hash, by: by.clone() }).await.unwrap(), Ok(true));
    assert_eq!(rig.actor.send(EndSession { hash, by }).await.unwrap(), Ok(false));
    assert_eq!(rig.authenticate(&admin).unwrap().rights, Rights::Role(Role::Admin));
    rig.tick().await;
    rig.until("the use is recorded", |view| view.token(&TokenName::admin())?.recorded_use).await;
    rig.close().await;

    let rig = opened(dir.path()).await;
    let used = rig.view.load().token(&TokenName::admin()).unwrap().last_use().unwrap();
    assert_eq!((used.at, used.address.ip()), (rig.clock.now(), FROM));
    assert_eq!(rig.authenticate(&admin).unwrap().subject, Subject::Token(TokenName::admin()));
    assert!(rig.session(&session).is_ok());
    assert_eq!(rig.session(&ended), Err(SessionRefused::Unknown));
    let found = secret();
    rig.actor.send(RecoverAdmin { hash: found.hash() }).await.unwrap().unwrap();
    assert_eq!(rig.authenticate(&admin), Err(TokenRefused::Unknown));
    assert_eq!(rig.authenticate(&found).unwrap().rights, Rights::Role(Role::Admin));
    rig.close().await;
}

#[actix::test]
async fn a_login_link_begins_one_session() {
    let dir = tempfile::tempdir().unwrap();
    let rig = opened(dir.path()).await;
    let admin = secret();
    rig.actor.send(EnsureAdmin { hash: admin.hash() }).await.unwrap().unwrap();
    let issue = async |secret: &LinkSecret| {
        let subject = SessionSubject::Token(TokenName::admin());
        let issued = IssueLoginLink { hash: secret.hash(), subject, by: Caller::node() };
        rig.actor.send(issued).await.unwrap().unwrap()
    };
    let link = LinkSecret::new(draw().unwrap());
    assert_eq!(issue(&link).await, rig.clock.now().after(HOUR / 4));
    let (session, _) = rig.begin(LoginProof::Link(link.hash())).await.unwrap();
    assert_eq!(rig.session(&session).unwrap().rights, Rights::Role(Role::Admin));
    let again = rig.begin(LoginProof::Link(link.hash())).await;
    assert_eq!(refused(again), AccessRefusal::LinkNotValid);
    let late = LinkSecret::new(draw().unwrap());
    issue(&late).await;
    rig.clock.advance(HOUR / 4);
    assert_eq!(
        refused(rig.begin(LoginProof::Link(late.hash())).await),
        AccessRefusal::LinkNotValid
    );
    let subject = SessionSubject::Token(TokenName::admin());
    let (by, request) = (Caller::node(), RequestId::random());
    let ended = EndSessionsOf { subject, by, request };
    assert_eq!(rig.actor.send(ended).await.unwrap(), Ok(true));
    assert_eq!(rig.session(&session), Err(SessionRefused::Unknown));
    rig.close().await;
}

#[actix::test]
async fn a_clock_that_steps_forward_removes_nothing_for_an_hour() {
    let dir = tempfile::tempdir().unwrap();
    let rig = opened(dir.path()).await;
    rig.add_user("alice", Role::Viewer).await;
    let session = rig.login("alice").await.unwrap();
    let year = 365 * 24 * 3_600_000;
    rig.clock.step_by(year);
    rig.tick().await;
    assert_eq!(rig.session(&session), Err(SessionRefused::Ended));
    rig.clock.step_by(-year);
    rig.tick().await;
    assert!(rig.session(&session).is_ok(), "the clock was corrected");
    // The wall clock runs steadily for nine hours.
    for _ in 0..9 {
        rig.clock.advance(HOUR);
        rig.tick().await;
    }
    let gone = |view: &AccessView| {
        let refused = view.authenticate_session(&session, FROM, rig.clock.now());
        (refused == Err(SessionRefused::Unknown)).then_some(())
    };
    rig.until("the session is removed", gone).await;
    rig.close().await;
}

#[actix::test]
async fn the_last_administrator_does_not_remove_itself() {
    let dir = tempfile::tempdir().unwrap();
    let rig = opened(dir.path()).await;
    rig.add_user("root", Role::Admin).await;
    let root = Caller { subject: Subject::User(user("root")), rights: Rights::Role(Role::Admin) };
    let remove = |by| RemoveUser { name: user("root"), by, request: RequestId::random() };
    let refusal = refused(rig.actor.send(remove(root)).await.unwrap());
    assert!(refusal.to_string().contains("user root cannot remove"), "{refusal}");
    let refusal = refused(rig.actor.send(remove(Caller::node())).await.unwrap());
    assert!(refusal.to_string().starts_with("user root is the last administrator"), "{refusal}");
    rig.add_user("alice", Role::Admin).await;
    rig.actor.send(remove(Caller::node())).await.unwrap().unwrap();
    assert!(rig.view.load().user(&user("root")).is_none());
    rig.close().await;
}

#[actix::test]
async fn a_restarted_owner_accepts_nothing_until_it_has_caught_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = opened(dir.path()).await;
    assert!(rig.view.load().is_ready);
    // From a journal that has stopped, it never catches up.
    rig.journal.stop().await;
    let settings = AccessSettings::default();
    let (clock, journal) = (rig.clock.clone(), rig.journal.clone());
    rig.actor = AccessActor::new(settings, clock, journal, rig.view.clone()).start();
    rig.tick().await;
    assert!(!rig.view.load().is_ready, "a revoked token could still be in its view");
}
