use std::net::IpAddr;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_replication::Piece;

use super::access_view::AccessView;
use super::refusals::{LoginRefused, SessionRefused, TokenRefused};
use crate::access::messages::CreateToken;
use crate::access::samples::{
    START, address, at, create_token, secret, session_secret, token_created, token_name,
    user_added, user_name, view_of,
};
use crate::access::state::access_table::AccessTable;
use crate::access::state::event::{AccessEvent, NewSession};
use crate::access::state::values::session::SessionSubject;
use crate::access::state::values::use_queue::UseQueue;
use crate::rights::{Caller, Rights, Role, Subject};
use crate::secrets::{BadTokenText, TokenHash};

const MINUTE: Duration = Duration::from_secs(60);

/// A table with this token.
fn with_token(asked: &CreateToken) -> AccessTable {
    let mut table = AccessTable::default();
    let events = at(&table, START).create_token(asked).unwrap();
    table.apply(START, &events[0]).unwrap();
    table
}

fn begin(table: &mut AccessTable, subject: SessionSubject, number: u32, ends_at: Millis) {
    let new = NewSession {
        hash: session_secret(number).hash(),
        generation: table.generation(&subject).unwrap(),
        subject,
        link: None,
        ends_at,
        address: address(1).into(),
        user_agent: Default::default(),
    };
    table.apply(START, &AccessEvent::SessionBegun(Box::new(new))).unwrap();
}

#[test]
fn a_token_is_accepted_before_its_end_and_from_its_addresses() {
    let end = START.after(MINUTE);
    let asked = CreateToken {
        expires_at: Some(end),
        addresses: vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
        ..create_token("ci", 1, Rights::Role(Role::Viewer))
    };
    let view = view_of(&with_token(&asked), &UseQueue::default());
    let text = secret(1);
    let ask = |from: &str, now| {
        view.authenticate_token(text.reveal(), from.parse::<IpAddr>().unwrap(), now)
    };
    let caller =
        Caller { subject: Subject::Token(token_name("ci")), rights: Rights::Role(Role::Viewer) };
    for from in ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1"] {
        assert_eq!(ask(from, Millis(end.0 - 1)), Ok(caller.clone()), "{from}");
    }
    for from in ["11.1.2.3", "::ffff:11.1.2.3", "2001:db9::1", "::1"] {
        assert_eq!(ask(from, START), Err(TokenRefused::OutsideItsAddresses), "{from}");
    }
    assert_eq!(ask("10.1.2.3", end), Err(TokenRefused::Expired(end)));
    assert_eq!(ask("10.1.2.3", START), Ok(caller), "the clock was corrected");
}

#[test]
fn a_malformed_token_is_distinguished_from_an_unknown_one() {
    let table = with_token(&create_token("ci", 1, Rights::Role(Role::Viewer)));
    let view = view_of(&table, &UseQueue::default());
    let ask = |text: &str| view.authenticate_token(text, address(1), START);
    let text = secret(1).reveal().to_owned();
    assert!(ask(&text).is_ok());
    assert_eq!(ask(secret(2).reveal()), Err(TokenRefused::Unknown));
    let cut = TokenRefused::Malformed(BadTokenText::Length);
    for bad in [&text[..52], &text.repeat(2), &format!("{text}\n")] {
        assert_eq!(ask(bad), Err(cut.clone()), "{bad}");
    }
    assert!(cut.to_string().contains("cut or mistyped"));
    assert_eq!(ask("0123456789abcdef-token"), Err(BadTokenText::Prefix.into()));
}

#[test]
fn nothing_is_accepted_before_the_store_was_read() {
    let table = with_token(&create_token("ci", 1, Rights::Role(Role::Admin)));
    let mut view = view_of(&table, &UseQueue::default());
    view.is_ready = false;
    let token = view.authenticate_token(secret(1).reveal(), address(1), START);
    assert_eq!(token, Err(TokenRefused::NotReady));
    let session = view.authenticate_session(&session_secret(1), address(1), START);
    assert_eq!(session, Err(SessionRefused::NotReady));
    assert_eq!(view.password_login("alice", START).unwrap_err(), LoginRefused::NotReady);
    assert!(!AccessView::default().is_ready);
}

#[test]
fn a_worker_is_known_by_the_key_of_its_token() {
    let host = "10.0.0.21:8888".parse().unwrap();
    let asked = CreateToken {
        expires_at: Some(START.after(MINUTE)),
        ..create_token("worker/10.0.0.21:8888", 1, Rights::Worker(host))
    };
    let view = view_of(&with_token(&asked), &UseQueue::default());
    // The worker computes the key from the text of its token.
    let key = TokenHash::of_token(secret(1).reveal()).unwrap().signing_key();
    assert_eq!(view.worker_key(host), key.ok());
    let caller = Caller { subject: Subject::Worker(host), rights: Rights::Worker(host) };
    let ask = |host, now| view.authenticate_worker(host, address(21), now);
    assert_eq!(ask(host, START), Ok(Some(caller)));
    let end = START.after(MINUTE);
    assert_eq!(ask(host, end), Err(TokenRefused::Expired(end)));
    assert!(view.worker_key(host).is_some(), "its calls are refused with the right reason");
    let other = "10.0.0.22:8888".parse().unwrap();
    assert_eq!((view.worker_key(other), ask(other, START)), (None, Ok(None)));
}

#[test]
fn a_session_ends_without_use_and_at_its_end() {
    let mut table = AccessTable::default();
    table.apply(START, &user_added("alice", Role::Operator)).unwrap();
    let (hour, subject) = (MINUTE * 60, SessionSubject::User(user_name("alice")));
    begin(&mut table, subject, 1, START.after(hour * 20));
    let view = view_of(&table, &UseQueue::default());
    let ask = |hours: u32| {
        let now = START.after(hour * hours);
        view.authenticate_session(&session_secret(1), address(1), now).map(|caller| caller.rights)
    };
    let rights = Rights::Role(Role::Operator);
    assert_eq!(ask(7), Ok(rights.clone()));
    assert_eq!(ask(14), Ok(rights.clone()), "the last use extends it");
    assert_eq!(ask(20), Err(SessionRefused::Ended), "it is too old");
    assert_eq!(ask(19), Ok(rights));
    let fresh = view_of(&table, &UseQueue::default());
    assert_eq!(fresh.sessions(START.after(hour * 19)).len(), 1);
    assert!(fresh.sessions(START.after(hour * 20)).is_empty());
    let other = view.authenticate_session(&session_secret(2), address(1), START);
    assert_eq!(other, Err(SessionRefused::Unknown));
}

#[test]
fn the_session_of_a_token_has_its_addresses_and_end() {
    let (end, hour) = (START.after(MINUTE), MINUTE * 60);
    let asked = CreateToken {
        expires_at: Some(end),
        addresses: vec!["10.0.0.1".parse().unwrap()],
        ..create_token("ci", 1, Rights::Role(Role::Viewer))
    };
    let mut table = with_token(&asked);
    begin(&mut table, SessionSubject::Token(token_name("ci")), 1, START.after(hour));
    let view = view_of(&table, &UseQueue::default());
    let ask = |from, now| view.authenticate_session(&session_secret(1), address(from), now);
    assert_eq!(ask(1, START).unwrap().subject, Subject::Token(token_name("ci")));
    assert_eq!(ask(2, START), Err(SessionRefused::OutsideItsAddresses));
    assert_eq!(ask(1, end), Err(SessionRefused::Ended));
}

#[test]
fn an_unknown_name_gives_a_password_that_nobody_knows() {
    let mut table = AccessTable::default();
    table.apply(START, &user_added("alice", Role::Viewer)).unwrap();
    let until = START.after(MINUTE);
    table.apply(START, &AccessEvent::UserLocked { name: user_name("alice"), until }).unwrap();
    let view = view_of(&table, &UseQueue::default());
    assert_eq!(view.password_login("nobody", START).unwrap().check("twelve chars"), None);
    assert_eq!(view.password_login("alice", START).unwrap_err(), LoginRefused::Locked(until));
    assert_eq!(view.password_login("alice", until).unwrap().check("twelve chars"), None);
}

#[test]
fn a_busy_token_is_queued_once_an_hour() {
    let mut table = with_token(&create_token("ci", 1, Rights::Role(Role::Viewer)));
    let uses = UseQueue::default();
    let mut recorded = 0;
    for minute in 0..120 {
        let view = view_of(&table, &uses);
        for _ in 0..3 {
            let now = START.after(MINUTE * minute);
            view.authenticate_token(secret(1).reveal(), address(3), now).unwrap();
        }
        let events = at(&table, START).record_uses(&uses.take_all());
        recorded += events.len();
        for event in events {
            table.apply(START, &event).unwrap();
        }
    }
    assert_eq!(recorded, 2);
    let last = view_of(&table, &uses).token(&token_name("ci")).unwrap().last_use().unwrap();
    assert_eq!((last.at, last.address), (START.after(MINUTE * 119), address(3).into()));
}

#[test]
fn lists_are_in_the_order_of_names() {
    let mut table = AccessTable::default();
    for name in ["carol", "alice", "bob"] {
        table.apply(START, &user_added(name, Role::Viewer)).unwrap();
    }
    for (number, name) in (0..).zip(["c", "a", "b"]) {
        table.apply(START, &token_created(name, number, Rights::Role(Role::Viewer))).unwrap();
    }
    let view = view_of(&table, &UseQueue::default());
    let users: Vec<String> = view.users().iter().map(|user| user.name.to_string()).collect();
    let tokens: Vec<String> = view.tokens().iter().map(|token| token.name.to_string()).collect();
    assert_eq!((users.join(" ").as_str(), tokens.join(" ").as_str()), ("alice bob carol", "a b c"));
    assert!(view.user(&user_name("bob")).is_some() && view.user(&user_name("dave")).is_none());
}
