//! The table of shares agrees with a simple model of the rules for all requests, restarts and settings of the
//! clock.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::{InFlight, Piece};
use reelyard_shares::share_expiry::{
    AllowedLifetimes, ClientKey, CreateShare, Deadline, DownloadDecision, ExpiryTimerWheel,
    MoveEnd, MoveRefused, NewMove, NewTerms, OnlyIf, RootName, Share, ShareDecisionContext,
    ShareDueKey, ShareEnding, ShareEvent, ShareExpirySettings, ShareId, ShareKind, ShareLifetime,
    ShareLocation, ShareLookup, ShareNotificationKind, ShareOutcome, SharePath, SharePolicy,
    ShareTable, ShareTerms, SharedFileIdentity, TakeDownload,
};

const START: i64 = 1_000_000;
/// The time in which a counted download may be resumed, in milliseconds.
const RESUME: i64 = 20;
/// The time from the announcement of an end to the deadline, in milliseconds.
const NOTICE: i64 = 10;
const PATHS: [&str; 5] = ["a", "a/x", "a/y/z", "b", "b/x"];

/// The next step. A share is named by its position in the order of creation.
#[derive(Clone, Debug)]
enum ShareStep {
    Create {
        ttl: u64,
        path: usize,
        limit: u32,
    },
    /// New terms: a lifetime or none, and a condition.
    Change(usize, Option<u64>, Option<OnlyIf>),
    Revoke(Vec<usize>, bool),
    Take(usize, u64, bool),
    /// A rename of a file and its result. Includes the number of shares per entry, and whether the node
    /// restarts after each entry.
    Move {
        from: usize,
        to: usize,
        end: MoveEnd,
        most: u64,
        restart: bool,
    },
    /// The files of a path and below it are removed.
    Remove(usize),
    Pause(bool),
    /// Time passes, in milliseconds.
    Wait(u64),
    /// The wall clock is set.
    Set(i64),
    /// Reclaims due shares, at most this number.
    Reclaim(usize),
    Notice,
    /// Restarts the node from a snapshot.
    Restart,
}

fn op() -> impl Strategy<Value = ShareStep> {
    let only_if = prop_oneof![
        Just(OnlyIf::None),
        Just(OnlyIf::Exists),
        Just(OnlyIf::Greater),
        Just(OnlyIf::Less)
    ];
    let end = prop_oneof![
        4 => Just(MoveEnd::Moved),
        1 => Just(MoveEnd::NotMoved(MoveRefused::Interrupted)),
        1 => Just(MoveEnd::Lost),
    ];
    prop_oneof![
        6 => (1..60_u64, 0..PATHS.len(), 0..4_u32)
            .prop_map(|(ttl, path, limit)| ShareStep::Create { ttl, path, limit }),
        3 => (0..40_usize, proptest::option::of(1..60_u64), proptest::option::of(only_if))
            .prop_map(|(share, ttl, only_if)| ShareStep::Change(share, ttl, only_if)),
        1 => (prop::collection::vec(0..40_usize, 1..4), any::<bool>())
            .prop_map(|(shares, hard)| ShareStep::Revoke(shares, hard)),
        4 => (0..40_usize, 0..4_u64, any::<bool>())
            .prop_map(|(share, client, ranged)| ShareStep::Take(share, client, ranged)),
        3 => (0..PATHS.len(), 0..PATHS.len(), end, 1..5_u64, any::<bool>())
            .prop_map(|(from, to, end, most, restart)| ShareStep::Move { from, to, end, most, restart }),
        1 => (0..PATHS.len()).prop_map(ShareStep::Remove),
        1 => any::<bool>().prop_map(ShareStep::Pause),
        4 => (0..40_u64).prop_map(ShareStep::Wait),
        1 => (-100..100_i64).prop_map(ShareStep::Set),
        5 => prop_oneof![Just(1), Just(3), Just(1000)].prop_map(ShareStep::Reclaim),
        2 => Just(ShareStep::Notice),
        1 => Just(ShareStep::Restart),
    ]
}

/// The state of a share by the rules.
#[derive(Clone, Debug)]
struct Modelled {
    path: String,
    /// The deadline; `None` for a share without one.
    deadline: Option<i64>,
    limit: u32,
    /// Every counted download: client and time.
    taken: Vec<(u64, i64)>,
    /// Clients whose last download began with a part, and which have not begun a complete one since.
    in_part: BTreeMap<u64, i64>,
    noticed: bool,
    ended: Option<ShareEnding>,
    /// Whether running downloads must be aborted.
    cut: bool,
}

impl Modelled {
    fn exhausted(&self) -> Option<i64> {
        let last =
            self.taken.last().filter(|_| self.limit > 0 && self.taken.len() as u32 == self.limit);
        last.map(|(_, at)| *at)
    }

    fn due(&self) -> Option<i64> {
        let resumable = self.exhausted().map(|at| at + RESUME);
        [self.deadline, resumable].into_iter().flatten().min()
    }

    fn is_live(&self, now: i64) -> bool {
        self.ended.is_none() && self.due().is_none_or(|due| now < due)
    }

    /// Ends the share for this reason, or by time if that was earlier.
    fn end(&mut self, now: i64, why: ShareEnding) {
        if self.ended.is_none() {
            let by_time = if self.exhausted().is_some() {
                ShareEnding::Exhausted
            } else {
                ShareEnding::Expired
            };
            self.ended = Some(if self.is_live(now) { why } else { by_time });
        }
    }
}

struct ShareWorld {
    table: ShareTable,
    policy: SharePolicy,
    timer: ExpiryTimerWheel,
    notices: ExpiryTimerWheel,
    now: i64,
    model: Vec<Modelled>,
    paused: bool,
    /// The deadline of the last reclaimed share.
    last: i64,
    /// The number of notifications in the model.
    noticed: usize,
}

impl ShareWorld {
    fn new() -> Self {
        let lifetimes = AllowedLifetimes {
            min_ttl: Duration::ZERO,
            allow_never: true,
            ..ShareExpirySettings::default().lifetimes
        };
        let settings = ShareExpirySettings {
            roots: [root()].into(),
            lifetimes,
            notice_before: Some(Duration::from_millis(NOTICE.unsigned_abs())),
            resume_within: Duration::from_millis(RESUME.unsigned_abs()),
            ..ShareExpirySettings::default()
        };
        ShareWorld {
            table: ShareTable::default(),
            policy: SharePolicy::new(settings),
            timer: ExpiryTimerWheel::with_window(3),
            notices: ExpiryTimerWheel::with_window(3),
            now: START,
            model: Vec::new(),
            paused: false,
            last: i64::MIN,
            noticed: 0,
        }
    }

    fn apply(&mut self, event: &ShareEvent) {
        self.table.apply(Millis(self.now), event).unwrap();
    }

    fn add(&mut self, id: ShareId) {
        let ShareWorld { table, timer, notices, .. } = self;
        table.look(id, |share| {
            timer.add(share);
            notices.add(share);
        });
    }

    fn step(&mut self, op: &ShareStep) {
        match op {
            ShareStep::Create { ttl, path, limit } => self.create(*ttl, PATHS[*path], *limit),
            ShareStep::Change(share, ttl, only_if) => self.change(*share, *ttl, *only_if),
            ShareStep::Revoke(shares, hard) => self.revoke(shares, *hard),
            ShareStep::Take(share, client, ranged) => self.take(*share, *client, *ranged),
            ShareStep::Move { from, to, end, most, restart } => {
                self.relocate(PATHS[*from], PATHS[*to], *end, *most, *restart);
            }
            ShareStep::Remove(path) => self.remove(PATHS[*path]),
            ShareStep::Pause(paused) => {
                let by = "me".to_owned();
                let event =
                    if *paused { ShareEvent::Paused { by } } else { ShareEvent::Resumed { by } };
                self.apply(&event);
                self.paused = *paused;
            }
            ShareStep::Wait(ms) => self.now += i64::try_from(*ms).unwrap(),
            ShareStep::Set(by) => {
                self.now += by;
                if *by < 0 {
                    self.last = i64::MIN;
                    self.notices.start(ShareDueKey::from(Millis(self.now + 1)));
                }
            }
            ShareStep::Reclaim(most) => self.reclaim(*most),
            ShareStep::Notice => self.notice(),
            ShareStep::Restart => self.restart(),
        }
    }

    fn create(&mut self, ttl: u64, path: &str, limit: u32) {
        let asked = CreateShare {
            root: root(),
            path: SharePath::new(path).unwrap(),
            kind: ShareKind::File,
            looked: None,
            lifetime: ShareLifetime::Ttl(Duration::from_millis(ttl)),
            owner: None,
            terms: ShareTerms { max_downloads: NonZeroU32::new(limit), ..ShareTerms::default() },
            asked_by: "me".to_owned(),
            request: None,
        };
        let id = ShareId(self.model.len() as u128);
        let ShareWorld { table, policy, now, .. } = self;
        let at = ShareDecisionContext {
            table,
            in_flight: &InFlight::default(),
            now: Millis(*now),
            latest: Millis(*now),
            confirmed_in: Duration::ZERO,
        };
        for event in policy.create(&asked, id, at).unwrap() {
            self.apply(&event);
        }
        self.add(id);
        let deadline = self.now + i64::try_from(ttl).unwrap();
        self.model.push(Modelled {
            path: path.to_owned(),
            deadline: Some(deadline),
            limit,
            taken: Vec::new(),
            in_part: BTreeMap::new(),
            noticed: deadline <= self.now + NOTICE,
            ended: None,
            cut: false,
        });
    }

    fn change(&mut self, share: usize, ttl: Option<u64>, only_if: Option<OnlyIf>) {
        let id = ShareId(share as u128);
        let term =
            ttl.map_or(ShareLifetime::Never, |ttl| ShareLifetime::Ttl(Duration::from_millis(ttl)));
        let change = NewTerms { lifetime: Some(term), only_if, ..NewTerms::default() };
        let ShareWorld { table, policy, now, .. } = self;
        let at = ShareDecisionContext {
            table,
            in_flight: &InFlight::default(),
            now: Millis(*now),
            latest: Millis(*now),
            confirmed_in: Duration::ZERO,
        };
        let decided = policy.change(id, &change, at);
        let wanted = ttl.map(|ttl| self.now + i64::try_from(ttl).unwrap());
        let far = |deadline: Option<i64>| deadline.unwrap_or(i64::MAX);
        let modelled = self.model.get_mut(share).filter(|modelled| modelled.is_live(self.now));
        let modelled = modelled.filter(|modelled| {
            let present = modelled.deadline;
            modelled.exhausted().is_none()
                && match only_if {
                    None => true,
                    Some(OnlyIf::None) => present.is_none(),
                    Some(OnlyIf::Exists) => present.is_some(),
                    Some(OnlyIf::Greater) => far(wanted) > far(present),
                    Some(OnlyIf::Less) => far(wanted) < far(present),
                }
        });
        assert_eq!(decided.is_ok(), modelled.is_some(), "{decided:?} {modelled:?}");
        let Some(modelled) = modelled else { return };
        if wanted != modelled.deadline {
            modelled.noticed = wanted.is_some_and(|wanted| wanted <= self.now + NOTICE);
            modelled.deadline = wanted;
        }
        for event in decided.unwrap() {
            self.apply(&event);
        }
        self.add(id);
    }

    fn revoke(&mut self, shares: &[usize], hard: bool) {
        let ids = shares.iter().map(|share| ShareId(*share as u128)).collect();
        let by = "me".to_owned();
        self.apply(&ShareEvent::Ended { ids, why: ShareEnding::Revoked, cut: hard, by });
        for share in shares {
            if let Some(modelled) = self.model.get_mut(*share) {
                modelled.end(self.now, ShareEnding::Revoked);
                modelled.cut |= hard;
            }
        }
    }

    fn take(&mut self, share: usize, client: u64, ranged: bool) {
        let (id, now) = (ShareId(share as u128), self.now);
        let asked =
            TakeDownload { id, client: ClientKey(client), ranged, request: RequestId::random() };
        let at = ShareDecisionContext {
            table: &self.table,
            in_flight: &InFlight::default(),
            now: Millis(now),
            latest: Millis(now),
            confirmed_in: Duration::ZERO,
        };
        let decided = self.policy.admit_download(&asked, at);
        let Some(modelled) = self.model.get_mut(share).filter(|modelled| modelled.is_live(now))
        else {
            assert!(decided.is_err());
            return;
        };
        let holds = |(taker, at): &(u64, i64)| *taker == client && now < at + RESUME;
        if modelled.limit == 0 {
            assert_eq!(decided, Ok(DownloadDecision::Unlimited));
        } else if ranged && modelled.taken.iter().any(holds) {
            assert_eq!(decided, Ok(DownloadDecision::Resumes));
        } else if !ranged && modelled.in_part.get(&client).is_some_and(|at| now < at + RESUME) {
            modelled.in_part.remove(&client);
            let Ok(DownloadDecision::Counts(event)) = decided else { panic!("{decided:?}") };
            assert!(matches!(event, ShareEvent::WholeBegun { .. }), "{event:?}");
            self.apply(&event);
        } else if modelled.exhausted().is_some() {
            assert!(decided.is_err());
        } else {
            modelled.taken.push((client, now));
            match ranged {
                true => modelled.in_part.insert(client, now),
                false => modelled.in_part.remove(&client),
            };
            let Ok(DownloadDecision::Counts(event)) = decided else { panic!("{decided:?}") };
            self.apply(&event);
            self.add(id);
        }
    }

    fn relocate(&mut self, from: &str, to: &str, end: MoveEnd, most: u64, restart: bool) {
        let place = |text: &str| ShareLocation { root: root(), path: path(text) };
        let file = SharedFileIdentity { device: 1, inode: 2, born: None };
        let (by, request) = ("me".to_owned(), RequestId(0));
        let new = NewMove { from: place(from), to: place(to), file, by, request };
        let begun = self.table.apply(Millis(self.now), &ShareEvent::MoveBegun(Box::new(new)));
        let (old, new) = (path(from), path(to));
        if old.is_within(&new) || new.is_within(&old) {
            assert!(begun.is_err());
            return;
        }
        let Ok(ShareOutcome::MoveBegun { number }) = begun else { panic!("{begun:?}") };
        let mut event = ShareEvent::MoveSettled { number, end, most };
        loop {
            if restart {
                self.restart();
            }
            let went = self.table.apply(Millis(self.now), &event).unwrap();
            let ShareOutcome::MoveWent { done, .. } = went else { panic!("{went:?}") };
            if done {
                break;
            }
            let part = self.table.moves()[0].parts;
            event = ShareEvent::MoveFollowed { number, part, most };
        }
        let gone = match end {
            MoveEnd::NotMoved(_) => return,
            MoveEnd::Moved => new,
            MoveEnd::Lost => old.clone(),
        };
        self.remove_modelled(&gone);
        for modelled in self.model.iter_mut().filter(|modelled| modelled.ended.is_none()) {
            let rest = modelled.path.strip_prefix(from);
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                modelled.path = format!("{to}{rest}");
            }
        }
    }

    fn remove(&mut self, removed: &str) {
        let removed = path(removed);
        let ids = self.table.within(&root(), &removed, None).map(|share| share.id()).collect();
        let (why, by) = (ShareEnding::Removed, "me".to_owned());
        self.apply(&ShareEvent::Ended { ids, why, cut: false, by });
        self.remove_modelled(&removed);
    }

    fn remove_modelled(&mut self, removed: &SharePath) {
        for modelled in &mut self.model {
            if path(&modelled.path).is_within(removed) {
                modelled.end(self.now, ShareEnding::Removed);
            }
        }
    }

    /// Reclaims due shares, in the order of their deadlines.
    fn reclaim(&mut self, most: usize) {
        if self.paused {
            return;
        }
        let ids = self.timer.due(Millis(self.now), most, &self.table);
        let mut expected: Vec<(i64, usize)> = Vec::new();
        for (share, modelled) in self.model.iter().enumerate() {
            if let (None, Some(due)) =
                (modelled.ended, modelled.due().filter(|due| *due <= self.now))
            {
                expected.push((due, share));
            }
        }
        expected.sort_unstable();
        expected.truncate(most);
        let expected: Vec<ShareId> =
            expected.into_iter().map(|(_, share)| ShareId(share as u128)).collect();
        assert_eq!(ids, expected);
        for id in &ids {
            let due = self.table.look(*id, Share::due).and_then(Deadline::instant).unwrap().0;
            assert!(due >= self.last, "due at {due}, after one due at {}", self.last);
            self.last = due;
            let modelled = &mut self.model[usize::try_from(id.0).unwrap()];
            modelled.end(self.now, ShareEnding::Expired);
        }
        self.apply(&ShareEvent::Reclaimed { ids });
    }

    fn notice(&mut self) {
        let (now, until) = (self.now, self.now + NOTICE);
        let ids = self.notices.due(Millis(until), 1000, &self.table);
        self.apply(&ShareEvent::Noticed { ids, until: Millis(until) });
        for modelled in &mut self.model {
            let soon = modelled.deadline.is_some_and(|deadline| deadline <= until);
            if soon && modelled.is_live(now) && !modelled.noticed && modelled.exhausted().is_none()
            {
                modelled.noticed = true;
                self.noticed += 1;
            }
        }
    }

    fn restart(&mut self) {
        let mut thawed = self.table.emptied();
        self.table.freeze().write(&mut |row| thawed.thaw(row).unwrap());
        self.table = thawed;
        self.timer.start(ShareDueKey::from(Millis(i64::MIN)));
        self.notices.start(ShareDueKey::from(Millis(i64::MIN)));
    }

    fn check(&self) {
        let mut ended: BTreeMap<ShareEnding, u64> = BTreeMap::new();
        for (share, modelled) in self.model.iter().enumerate() {
            match (self.table.find(ShareId(share as u128)), modelled.ended) {
                (ShareLookup::Live(found), None) => {
                    assert_eq!(found.is_live(Millis(self.now)), modelled.is_live(self.now));
                    assert_eq!(found.deadline().instant().map(|at| at.0), modelled.deadline);
                    assert_eq!(found.path().as_str(), modelled.path);
                    assert_eq!(found.is_noticed(), modelled.noticed);
                    let taken = found.downloads().map_or(0, |downloads| downloads.taken());
                    assert_eq!(taken as usize, modelled.taken.len());
                }
                (ShareLookup::Ended(tombstone), Some(why)) => {
                    assert_eq!((tombstone.why, tombstone.cut), (why, modelled.cut));
                    *ended.entry(why).or_default() += 1;
                }
                other => panic!("share {share}: {other:?}"),
            }
        }
        let totals = self.table.totals();
        for why in ShareEnding::ALL {
            assert_eq!(totals.of(why), ended.get(&why).copied().unwrap_or_default(), "{why:?}");
        }
        assert_eq!(totals.created, self.model.len() as u64);
        assert_eq!(totals.created, self.table.len() + totals.ended());
        let all = SharePath::root();
        assert_eq!(self.table.within(&root(), &all, None).count() as u64, self.table.len());
        self.check_notifications();
    }

    /// Checks that each end was reported exactly once, and the end by the last download at its start.
    fn check_notifications(&self) {
        let notifications = self.table.notifications(0, 1000).notifications;
        let count = |wanted: ShareNotificationKind| {
            notifications.iter().filter(|notifications| notifications.what == wanted).count()
        };
        assert_eq!(count(ShareNotificationKind::Notice), self.noticed);
        for why in ShareEnding::ALL {
            let expected = match why {
                ShareEnding::Exhausted => {
                    self.model.iter().filter(|modelled| modelled.exhausted().is_some()).count()
                }
                why => self.model.iter().filter(|modelled| modelled.ended == Some(why)).count(),
            };
            assert_eq!(count(ShareNotificationKind::Ended(why)), expected, "{why:?}");
        }
    }
}

fn path(text: &str) -> SharePath {
    SharePath::new(text).unwrap()
}

fn root() -> RootName {
    RootName::new("films").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_agrees_with_the_rules(ops in prop::collection::vec(op(), 1..120)) {
        let mut world = ShareWorld::new();
        for op in &ops {
            world.step(op);
            world.check();
        }
        // In all cases: after enough time, and with reclaim active, every share with a deadline ends.
        world.step(&ShareStep::Pause(false));
        world.step(&ShareStep::Wait(1000));
        world.step(&ShareStep::Reclaim(1000));
        world.check();
        let left = world.model.iter().filter(|modelled| modelled.ended.is_none());
        prop_assert!(left.into_iter().all(|modelled| modelled.due().is_none()));
    }
}
