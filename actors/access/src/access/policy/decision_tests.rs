use std::time::Duration;

use reelyard_core::event::RequestId;
use reelyard_replication::Piece;

use super::decision_context::AccessDecision;
use crate::access::messages::{
    AddUser, BeginSession, ChangeUser, CreateToken, IssueLoginLink, LoginProof, NewTokenEnd,
    RemoveUser, RevokeToken, RotateToken, UserChange,
};
use crate::access::samples::{
    START, address, at, create_token, link_secret, password, secret, session_secret, token_created,
    token_name, user_added, user_caller, user_name,
};
use crate::access::state::access_table::AccessTable;
use crate::access::state::event::{AccessEvent, AccessRefusal};
use crate::access::state::values::session::SessionSubject;
use crate::rights::{BadRights, Caller, Rights, Role, Subject, TokenName};

/// A yard with an administrator, an operator, and a token that may grant access.
fn table() -> AccessTable {
    let mut table = AccessTable::default();
    let scopes = ["access:write", "shares:read"].map(|text| text.parse().unwrap());
    for event in [
        user_added("root", Role::Admin),
        user_added("alice", Role::Admin),
        user_added("olaf", Role::Operator),
        token_created("grants", 1, Rights::Scopes(scopes.into())),
        token_created("ops", 2, Rights::Role(Role::Admin)),
    ] {
        table.apply(START, &event).unwrap();
    }
    table
}

fn grants(table: &AccessTable) -> Caller {
    let rights = table.token(&token_name("grants")).unwrap().rights.clone();
    Caller { subject: Subject::Token(token_name("grants")), rights }
}

fn change(table: &AccessTable, name: &str, change: UserChange, by: Caller) -> AccessDecision {
    let (name, request) = (user_name(name), RequestId(1));
    at(table, START).change_user(&ChangeUser { name, change, by, request })
}

fn is_yourself(decision: AccessDecision) -> bool {
    matches!(decision, Err(AccessRefusal::Yourself { .. }))
}

fn is_more_than_own(decision: AccessDecision) -> bool {
    matches!(decision, Err(AccessRefusal::MoreThanOwn { .. }))
}

#[test]
fn nobody_removes_disables_or_weakens_themself() {
    let (table, alice) = (table(), user_caller("alice", Role::Admin));
    let (name, by, request) = (user_name("alice"), alice.clone(), RequestId(1));
    assert!(is_yourself(at(&table, START).remove_user(&RemoveUser { name, by, request })));
    assert!(is_yourself(change(&table, "alice", UserChange::Disable, alice.clone())));
    assert!(is_yourself(change(&table, "alice", UserChange::Role(Role::Viewer), alice.clone())));
    // An own password and the same role are no loss, and others may go.
    assert!(change(&table, "alice", UserChange::Password(password()), alice.clone()).is_ok());
    assert!(change(&table, "alice", UserChange::Role(Role::Admin), alice.clone()).is_ok());
    assert!(change(&table, "root", UserChange::Disable, alice).is_ok());
    let (name, by) = (token_name("grants"), grants(&table));
    assert!(is_yourself(at(&table, START).revoke_token(&RevokeToken { name, by, request })));
}

#[test]
fn nobody_grants_more_than_their_own_rights() {
    let (table, by) = (table(), grants(&table()));
    let request = RequestId(1);
    for role in [Role::Viewer, Role::Admin] {
        let (name, password) = (user_name("new"), Some(password()));
        let asked = AddUser { name, role, password, by: by.clone(), request };
        assert!(is_more_than_own(at(&table, START).add_user(&asked)), "{role}");
    }
    for (name, other) in [
        ("olaf", UserChange::Role(Role::Admin)),
        ("alice", UserChange::Password(password())),
        ("alice", UserChange::Enable),
        ("olaf", UserChange::Unlock),
    ] {
        assert!(is_more_than_own(change(&table, name, other.clone(), by.clone())), "{other:?}");
    }
    let created = |rights| CreateToken { by: by.clone(), ..create_token("new", 9, rights) };
    assert!(is_more_than_own(at(&table, START).create_token(&created(Rights::Role(Role::Viewer)))));
    let own = Rights::Scopes(["shares:read"].map(|text| text.parse().unwrap()).into());
    assert!(at(&table, START).create_token(&created(own)).is_ok());
    let hash = secret(9).hash();
    let rotate = |name| {
        let (name, end, by) = (token_name(name), NewTokenEnd::Same, by.clone());
        at(&table, START).rotate_token(&RotateToken { name, hash, end, by, request })
    };
    assert!(is_more_than_own(rotate("ops")) && rotate("grants").is_ok());
    let link = |subject| {
        let (hash, by) = (link_secret(1).hash(), by.clone());
        at(&table, START).issue_link(&IssueLoginLink { hash, subject, by })
    };
    assert!(is_more_than_own(link(SessionSubject::User(user_name("olaf")))));
    assert!(link(SessionSubject::Token(token_name("grants"))).is_ok());
}

#[test]
fn a_token_needs_a_free_name_and_rights_that_match_it() {
    let table = table();
    let viewer = || Rights::Role(Role::Viewer);
    let worker = || Rights::Worker("10.0.0.21:8888".parse().unwrap());
    let decide = |asked: &CreateToken| at(&table, START).create_token(asked);
    let taken = AccessRefusal::TokenExists { name: token_name("grants") };
    assert_eq!(decide(&create_token("grants", 9, viewer())), Err(taken.clone()));
    let replacing = CreateToken { replace: true, ..create_token("grants", 9, viewer()) };
    assert_eq!(decide(&replacing), Err(taken), "only the token of a worker is replaced");
    for reserved in ["admin", "legacy"] {
        let refusal = AccessRefusal::Reserved { name: token_name(reserved) };
        assert_eq!(decide(&create_token(reserved, 9, viewer())), Err(refusal));
    }
    for (name, rights) in
        [("ci", worker()), ("worker/10.0.0.21:8888", viewer()), ("worker/10.0.0.22:8888", worker())]
    {
        let refusal = AccessRefusal::NameOfWorker { name: token_name(name) };
        assert_eq!(decide(&create_token(name, 9, rights)), Err(refusal), "{name}");
    }
    assert!(decide(&create_token("worker/10.0.0.21:8888", 9, worker())).is_ok());
    let without = create_token("ci", 9, Rights::Scopes(Default::default()));
    assert_eq!(decide(&without), Err(AccessRefusal::Rights(BadRights::NoScope)));
    let ranges = vec!["10.0.0.0/8".parse().unwrap(); 17];
    let asked = CreateToken { addresses: ranges, ..create_token("ci", 9, viewer()) };
    assert_eq!(decide(&asked), Err(AccessRefusal::TooManyRanges { count: 17 }));
    for expires_at in [START, START.before(Duration::from_secs(1))] {
        let asked = CreateToken { expires_at: Some(expires_at), ..create_token("ci", 9, viewer()) };
        assert_eq!(decide(&asked), Err(AccessRefusal::ExpiresInPast));
    }
    assert_eq!(decide(&create_token("ci", 1, viewer())), Err(AccessRefusal::SecretInUse));
}

#[test]
fn a_second_token_of_a_worker_replaces_the_first_only_on_demand() {
    let mut table = table();
    let name = "worker/10.0.0.21:8888";
    let worker = Rights::Worker("10.0.0.21:8888".parse().unwrap());
    table.apply(START, &token_created(name, 5, worker.clone())).unwrap();
    let asked = create_token(name, 6, worker);
    let exists = AccessRefusal::TokenExists { name: token_name(name) };
    assert_eq!(at(&table, START).create_token(&asked), Err(exists));
    let events = at(&table, START).create_token(&CreateToken { replace: true, ..asked }).unwrap();
    assert!(matches!(events[..], [AccessEvent::TokenRotated(_)]), "{events:?}");
    table.apply(START, &events[0]).unwrap();
    let token = table.token(&token_name(name)).unwrap();
    assert_eq!(token.hash, secret(6).hash());
    assert!(table.tokens_by_hash.get(&secret(5).hash()).is_none());
}

#[test]
fn an_expired_token_is_rotated_with_a_new_end_only() {
    let mut table = table();
    let end = START.after(Duration::from_secs(60));
    let asked =
        CreateToken { expires_at: Some(end), ..create_token("ci", 9, Rights::Role(Role::Viewer)) };
    let events = at(&table, START).create_token(&asked).unwrap();
    table.apply(START, &events[0]).unwrap();
    let rotate = |end| {
        let (name, hash, by) = (token_name("ci"), secret(10).hash(), Caller::node());
        let asked = RotateToken { name, hash, end, by, request: RequestId(1) };
        at(&table, START.after(Duration::from_secs(60))).rotate_token(&asked)
    };
    assert_eq!(rotate(NewTokenEnd::Same), Err(AccessRefusal::ExpiresInPast));
    assert_eq!(rotate(NewTokenEnd::At(end)), Err(AccessRefusal::ExpiresInPast));
    assert!(rotate(NewTokenEnd::Never).is_ok());
    assert!(rotate(NewTokenEnd::At(end.after(Duration::from_secs(1)))).is_ok());
}

#[test]
fn the_first_administrator_gets_a_token_once() {
    let mut table = AccessTable::default();
    let events = at(&table, START).ensure_admin(secret(1).hash()).unwrap();
    table.apply(START, &events[0]).unwrap();
    assert_eq!(at(&table, START).ensure_admin(secret(2).hash()), Ok(Vec::new()));
    let events = at(&table, START).recover_admin(secret(3).hash()).unwrap();
    table.apply(START, &events[0]).unwrap();
    let admin = table.token(&TokenName::admin()).unwrap();
    assert_eq!((admin.hash, &admin.rights), (secret(3).hash(), &Rights::Role(Role::Admin)));
    assert!(table.tokens_by_hash.get(&secret(1).hash()).is_none());
    // Users administrate the yard, and the token is gone: none is created again, unless it is recovered.
    table.apply(START, &user_added("alice", Role::Admin)).unwrap();
    let (name, by) = (TokenName::admin(), "user alice".to_owned());
    table.apply(START, &AccessEvent::TokenRevoked { name, by }).unwrap();
    assert_eq!(at(&table, START).ensure_admin(secret(4).hash()), Ok(Vec::new()));
    assert!(at(&table, START).recover_admin(secret(4).hash()).is_ok());
}

#[test]
fn a_worker_and_a_user_without_a_password_begin_no_session() {
    let mut table = table();
    let worker = Rights::Worker("10.0.0.21:8888".parse().unwrap());
    table.apply(START, &token_created("worker/10.0.0.21:8888", 5, worker)).unwrap();
    let by = Caller::node();
    let added = AddUser {
        name: user_name("new"),
        role: Role::Viewer,
        password: None,
        by,
        request: RequestId(1),
    };
    let events = at(&table, START).add_user(&added).unwrap();
    table.apply(START, &events[0]).unwrap();
    let begin = |proof| {
        let hash = session_secret(1).hash();
        let (address, user_agent) = (address(1).into(), Default::default());
        at(&table, START).begin_session(&BeginSession { proof, hash, address, user_agent })
    };
    assert_eq!(begin(LoginProof::Token(secret(5).hash())), Err(AccessRefusal::WorkerSession));
    assert_eq!(begin(LoginProof::Token(secret(77).hash())), Err(AccessRefusal::TokenNotValid));
    assert_eq!(begin(LoginProof::Link(link_secret(7).hash())), Err(AccessRefusal::LinkNotValid));
    let (name, generation) = (user_name("new"), 0);
    let refusal = AccessRefusal::NoPassword { name: name.clone() };
    assert_eq!(begin(LoginProof::Password { name, generation }), Err(refusal));
}
