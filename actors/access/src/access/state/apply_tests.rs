use std::time::Duration;

use AccessOutcome::{AlreadySo, Applied};
use reelyard_core::clock::Millis;
use reelyard_replication::{Piece, UnreadableEvent};

use super::access_table::AccessTable;
use super::constants::{
    MOST_LOGIN_LINKS, MOST_SESSIONS, MOST_SESSIONS_OF_ONE, MOST_TOKENS, MOST_USERS,
};
use super::event::{AccessEvent, AccessOutcome, AccessRefusal, NewSession, RecordedUse};
use super::values::session::SessionSubject;
use crate::access::samples::{
    START, address, link_secret, secret, session_secret, token_created, token_name, user_added,
    user_name,
};
use crate::rights::{Rights, Role};

fn apply(table: &mut AccessTable, event: AccessEvent) -> Result<AccessOutcome, AccessRefusal> {
    table.apply(START, &event)
}

fn disabled(name: &str) -> AccessEvent {
    AccessEvent::UserDisabled { name: user_name(name), by: "node".to_owned() }
}

fn of_user(name: &str) -> SessionSubject {
    SessionSubject::User(user_name(name))
}

/// The beginning of a session of a user, with the user's present generation.
fn begun(table: &AccessTable, name: &str, number: u32) -> NewSession {
    let subject = of_user(name);
    NewSession {
        hash: session_secret(number).hash(),
        generation: table.generation(&subject).unwrap(),
        subject,
        link: None,
        ends_at: START.after(Duration::from_secs(3600)),
        address: address(1).into(),
        user_agent: Default::default(),
    }
}

fn begin(table: &mut AccessTable, name: &str, number: u32, at: Millis) {
    let begun = begun(table, name, number);
    assert_eq!(table.apply(at, &AccessEvent::SessionBegun(Box::new(begun))), Ok(Applied));
}

fn has_session(table: &AccessTable, number: u32) -> bool {
    table.sessions.get(&session_secret(number).hash()).is_some()
}

#[test]
fn the_last_administrator_stays_although_both_goings_were_decided() {
    let mut table = AccessTable::default();
    for name in ["alice", "bob"] {
        apply(&mut table, user_added(name, Role::Admin)).unwrap();
        assert_eq!(table.check(START, &user_added("carol", Role::Viewer)), Ok(()));
    }
    // Both were decided before the first one was applied.
    assert!(
        [disabled("alice"), disabled("bob")].iter().all(|event| table.check(START, event).is_ok())
    );
    assert_eq!(apply(&mut table, disabled("alice")), Ok(Applied));
    assert_eq!(apply(&mut table, disabled("alice")), Ok(AlreadySo));
    let last = AccessRefusal::LastAdmin { subject: of_user("bob") };
    assert_eq!(apply(&mut table, disabled("bob")), Err(last.clone()));
    let (name, by) = (user_name("bob"), "node".to_owned());
    let removed = AccessEvent::UserRemoved { name: name.clone(), by: by.clone() };
    assert_eq!(apply(&mut table, removed.clone()), Err(last.clone()));
    let role = AccessEvent::UserRoleSet { name, role: Role::Operator, by };
    assert_eq!(apply(&mut table, role), Err(last));
    // A token of an administrator that never ends is enough.
    apply(&mut table, token_created("ops", 1, Rights::Role(Role::Admin))).unwrap();
    assert_eq!(apply(&mut table, removed), Ok(Applied));
    let revoked = AccessEvent::TokenRevoked { name: token_name("ops"), by: "node".to_owned() };
    let last = AccessRefusal::LastAdmin { subject: SessionSubject::Token(token_name("ops")) };
    assert_eq!(apply(&mut table, revoked), Err(last));
}

#[test]
fn one_user_and_one_token_more_than_allowed_are_refused() {
    let mut table = AccessTable::default();
    for number in 0..MOST_USERS {
        apply(&mut table, user_added(&format!("u{number}"), Role::Viewer)).unwrap();
    }
    assert_eq!(
        apply(&mut table, user_added("one-more", Role::Viewer)),
        Err(AccessRefusal::TooManyUsers)
    );
    let removed = AccessEvent::UserRemoved { name: user_name("u7"), by: "node".to_owned() };
    apply(&mut table, removed).unwrap();
    assert_eq!(apply(&mut table, user_added("one-more", Role::Viewer)), Ok(Applied));
    let viewer = || Rights::Role(Role::Viewer);
    for number in 0..u32::try_from(MOST_TOKENS).unwrap() {
        apply(&mut table, token_created(&format!("t{number}"), number, viewer())).unwrap();
    }
    let one_more = token_created("one-more", 1_000_000, viewer());
    assert_eq!(apply(&mut table, one_more), Err(AccessRefusal::TooManyTokens));
}

#[test]
fn the_session_without_use_for_the_longest_time_gives_way() {
    let mut table = AccessTable::default();
    let most = u32::try_from(MOST_SESSIONS_OF_ONE).unwrap();
    for name in ["alice", "bob"] {
        apply(&mut table, user_added(name, Role::Viewer)).unwrap();
    }
    begin(&mut table, "bob", 1_000_000, START.before(Duration::from_secs(9)));
    for number in 0..most {
        begin(&mut table, "alice", number, Millis(START.0 + i64::from(number)));
    }
    let seen = vec![(session_secret(0).hash(), START.after(Duration::from_secs(9)))];
    apply(&mut table, AccessEvent::SessionsSeen { seen }).unwrap();
    begin(&mut table, "alice", most, START.after(Duration::from_secs(10)));
    assert!(has_session(&table, 0) && !has_session(&table, 1) && has_session(&table, most));
    assert!(has_session(&table, 1_000_000), "another user keeps an older session");
    assert_eq!(table.sessions.len(), MOST_SESSIONS_OF_ONE + 1);
}

#[test]
fn the_oldest_session_of_all_gives_way_at_the_limit() {
    let mut table = AccessTable::default();
    for user in 0..=u32::try_from(MOST_SESSIONS / MOST_SESSIONS_OF_ONE).unwrap() {
        apply(&mut table, user_added(&format!("u{user}"), Role::Viewer)).unwrap();
    }
    let most = u32::try_from(MOST_SESSIONS).unwrap();
    for number in 0..=most {
        let user = format!("u{}", number / u32::try_from(MOST_SESSIONS_OF_ONE).unwrap());
        begin(&mut table, &user, number, Millis(START.0 + i64::from(number)));
    }
    assert_eq!(table.sessions.len(), MOST_SESSIONS);
    assert!(!has_session(&table, 0) && has_session(&table, 1) && has_session(&table, most));
    let indexed = table.sessions_by_subject.values().map(|sessions| sessions.len());
    assert_eq!(indexed.sum::<usize>(), MOST_SESSIONS);
    assert_eq!(
        (table.sessions_by_use.len(), table.sessions_by_end.len()),
        (MOST_SESSIONS, MOST_SESSIONS)
    );
}

#[test]
fn the_link_that_expires_first_gives_way() {
    let mut table = AccessTable::default();
    apply(&mut table, user_added("alice", Role::Viewer)).unwrap();
    let subject = of_user("alice");
    let generation = table.generation(&subject).unwrap();
    let most = u32::try_from(MOST_LOGIN_LINKS).unwrap();
    for number in 0..=most {
        let expires_at = Millis(START.0 + 1000 - i64::from(number));
        let (hash, subject, by) = (link_secret(number).hash(), subject.clone(), "node".to_owned());
        let issued = AccessEvent::LoginLinkIssued { hash, subject, generation, expires_at, by };
        apply(&mut table, issued).unwrap();
    }
    assert_eq!(table.links.len(), MOST_LOGIN_LINKS);
    assert!(!table.links.contains_key(&link_secret(most - 1).hash()));
    assert!(table.links.contains_key(&link_secret(most).hash()), "the new one stays");
}

#[test]
fn a_login_that_saw_an_earlier_password_begins_no_session() {
    let mut table = AccessTable::default();
    apply(&mut table, user_added("alice", Role::Viewer)).unwrap();
    let new = begun(&table, "alice", 1);
    let begun = |new: &NewSession| AccessEvent::SessionBegun(Box::new(new.clone()));
    let (name, by) = (user_name("alice"), "node".to_owned());
    let password = crate::access::samples::password();
    apply(&mut table, AccessEvent::UserPasswordSet { name: name.clone(), password, by }).unwrap();
    assert_eq!(apply(&mut table, begun(&new)), Err(AccessRefusal::CredentialsChanged));
    let generation = table.generation(&of_user("alice")).unwrap();
    let new = NewSession { generation, ..new };
    let until = Millis(START.0 + 1);
    apply(&mut table, AccessEvent::UserLocked { name: name.clone(), until }).unwrap();
    assert_eq!(apply(&mut table, begun(&new)), Err(AccessRefusal::Locked { name, until }));
    assert_eq!(table.apply(until, &begun(&new)), Ok(Applied));
    assert_eq!(table.apply(until, &begun(&new)), Err(AccessRefusal::SecretInUse));
}

#[test]
fn uses_and_removals_of_an_earlier_token_change_nothing() {
    let mut table = AccessTable::default();
    apply(&mut table, token_created("ci", 1, Rights::Role(Role::Viewer))).unwrap();
    let name = token_name("ci");
    let generation = table.token(&name).unwrap().generation;
    let of = |generation| RecordedUse {
        name: token_name("ci"),
        generation,
        at: START,
        address: address(9).into(),
    };
    let recorded = |generation| AccessEvent::UsesRecorded { uses: vec![of(generation)] };
    assert_eq!(apply(&mut table, recorded(generation + 1)), Ok(AlreadySo));
    assert_eq!(table.token(&name).unwrap().last_use(), None);
    assert_eq!(apply(&mut table, recorded(generation)), Ok(Applied));
    let last = table.token(&name).unwrap().last_use().unwrap();
    assert_eq!((last.at, last.address), (START, address(9).into()));
    let by_hash = table.tokens_by_hash.get(&secret(1).hash()).unwrap();
    assert_eq!(by_hash.last_use(), Some(last));
    // It has no end, so it is not forgotten.
    let forgotten = AccessEvent::TokensForgotten { tokens: vec![(name, generation)] };
    assert_eq!(apply(&mut table, forgotten), Ok(AlreadySo));
}

#[test]
fn a_row_of_another_version_is_reported() {
    let result = AccessTable::default().thaw(&[9, 0]);
    assert!(matches!(result, Err(UnreadableEvent::Version { version: 9, .. })));
}
