//! Samples of the events of shares.

use std::num::NonZeroU32;

use reelyard_core::event::RequestId;
use reelyard_shares::share_expiry::{
    ClientKey, Deadline, MoveEnd, MoveRefused, NewDeadline, NewMove, NewOwner, NewShare,
    PasswordHash, RootId, RootName, ShareChanges, ShareEnding, ShareEvent, ShareId, ShareKind,
    ShareLimits, ShareLocation, ShareNote, ShareOwner, SharePath, ShareTerm, ShareTerms,
    SharedFileIdentity,
};

use super::after;

fn root() -> RootName {
    RootName::new("films").unwrap()
}

fn path(text: &str) -> SharePath {
    SharePath::new(text).unwrap()
}

fn owner() -> Option<ShareOwner> {
    Some(ShareOwner::new("editor").unwrap())
}

fn note() -> Option<ShareNote> {
    Some(ShareNote::new("for review").unwrap())
}

fn password() -> Option<PasswordHash> {
    let phc = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo";
    Some(PasswordHash::new(phc).unwrap())
}

/// A file that is shared without any limit but its deadline.
fn plain(id: u128, at: &str, deadline: i64) -> NewShare {
    NewShare {
        id: ShareId(id),
        root: root(),
        path: path(at),
        kind: ShareKind::File,
        deadline: Deadline::at(after(deadline)),
        noticed: false,
        owner: None,
        terms: ShareTerms::default(),
        room: ShareLimits { shares: 1000, of_owner: 0 },
    }
}

fn created(share: NewShare) -> ShareEvent {
    ShareEvent::Created(Box::new(share))
}

fn begun(from: &str, to: &str, request: u128) -> ShareEvent {
    let place = |at| ShareLocation { root: root(), path: path(at) };
    ShareEvent::MoveBegun(Box::new(NewMove {
        from: place(from),
        to: place(to),
        file: SharedFileIdentity { device: 2049, inode: 77, born: Some(-1) },
        by: "operator".to_owned(),
        request: RequestId(request),
    }))
}

fn changed(id: u128, generation: u32, changes: ShareChanges) -> ShareEvent {
    ShareEvent::Changed { id: ShareId(id), generation, changes: Box::new(changes) }
}

fn ended(id: u128, why: ShareEnding, cut: bool) -> ShareEvent {
    ShareEvent::Ended { ids: vec![ShareId(id)], why, cut, by: "operator".to_owned() }
}

/// Samples in the order in which they apply. Append new ones: the stored rows depend on the order.
pub fn share_samples() -> Vec<(&'static str, ShareEvent)> {
    let by = || "operator".to_owned();
    let (client, request) = (ClientKey(0x77), |number: u128| RequestId(0xb000 + number));
    let (resume_until, forget_before) = (after(60_000), after(-60_000));
    let rich = NewShare {
        kind: ShareKind::Directory,
        deadline: Deadline::NEVER,
        noticed: true,
        owner: owner(),
        terms: ShareTerms { note: note(), password: password(), max_downloads: NonZeroU32::new(3) },
        room: ShareLimits { shares: 1000, of_owner: 10 },
        ..plain(2, "season/1", 0)
    };
    let terms = ShareChanges {
        deadline: Some(NewDeadline { deadline: Deadline::at(after(9_000_000)), noticed: false }),
        owner: Some(NewOwner { owner: owner(), most: 10 }),
        terms: vec![
            ShareTerm::MaxDownloads(NonZeroU32::new(5)),
            ShareTerm::Password(password()),
            ShareTerm::Note(note()),
        ],
    };
    let removed_terms = ShareChanges {
        deadline: None,
        owner: Some(NewOwner { owner: None, most: 0 }),
        terms: vec![
            ShareTerm::MaxDownloads(None),
            ShareTerm::Password(None),
            ShareTerm::Note(None),
        ],
    };
    let taken_in_part = |client, number| ShareEvent::TakenInPart {
        id: ShareId(2),
        client: ClientKey(client),
        resume_until,
        forget_before,
        request: request(number),
    };
    let settled = |number, end| ShareEvent::MoveSettled { number, end, most: 1 };
    vec![
        ("created", created(plain(1, "a.mpg", 8_000_000))),
        ("created-with-all-terms", created(rich)),
        ("changed", changed(1, 0, terms)),
        ("changed-without-terms", changed(1, 1, removed_terms)),
        ("created-soon-due", created(plain(3, "b.mpg", 500))),
        ("reclaimed", ShareEvent::Reclaimed { ids: vec![ShareId(3), ShareId(1)] }),
        ("created-fourth", created(plain(4, "c.mpg", 8_000_000))),
        ("revoked", ended(4, ShareEnding::Revoked, true)),
        ("created-fifth", created(plain(5, "d.mpg", 8_000_000))),
        ("evicted", ended(5, ShareEnding::Evicted, false)),
        ("created-sixth", created(plain(6, "gone/e.mpg", 8_000_000))),
        (
            "ended-within",
            ShareEvent::EndedWithin {
                root: root(),
                path: path("gone"),
                why: ShareEnding::Removed,
                most: 500,
                by: by(),
            },
        ),
        ("root-gone", ended(99, ShareEnding::RootGone, false)),
        (
            "taken",
            ShareEvent::Taken {
                id: ShareId(2),
                client,
                resume_until,
                forget_before,
                request: request(1),
            },
        ),
        ("taken-in-part", taken_in_part(0x78, 2)),
        (
            "whole-begun",
            ShareEvent::WholeBegun { id: ShareId(2), client: ClientKey(0x78), request: request(3) },
        ),
        ("taken-in-part-again", taken_in_part(0x79, 4)),
        ("noticed", ShareEvent::Noticed { ids: vec![ShareId(1)], until: after(9_500_000) }),
        ("created-to-move", created(plain(7, "old/f.mpg", 8_000_000))),
        ("created-beside", created(plain(8, "old/g.mpg", 8_000_000))),
        ("move-begun", begun("old", "new", 0xc000)),
        ("move-settled", settled(0, MoveEnd::Moved)),
        ("move-followed", ShareEvent::MoveFollowed { number: 0, part: 1, most: 500 }),
        ("move-begun-and-refused", begun("a.mpg", "z.mpg", 0xc001)),
        ("move-refused", settled(1, MoveEnd::NotMoved(MoveRefused::TargetExists))),
        ("move-begun-and-failed", begun("a.mpg", "z.mpg", 0xc002)),
        ("move-failed", settled(2, MoveEnd::NotMoved(MoveRefused::Failed(5)))),
        ("created-to-be-lost", created(plain(9, "h.mpg", 8_000_000))),
        ("move-begun-and-lost", begun("h.mpg", "y.mpg", 0xc003)),
        ("move-lost", settled(3, MoveEnd::Lost)),
        ("move-left-open", begun("a.mpg", "z.mpg", 0xc004)),
        ("resumed", ShareEvent::Resumed { by: by() }),
        ("paused", ShareEvent::Paused { by: by() }),
        ("delivered", ShareEvent::Delivered { hook: "audit".to_owned(), up_to: 1 }),
        ("delivered-to-another", ShareEvent::Delivered { hook: "old".to_owned(), up_to: 1 }),
        (
            "forgot",
            ShareEvent::Forgot {
                tombstones_before: 1,
                notifications_before: 1,
                hooks: vec!["old".to_owned()],
            },
        ),
        ("time-noted", ShareEvent::TimeRecorded),
        ("time-set", ShareEvent::TimeSet { to: after(3000), by: by() }),
        ("created-twice", created(plain(1, "a.mpg", 8_000_000))),
        ("root-recorded", ShareEvent::RootRecorded { root: root(), id: Some(RootId(0xf00d)) }),
    ]
}
