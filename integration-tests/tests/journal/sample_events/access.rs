//! Samples of the events of access.

use std::net::IpAddr;

use reelyard_access::access::{
    AccessEvent, NewSession, NewToken, NewUser, RecordedUse, RotatedToken, SessionSubject,
    UserAgent,
};
use reelyard_access::rights::{Rights, Role, TokenName, UserName};
use reelyard_access::secrets::{LinkHash, SessionHash, TokenHash, UserPasswordHash};

use super::{START, after, host, other_host};

const DAY: i64 = 24 * 3_600_000;

fn user(name: &str) -> UserName {
    name.parse().unwrap()
}

fn token(name: &str) -> TokenName {
    name.parse().unwrap()
}

fn by() -> String {
    "token admin".to_owned()
}

fn password() -> UserPasswordHash {
    let phc = "$argon2id$v=19$m=32768,t=4,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo";
    UserPasswordHash::try_from(phc.to_owned()).unwrap()
}

fn added(name: &str, role: Role, password: Option<UserPasswordHash>) -> AccessEvent {
    AccessEvent::UserAdded(Box::new(NewUser { name: user(name), role, password, by: by() }))
}

fn created(name: &str, number: u8, rights: Rights) -> NewToken {
    let hash = TokenHash::from([number; 32]);
    let (name, by) = (token(name), by());
    NewToken { name, hash, rights, expires_at: None, addresses: Vec::new(), by }
}

fn begun(number: u8, subject: SessionSubject, generation: u64) -> NewSession {
    NewSession {
        hash: SessionHash::from([number; 32]),
        subject,
        generation,
        link: None,
        ends_at: after(30 * DAY),
        address: IpAddr::from([10, 0, 0, 9]).into(),
        user_agent: UserAgent::cut("curl/8.1"),
    }
}

/// Samples in the order in which they apply. Append new ones: the stored rows depend on the order.
pub fn access_samples() -> Vec<(&'static str, AccessEvent)> {
    let created = |new| AccessEvent::TokenCreated(Box::new(new));
    let begun = |new| AccessEvent::SessionBegun(Box::new(new));
    let scopes = ["shares:write", "boxes:lease:gpu"].map(|text| text.parse().unwrap());
    let limited = NewToken {
        expires_at: Some(after(DAY)),
        addresses: vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        ..self::created("ci", 2, Rights::Scopes(scopes.into()))
    };
    let worker =
        self::created(TokenName::of_worker(host(21)).as_str(), 3, Rights::Worker(host(21)));
    let other_worker =
        self::created(TokenName::of_worker(other_host()).as_str(), 4, Rights::Worker(other_host()));
    let short = NewToken {
        expires_at: Some(START),
        ..self::created("short", 5, Rights::Role(Role::Viewer))
    };
    let rotated = RotatedToken {
        name: token("ci"),
        hash: TokenHash::from([6; 32]),
        expires_at: Some(after(2 * DAY)),
        addresses: vec!["10.0.0.0/8".parse().unwrap()],
        by: by(),
    };
    let used = RecordedUse {
        name: token("admin"),
        generation: 0,
        at: after(4000),
        address: "2001:db8::7".parse::<IpAddr>().unwrap().into(),
    };
    let alice = || SessionSubject::User(user("alice"));
    let admin = || SessionSubject::Token(token("admin"));
    let link = LinkHash::from([9; 32]);
    vec![
        ("token-created", created(self::created("admin", 1, Rights::Role(Role::Admin)))),
        ("user-added", added("alice", Role::Admin, Some(password()))),
        ("user-added-without-password", added("bob", Role::Viewer, None)),
        ("user-added-third", added("carol", Role::Operator, Some(password()))),
        ("token-with-scopes-created", created(limited)),
        ("token-of-worker-created", created(worker)),
        ("token-of-other-worker-created", created(other_worker)),
        ("short-token-created", created(short)),
        (
            "role-set",
            AccessEvent::UserRoleSet { name: user("bob"), role: Role::Operator, by: by() },
        ),
        (
            "password-set",
            AccessEvent::UserPasswordSet { name: user("bob"), password: password(), by: by() },
        ),
        ("session-begun", begun(self::begun(1, alice(), 1))),
        ("session-of-token-begun", begun(self::begun(2, admin(), 0))),
        ("session-third-begun", begun(self::begun(3, alice(), 1))),
        (
            "link-issued",
            AccessEvent::LoginLinkIssued {
                hash: link,
                subject: admin(),
                generation: 0,
                expires_at: after(900_000),
                by: by(),
            },
        ),
        (
            "session-begun-by-link",
            begun(NewSession { link: Some(link), ..self::begun(4, admin(), 0) }),
        ),
        (
            "second-link-issued",
            AccessEvent::LoginLinkIssued {
                hash: LinkHash::from([10; 32]),
                subject: alice(),
                generation: 1,
                expires_at: after(900_000),
                by: by(),
            },
        ),
        (
            "third-link-issued",
            AccessEvent::LoginLinkIssued {
                hash: LinkHash::from([11; 32]),
                subject: alice(),
                generation: 1,
                expires_at: after(800_000),
                by: by(),
            },
        ),
        (
            "links-forgotten",
            AccessEvent::LoginLinksForgotten { links: vec![LinkHash::from([11; 32])] },
        ),
        (
            "sessions-seen",
            AccessEvent::SessionsSeen {
                seen: vec![(SessionHash::from([1; 32]), after(9_000_000))],
            },
        ),
        (
            "sessions-ended",
            AccessEvent::SessionsEnded {
                sessions: vec![SessionHash::from([3; 32])],
                by: "access".to_owned(),
            },
        ),
        ("uses-recorded", AccessEvent::UsesRecorded { uses: vec![used] }),
        ("token-rotated", AccessEvent::TokenRotated(Box::new(rotated))),
        ("user-locked", AccessEvent::UserLocked { name: user("carol"), until: after(900_000) }),
        ("user-locked-too", AccessEvent::UserLocked { name: user("bob"), until: after(900_000) }),
        ("user-unlocked", AccessEvent::UserUnlocked { name: user("bob"), by: by() }),
        ("user-disabled", AccessEvent::UserDisabled { name: user("carol"), by: by() }),
        ("user-disabled-too", AccessEvent::UserDisabled { name: user("bob"), by: by() }),
        ("user-enabled", AccessEvent::UserEnabled { name: user("bob"), by: by() }),
        ("user-added-fourth", added("dave", Role::Viewer, None)),
        ("user-removed", AccessEvent::UserRemoved { name: user("dave"), by: by() }),
        (
            "token-revoked",
            AccessEvent::TokenRevoked { name: TokenName::of_worker(other_host()), by: by() },
        ),
        ("tokens-forgotten", AccessEvent::TokensForgotten { tokens: vec![(token("short"), 7)] }),
        ("sessions-of-token-ended", AccessEvent::SessionsOfEnded { subject: admin(), by: by() }),
        (
            "session-with-old-generation-begun",
            begun(self::begun(5, SessionSubject::User(user("bob")), 2)),
        ),
    ]
}
