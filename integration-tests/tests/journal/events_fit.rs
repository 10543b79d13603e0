//! Every event that a decision can emit fits a journal entry, with each text and list at its limit. A
//! new event is to be added here as well.

use std::time::Duration;

use reelyard_access::access::{
    AccessEvent, AccessTable, MOST_LOGIN_LINKS, MOST_RANGES, NewSession, NewToken, NewUser,
    RecordedUse, RotatedToken, SESSIONS_AT_ONCE, SessionSubject, TOKENS_AT_ONCE, UserAgent,
};
use reelyard_access::rights::{MOST_SCOPES, Rights, Role, TokenName, UserName};
use reelyard_access::secrets::{LinkHash, SessionHash, TokenHash, UserPasswordHash};
use reelyard_boxes::box_lease::{
    BoxEvent, MOST_AT_ONCE, NewGrant, PoolSpec, SharedTable, TERMS_AT_ONCE,
};
use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;
use reelyard_core::event::{Epoch, RequestId};
use reelyard_core::host::{BitsPerSecond, HostAddr, HostMode, HostRole};
use reelyard_core::manager::YardId;
use reelyard_core::names::{FileName, LONGEST_NAME};
use reelyard_protocol::boxes::{
    BoxNumber, FenceToken, Holder, HookOutput, LeaseId, PoolName, Reason,
};
use reelyard_protocol::worker::{Blame, ContentHash, TaskId};
use reelyard_replication::{Piece, ReplicaHandle};
use reelyard_settings::cluster_settings::{
    self, LONGEST_REASON_OF_CHANGE, LONGEST_TEXT as LONGEST_TEXT_ON_RECORD, RecordSettings,
    SettingsBook,
};
use reelyard_shares::share_expiry::{
    self, ClientKey, Deadline, LONGEST_NOTE, LONGEST_OWNER, LONGEST_PATH, MoveEnd, NewMove,
    NewShare, PasswordHash, RootId, RootName, ShareChanges, ShareEvent, ShareId, ShareKind,
    ShareLocation, ShareNote, ShareOwner, SharePath, ShareTable, ShareTerm, ShareTerms,
    SharedFileIdentity,
};
use reelyard_yard::remover::{self, Intent, RemovalBook, RemovalEvent};
use reelyard_yard::task_manager::{
    BackingOff, Blamed, GivenUp, HostSetting, HostTable, NewTask, RecordedFile, RecordedInputs,
    TaskBook, TaskDecisionContext, TaskEnding, TaskEvent, TaskLiveness, TaskSettings,
};

use crate::sample_events::has_every_variant;

/// The longest text that a path, an answer or a reason is taken from.
const LONGEST_TEXT: usize = 4096;

/// How many hosts a yard may have.
const HOSTS: u16 = 20_000;

/// Fails if a single event does not fit a commit.
fn fits<P: Piece>(events: &[P::Event])
where
    P::Event: Clone + std::fmt::Debug,
{
    for event in events {
        assert!(ReplicaHandle::<P>::fits_an_entry(event), "{:.200}", format!("{event:?}"));
    }
}

/// One of the addresses that take most bytes.
fn host(number: u16) -> HostAddr {
    format!("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:{:x}]:65535", 0x1000 + number).parse().unwrap()
}

fn file() -> FileName {
    FileName::new("x".repeat(LONGEST_NAME)).unwrap()
}

fn text(length: usize) -> String {
    "x".repeat(length)
}

fn task_events() -> Vec<TaskEvent> {
    let (id, size, name) = (TaskId(i64::MIN), u64::MAX, file());
    let asked_by = text(LONGEST_TEXT);
    let ending =
        TaskEnding { how: GivenUp::Failed, reason: text(LONGEST_TEXT), blame: Some(Blame::Pair) };
    let back_off = Some(BackingOff { blamed: Blamed::File(name.clone()), until: Millis(i64::MAX) });
    let created = NewTask {
        id,
        name: name.clone(),
        dir: text(LONGEST_TEXT),
        source: host(1),
        destination: host(2),
        grade: u32::MAX,
        hits: u32::MAX,
        size,
        copy_speed: Some(BitsPerSecond(u64::MAX)),
        source_cap: u32::MAX,
        asked_by: Some(asked_by.clone()),
    };
    let names = |bytes: usize| vec![name.clone(); bytes / (LONGEST_NAME + 2)];
    let (host, role) = (host(1), HostRole::Both);
    let digest = ContentHash([255; 32]);
    let input = RecordedFile { digest, rows: u64::MAX, modified: Millis(i64::MIN) };
    vec![
        TaskEvent::Created(created),
        TaskEvent::Began { id },
        TaskEvent::Claimed { id },
        TaskEvent::Completed { id, size: Some(size), hash: Some(ContentHash([255; 32])) },
        TaskEvent::Ended { id, ending, back_off },
        TaskEvent::Placed { host, name: name.clone() },
        TaskEvent::InventoryDiffered {
            host,
            added: names(10 * 1024),
            removed: names(10 * 1024),
            complete: true,
        },
        TaskEvent::Forgot {
            tasks: vec![id; 100],
            back_offs: vec![Blamed::File(name.clone()); 100],
        },
        TaskEvent::CompletedUnverified { id, size, hash: ContentHash([255; 32]) },
        TaskEvent::ClusterNamed { cluster: YardId(u128::MAX) },
        TaskEvent::HostModeSet { host, mode: HostMode::Active, asked_by: asked_by.clone() },
        TaskEvent::HostAdded { host, role, asked_by: asked_by.clone() },
        TaskEvent::HostRemoved { host, asked_by },
        TaskEvent::HostSilent { host, since: Millis(i64::MAX) },
        TaskEvent::HostLost { host },
        TaskEvent::HostRecovered { host },
        TaskEvent::HistoryForgotten { before: u64::MAX },
        TaskEvent::HostsNamed { named: vec![(host, role); 500], dropped: Vec::new() },
        TaskEvent::InputsRecorded(RecordedInputs {
            node: u64::MAX,
            grade_info: Some(input),
            hitcount_history: Some(input),
            masters: u64::MAX,
        }),
    ]
}

#[test]
fn events_of_tasks_fit() {
    let events = task_events();
    // Only earlier versions wrote it.
    let without = [TaskEvent::HostsConfigured { hosts: Vec::new() }];
    has_every_variant::<TaskBook>(&events, &without);
    fits::<TaskBook>(&events);
}

/// Events of a yard with this many hosts, each step applied.
fn decided(book: &mut TaskBook, configured: &[HostSetting]) -> Vec<TaskEvent> {
    let (mut hosts, settings) = (HostTable::new(configured), TaskSettings::default());
    hosts.adopt_recorded(book);
    let decision_context = TaskDecisionContext {
        book,
        in_flight: &Default::default(),
        hosts: &hosts,
        liveness: &TaskLiveness::default(),
        settings: &settings,
        now: Millis(1_800_000_000_000),
    };
    let events = decision_context.due();
    for event in &events {
        book.apply(Millis(1_800_000_000_000), event).unwrap();
    }
    events
}

#[test]
fn decisions_about_twenty_thousand_hosts_fit_into_events() {
    let mut book = TaskBook::default();
    let all: Vec<HostSetting> = (0..HOSTS)
        .map(|number| HostSetting { addr: host(number), role: HostRole::Destination })
        .collect();
    fits::<TaskBook>(&decided(&mut book, &all));
    assert_eq!(book.hosts().len(), usize::from(HOSTS));
    assert_eq!(decided(&mut book, &all), []);
    // Half of them go, and one is named that fails with all others.
    fits::<TaskBook>(&decided(&mut book, &all[..usize::from(HOSTS / 2)]));
    assert_eq!(book.hosts().len(), usize::from(HOSTS / 2));
    let back_offs = (1..HOSTS).map(|number| Blamed::Pair(host(number), host(0)));
    let reset = reelyard_yard::task_manager::forgetting(back_offs.collect());
    fits::<TaskBook>(&reset);
    let forgotten = reset.iter().map(|event| match event {
        TaskEvent::Forgot { back_offs, .. } => back_offs.len(),
        other => panic!("{other:?}"),
    });
    assert_eq!(forgotten.sum::<usize>(), usize::from(HOSTS - 1));
}

#[test]
fn events_of_removals_fit() {
    let (host, name, asked_by) = (host(1), file(), text(LONGEST_TEXT));
    let reason = remover::Reason::MakesRoom {
        better: name.clone(),
        better_size: u64::MAX,
        better_grade: Some(u32::MAX),
        better_hits: u32::MAX,
        grade: Some(u32::MAX),
    };
    let intent = Intent {
        host,
        name: name.clone(),
        size: Some(u64::MAX),
        reason,
        keeper: Some(host),
        asked_by: asked_by.clone(),
    };
    let ending = remover::Ending::Refused { why: text(LONGEST_TEXT) };
    let events = [
        RemovalEvent::Intended(intent),
        RemovalEvent::Ended { host, name: name.clone(), ending },
        RemovalEvent::Pinned { name: name.clone(), asked_by },
        RemovalEvent::Unpinned { name },
        RemovalEvent::Forgot { history_before: u64::MAX, doubts_until: Millis(i64::MAX) },
    ];
    has_every_variant::<RemovalBook>(&events, &[]);
    fits::<RemovalBook>(&events);
}

#[test]
fn events_of_shares_fit() {
    let (id, by) = (ShareId(u128::MAX), text(LONGEST_OWNER));
    let root = RootName::new(&text(64)).unwrap();
    let path = SharePath::new(text(LONGEST_PATH)).unwrap();
    let place = ShareLocation { root: root.clone(), path: path.clone() };
    let owner = Some(ShareOwner::new(&text(LONGEST_OWNER)).unwrap());
    let note = Some(ShareNote::new(&text(LONGEST_NOTE)).unwrap());
    let password = Some(PasswordHash::new(&text(512)).unwrap());
    let most = std::num::NonZeroU32::new(u32::MAX);
    let created = NewShare {
        id,
        root: root.clone(),
        path: path.clone(),
        kind: ShareKind::Directory,
        deadline: Deadline::NEVER,
        noticed: true,
        owner,
        terms: ShareTerms { note: note.clone(), password: password.clone(), max_downloads: most },
        room: Default::default(),
    };
    let terms =
        vec![ShareTerm::Note(note), ShareTerm::Password(password), ShareTerm::MaxDownloads(most)];
    let changes = ShareChanges { terms, ..ShareChanges::default() };
    let ids = vec![id; share_expiry::AT_ONCE];
    let (most, why, request) = (u64::MAX, share_expiry::ShareEnding::Revoked, RequestId(u128::MAX));
    let file = SharedFileIdentity { device: u64::MAX, inode: u64::MAX, born: Some(i64::MIN) };
    let begun = NewMove { from: place.clone(), to: place, file, by: by.clone(), request };
    let (client, resume_until, forget_before) =
        (ClientKey(u64::MAX), Millis(i64::MAX), Millis(i64::MAX));
    let events = [
        ShareEvent::Created(Box::new(created)),
        ShareEvent::Changed { id, generation: u32::MAX, changes: Box::new(changes) },
        ShareEvent::Reclaimed { ids: ids.clone() },
        ShareEvent::Ended { ids: ids.clone(), why, cut: true, by: by.clone() },
        ShareEvent::RootRecorded { root: root.clone(), id: Some(RootId(u128::MAX)) },
        ShareEvent::EndedWithin { root, path, why, most, by: by.clone() },
        ShareEvent::Taken { id, client, resume_until, forget_before, request },
        ShareEvent::TakenInPart { id, client, resume_until, forget_before, request },
        ShareEvent::WholeBegun { id, client, request },
        ShareEvent::TimeRecorded,
        ShareEvent::TimeSet { to: Millis(i64::MAX), by: by.clone() },
        ShareEvent::MoveBegun(Box::new(begun)),
        ShareEvent::Noticed { ids, until: Millis(i64::MAX) },
        ShareEvent::Paused { by: by.clone() },
        ShareEvent::Resumed { by },
        ShareEvent::Forgot {
            tombstones_before: most,
            notifications_before: most,
            hooks: vec![text(200); 100],
        },
        ShareEvent::Delivered { hook: text(LONGEST_TEXT), up_to: most },
        ShareEvent::MoveSettled { number: most, end: MoveEnd::Lost, most },
        ShareEvent::MoveFollowed { number: most, part: u32::MAX, most },
    ];
    has_every_variant::<ShareTable>(&events, &[]);
    fits::<ShareTable>(&events);
}

#[test]
fn events_of_boxes_fit() {
    let pool = PoolName::new(&text(64)).unwrap();
    let (lease, number, token) = (LeaseId(u128::MAX), BoxNumber(u32::MAX), FenceToken(u64::MAX));
    let (term, output, by) = (Duration::MAX, HookOutput::cut(&text(LONGEST_TEXT)), text(200));
    let labels = (0..32).map(|label| (format!("{label:0200}"), text(200))).collect();
    let spec = PoolSpec { labels, host: Some(host(1)), ..PoolSpec::of(u32::MAX, u32::MAX) };
    let together = MOST_AT_ONCE as usize;
    let granted = NewGrant {
        pool: pool.clone(),
        leases: vec![(lease, number); together],
        holder: Holder::new(&text(200)).unwrap(),
        ttl: term,
        term,
        request: Some(RequestId(u128::MAX)),
        rested_before: u64::MAX,
    };
    let reason = Some(Reason::new(&text(500)).unwrap());
    let many = vec![lease; 1000];
    let clean = vec![number; 2000];
    let dirty = vec![(number, output.clone()); 20];
    let (cleaning, attempt) = (u64::MAX, u32::MAX);
    let events = [
        BoxEvent::PoolPut { pool: pool.clone(), spec: Box::new(spec.clone()) },
        BoxEvent::PoolPutAlone { pool: pool.clone(), spec: Box::new(spec.clone()) },
        BoxEvent::PoolPutBySettings { pool: pool.clone(), spec: Box::new(spec), version: u64::MAX },
        BoxEvent::PoolRemoved { pool: pool.clone() },
        BoxEvent::Granted(Box::new(granted)),
        BoxEvent::Prepared { leases: vec![lease; together], term },
        BoxEvent::InitFailed { lease, output: output.clone() },
        BoxEvent::Renewed { lease, token, term },
        BoxEvent::Released { lease, token },
        BoxEvent::Expired { leases: vec![(lease, u32::MAX); 1000] },
        BoxEvent::TermsPassed { leases: vec![(lease, u32::MAX); 1000] },
        BoxEvent::TermsAgain { leases: vec![(lease, u32::MAX, term); TERMS_AT_ONCE] },
        BoxEvent::WrongToken { lease, given: token, times: u64::MAX },
        BoxEvent::TokensRaised { pool: pool.clone(), beyond: token },
        BoxEvent::Led { epoch: Epoch(u64::MAX), beyond: Some(token) },
        BoxEvent::Revoked { leases: many.clone(), by: by.clone(), reason },
        BoxEvent::NotTaken { leases: many },
        BoxEvent::Cleaned { pool: pool.clone(), number, cleaning, output: Some(output.clone()) },
        BoxEvent::CleanFailed {
            pool: pool.clone(),
            number,
            cleaning,
            attempt,
            output: output.clone(),
        },
        BoxEvent::Quarantined {
            pool: pool.clone(),
            number,
            cleaning: Some(cleaning),
            output,
            by: Some(by.clone()),
        },
        BoxEvent::Unquarantined { pool: pool.clone(), number, by },
        BoxEvent::Recheck { pool: pool.clone() },
        BoxEvent::Reconciled { pool: pool.clone(), clean, dirty: Vec::new() },
        BoxEvent::Adopted {
            pool: pool.clone(),
            output: HookOutput::cut(&text(LONGEST_TEXT)),
            by: text(200),
        },
        BoxEvent::Reconciled { pool, clean: Vec::new(), dirty },
        BoxEvent::Forgot { ended_before: u64::MAX, box_log_before: u64::MAX },
        BoxEvent::TermsGiven {
            boot: BootId([0xff; 16]),
            uptime: term,
            leases: vec![(lease, u32::MAX, term); TERMS_AT_ONCE],
        },
        BoxEvent::LedOn { boot: BootId([0xff; 16]), uptime: term },
    ];
    has_every_variant::<SharedTable>(&events, &[]);
    fits::<SharedTable>(&events);
}

#[test]
fn events_of_settings_on_record_fit() {
    let asked = RecordSettings {
        text: text(LONGEST_TEXT_ON_RECORD).into(),
        follows: 0,
        by: text(80),
        why: text(LONGEST_REASON_OF_CHANGE),
        request: RequestId(1),
    };
    let events = cluster_settings::record(&SettingsBook::default(), &asked).unwrap();
    has_every_variant::<SettingsBook>(&events, &[]);
    fits::<SettingsBook>(&events);
}

#[test]
fn events_of_access_fit() {
    let by = text(80);
    let user: UserName = text(64).parse().unwrap();
    // The name of a worker's token is shorter.
    let token: TokenName = text(64).parse().unwrap();
    let password = UserPasswordHash::try_from(text(256)).unwrap();
    let (hash, session, link) =
        (TokenHash::from([255; 32]), SessionHash::from([255; 32]), LinkHash::from([255; 32]));
    let pool = |number: usize| format!("boxes:lease:{number:064}").parse().unwrap();
    let rights = Rights::Scopes((0..MOST_SCOPES).map(pool).collect());
    let range = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127".parse().unwrap();
    let addresses = vec![range; MOST_RANGES];
    let last = Millis(i64::MIN);
    let address = std::net::IpAddr::from([0xffff_u16; 8]).into();
    let new_user = NewUser {
        name: user.clone(),
        role: Role::Admin,
        password: Some(password.clone()),
        by: by.clone(),
    };
    let new_token = NewToken {
        name: token.clone(),
        hash,
        rights: rights.checked().unwrap(),
        expires_at: Some(last),
        addresses: addresses.clone(),
        by: by.clone(),
    };
    let rotated = RotatedToken {
        name: token.clone(),
        hash,
        expires_at: Some(last),
        addresses,
        by: by.clone(),
    };
    let used = RecordedUse { name: token.clone(), generation: u64::MAX, at: last, address };
    let subject = SessionSubject::Token(token.clone());
    let begun = NewSession {
        hash: session,
        subject: subject.clone(),
        generation: u64::MAX,
        link: Some(link),
        ends_at: last,
        address,
        user_agent: UserAgent::cut(&"\u{1f600}".repeat(300)),
    };
    let (name, role) = (user.clone(), Role::Admin);
    let events = [
        AccessEvent::UserAdded(Box::new(new_user)),
        AccessEvent::UserRoleSet { name: name.clone(), role, by: by.clone() },
        AccessEvent::UserPasswordSet { name: name.clone(), password, by: by.clone() },
        AccessEvent::UserDisabled { name: name.clone(), by: by.clone() },
        AccessEvent::UserEnabled { name: name.clone(), by: by.clone() },
        AccessEvent::UserRemoved { name: name.clone(), by: by.clone() },
        AccessEvent::UserLocked { name: name.clone(), until: last },
        AccessEvent::UserUnlocked { name, by: by.clone() },
        AccessEvent::TokenCreated(Box::new(new_token)),
        AccessEvent::TokenRevoked { name: token.clone(), by: by.clone() },
        AccessEvent::TokenRotated(Box::new(rotated)),
        AccessEvent::TokensForgotten { tokens: vec![(token, u64::MAX); TOKENS_AT_ONCE] },
        AccessEvent::UsesRecorded { uses: vec![used; TOKENS_AT_ONCE] },
        AccessEvent::SessionBegun(Box::new(begun)),
        AccessEvent::SessionsSeen { seen: vec![(session, last); SESSIONS_AT_ONCE] },
        AccessEvent::SessionsEnded { sessions: vec![session; SESSIONS_AT_ONCE], by: by.clone() },
        AccessEvent::SessionsOfEnded { subject: subject.clone(), by: by.clone() },
        AccessEvent::LoginLinkIssued {
            hash: link,
            subject,
            generation: u64::MAX,
            expires_at: last,
            by,
        },
        AccessEvent::LoginLinksForgotten { links: vec![link; MOST_LOGIN_LINKS] },
    ];
    has_every_variant::<AccessTable>(&events, &[]);
    fits::<AccessTable>(&events);
}
