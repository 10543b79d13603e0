//! Decisions on both sides of each boundary, with other decisions under way.

use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::{InFlight, Piece};

use super::creating::AT_ONCE;
use super::downloads::DownloadDecision;
use crate::share_expiry::messages::{CreateShare, NewTerms, TakeDownload};
use crate::share_expiry::policy::decision_context::ShareDecisionContext;
use crate::share_expiry::policy::memory::SharePolicy;
use crate::share_expiry::samples::{new_share, path, root};
use crate::share_expiry::settings::{AtLimit, ShareExpirySettings};
use crate::share_expiry::state::event::*;
use crate::share_expiry::state::table::share::{ClientKey, Share};
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::share_lifetime::{OnlyIf, ShareLifetime};
use crate::share_expiry::state::values::share_terms::ShareTerms;
use crate::share_expiry::state::values::value_types::{
    Deadline, ShareEnding, ShareKind, ShareOwner,
};

const NOW: Millis = Millis(1_000_000);

/// The context while the wall clock is right.
fn at<'a>(
    table: &'a ShareTable,
    in_flight: &'a InFlight<ShareEvent>,
    now: Millis,
) -> ShareDecisionContext<'a> {
    ShareDecisionContext { table, in_flight, now, latest: now, confirmed_in: Duration::ZERO }
}

struct SharePolicyCase {
    policy: SharePolicy,
    table: ShareTable,
    in_flight: InFlight<ShareEvent>,
    now: Millis,
    requests: u128,
}

impl SharePolicyCase {
    fn new(settings: ShareExpirySettings) -> Self {
        let settings = ShareExpirySettings { roots: [root()].into(), ..settings };
        let (table, in_flight) = (ShareTable::default(), InFlight::default());
        let policy = SharePolicy::new(settings);
        SharePolicyCase { policy, table, in_flight, now: NOW, requests: 0 }
    }

    /// Starts the decided commits without applying them.
    fn begin(&mut self, events: Vec<ShareEvent>) -> RequestId {
        self.requests += 1;
        self.in_flight.begin(RequestId(self.requests), events);
        RequestId(self.requests)
    }

    fn apply(&mut self, events: Vec<ShareEvent>) {
        for event in &events {
            self.table.apply(self.now, event).unwrap();
        }
    }

    fn create(
        &mut self,
        id: u128,
        owner: &str,
        term: ShareLifetime,
    ) -> Result<Vec<ShareEvent>, ShareRefusal> {
        let asked = CreateShare {
            root: root(),
            path: path("a"),
            kind: ShareKind::File,
            looked: None,
            lifetime: term,
            owner: Some(ShareOwner::new(owner).unwrap()),
            terms: ShareTerms { max_downloads: NonZeroU32::new(2), ..ShareTerms::default() },
            asked_by: "me".to_owned(),
            request: None,
        };
        let SharePolicyCase { policy, table, in_flight, now, .. } = self;
        policy.create(&asked, ShareId(id), at(table, in_flight, *now))
    }

    fn change(&self, change: NewTerms) -> Result<Vec<ShareEvent>, ShareRefusal> {
        let SharePolicyCase { policy, table, in_flight, now, .. } = self;
        policy.change(ShareId(1), &change, at(table, in_flight, *now))
    }

    fn take(&self, client: u64, ranged: bool) -> Result<DownloadDecision, ShareRefusal> {
        let SharePolicyCase { policy, table, in_flight, now, .. } = self;
        let (id, client, request) = (ShareId(1), ClientKey(client), RequestId::random());
        let asked = TakeDownload { id, client, ranged, request };
        policy.admit_download(&asked, at(table, in_flight, *now))
    }

    fn upkeep(&mut self) -> Vec<ShareEvent> {
        let SharePolicyCase { policy, table, in_flight, now, .. } = self;
        policy.upkeep(at(table, in_flight, *now))
    }
}

fn ttl(seconds: u64) -> ShareLifetime {
    ShareLifetime::Ttl(Duration::from_secs(seconds))
}

fn term(term: ShareLifetime, only_if: Option<OnlyIf>) -> NewTerms {
    NewTerms { lifetime: Some(term), only_if, ..NewTerms::default() }
}

#[test]
fn nothing_is_shared_from_a_root_that_is_not_configured() {
    let mut case = SharePolicyCase::new(ShareExpirySettings::default());
    case.policy.settings.roots.clear();
    assert_eq!(case.create(1, "me", ttl(60)), Err(ShareRefusal::NoRoot { root: root() }));
}

#[test]
fn a_share_that_ends_within_the_notice_is_not_announced_to_end() {
    let notice_before = Some(Duration::from_secs(60));
    let mut case = SharePolicyCase::new(ShareExpirySettings {
        notice_before,
        ..ShareExpirySettings::default()
    });
    for (seconds, noticed) in [(60, true), (61, false)] {
        let events = case.create(seconds.into(), "me", ttl(seconds)).unwrap();
        let [ShareEvent::Created(new)] = &events[..] else { panic!("{events:?}") };
        assert_eq!(new.noticed, noticed, "{seconds} s");
    }
}

#[test]
fn shares_in_flight_count_against_the_limits() {
    let settings =
        ShareExpirySettings { max_shares: 3, max_per_owner: 2, ..ShareExpirySettings::default() };
    let mut case = SharePolicyCase::new(settings);
    let events = case.create(1, "me", ttl(60)).unwrap();
    case.apply(events);
    let events = case.create(2, "me", ttl(60)).unwrap();
    let second = case.begin(events);
    assert_eq!(case.create(3, "me", ttl(60)), Err(ShareRefusal::OwnerFull { most: 2 }));
    let events = case.create(3, "you", ttl(60)).unwrap();
    case.begin(events);
    assert_eq!(case.create(4, "they", ttl(60)), Err(ShareRefusal::Full { most: 3 }));
    case.in_flight.end(second);
    assert!(case.create(4, "they", ttl(60)).is_ok());
}

#[test]
fn due_shares_make_room_before_the_victims_of_the_policy() {
    let (max_shares, at_limit) = (2, AtLimit::NearestDeadline);
    let mut case = SharePolicyCase::new(ShareExpirySettings {
        max_shares,
        at_limit,
        ..ShareExpirySettings::default()
    });
    for (id, seconds) in [(1, 60), (2, 10)] {
        let events = case.create(id, "me", ttl(seconds)).unwrap();
        case.apply(events);
    }
    let evicted = |events: &[ShareEvent]| match events {
        [ShareEvent::Ended { ids, why: ShareEnding::Evicted, .. }, ShareEvent::Created(_)] => {
            ids.clone()
        }
        other => panic!("{other:?}"),
    };
    let events = case.create(3, "me", ttl(90)).unwrap();
    assert_eq!(evicted(&events), [ShareId(2)]);
    let under_way = case.begin(events.clone());
    // The one that goes already makes no room twice.
    assert_eq!(evicted(&case.create(4, "me", ttl(90)).unwrap()), [ShareId(1)]);
    case.in_flight.end(under_way);
    case.now = NOW.after(Duration::from_secs(10));
    let events = case.create(3, "me", ttl(90)).unwrap();
    assert_eq!(events[0], ShareEvent::Reclaimed { ids: vec![ShareId(2)] });
    case.apply(events);
    assert_eq!((case.table.len(), case.table.totals().expired), (2, 1));
    case.apply(vec![ShareEvent::Paused { by: "me".to_owned() }]);
    case.now = NOW.after(Duration::from_secs(60));
    // Also while reclaim is paused: no live share is evicted instead of a due one.
    let events = case.create(4, "me", ttl(90)).unwrap();
    assert_eq!(events[0], ShareEvent::Reclaimed { ids: vec![ShareId(1)] });
}

#[test]
fn due_shares_give_an_owner_room_and_coming_shares_take_it() {
    let mut case = SharePolicyCase::new(ShareExpirySettings {
        max_per_owner: 1,
        ..ShareExpirySettings::default()
    });
    for (id, owner) in [(1, "me"), (2, "you"), (3, "they")] {
        let events = case.create(id, owner, ttl(10)).unwrap();
        case.apply(events);
    }
    assert_eq!(case.create(4, "me", ttl(90)), Err(ShareRefusal::OwnerFull { most: 1 }));
    case.now = NOW.after(Duration::from_secs(10));
    let events = case.create(4, "me", ttl(90)).unwrap();
    assert_eq!(events[0], ShareEvent::Reclaimed { ids: vec![ShareId(1)] });
    let under_way = case.begin(events.clone());
    // The one that goes makes no room twice.
    assert_eq!(case.create(5, "me", ttl(90)), Err(ShareRefusal::OwnerFull { most: 1 }));
    case.in_flight.end(under_way);
    case.apply(events);
    let mine = Some(Some(ShareOwner::new("we").unwrap()));
    let change = NewTerms { owner: mine, ..NewTerms::default() };
    let at = at(&case.table, &case.in_flight, case.now);
    let changed = case.policy.change(ShareId(4), &change, at).unwrap();
    assert!(case.create(6, "we", ttl(90)).is_ok());
    case.begin(changed);
    assert_eq!(case.create(6, "we", ttl(90)), Err(ShareRefusal::OwnerFull { most: 1 }));
}

#[test]
fn a_policy_without_victims_refuses_a_new_share() {
    let mut case = SharePolicyCase::new(ShareExpirySettings {
        max_shares: 1,
        at_limit: AtLimit::NearestDeadline,
        ..ShareExpirySettings::default()
    });
    case.policy.settings.lifetimes.allow_never = true;
    let events = case.create(1, "me", ShareLifetime::Never).unwrap();
    case.apply(events);
    assert_eq!(case.create(2, "me", ttl(60)), Err(ShareRefusal::Full { most: 1 }));
    case.policy.settings.at_limit = AtLimit::LeastUsed;
    assert!(case.create(2, "me", ttl(60)).is_ok());
}

#[test]
fn a_change_sees_the_changes_under_way() {
    let mut case = SharePolicyCase::new(ShareExpirySettings::default());
    let events = case.create(1, "me", ttl(60)).unwrap();
    case.apply(events);
    let longer = case.change(term(ttl(90), Some(OnlyIf::Greater))).unwrap();
    case.begin(longer.clone());
    let deadline = Deadline::at(NOW.after(Duration::from_secs(90)));
    let refused = case.change(term(ttl(80), Some(OnlyIf::Greater)));
    assert_eq!(refused, Err(ShareRefusal::ConditionFails { deadline }));
    let shorter = case.change(term(ttl(80), Some(OnlyIf::Less))).unwrap();
    assert!(matches!(shorter[..], [ShareEvent::Changed { generation: 1, .. }]));
    case.apply([longer, shorter].concat());
    assert_eq!(case.change(NewTerms::default()), Ok(Vec::new()));
    case.now = NOW.after(Duration::from_secs(80));
    let why = ShareEnding::Expired;
    assert_eq!(case.change(term(ttl(60), None)), Err(ShareRefusal::Ended { why }));
}

#[test]
fn a_default_that_changes_moves_nothing() {
    let mut case = SharePolicyCase::new(ShareExpirySettings::default());
    let events = case.create(1, "me", ShareLifetime::Default).unwrap();
    case.apply(events);
    let before = case.table.live_at(ShareId(1), NOW).unwrap();
    case.policy.settings.lifetimes.default_ttl = Some(Duration::from_secs(1));
    assert_eq!(case.upkeep(), []);
    assert_eq!(case.table.live_at(ShareId(1), NOW).unwrap(), before);
}

#[test]
fn a_range_counts_once_for_each_client_until_resuming_ends() {
    let resume_within = Duration::from_secs(10);
    let mut case = SharePolicyCase::new(ShareExpirySettings {
        resume_within,
        ..ShareExpirySettings::default()
    });
    let events = case.create(1, "me", ttl(60)).unwrap();
    case.apply(events);
    let Ok(DownloadDecision::Counts(first)) = case.take(7, true) else { panic!("it counts") };
    let under_way = case.begin(vec![first.clone()]);
    assert_eq!(case.take(7, true), Ok(DownloadDecision::ResumesAfter));
    assert!(matches!(case.take(8, true), Ok(DownloadDecision::Counts(_))));
    case.in_flight.end(under_way);
    case.apply(vec![first]);
    assert_eq!(case.take(7, true), Ok(DownloadDecision::Resumes));
    assert!(matches!(case.take(7, false), Ok(DownloadDecision::Counts(_))));
    case.now = NOW.after(Duration::from_millis(9_999));
    assert_eq!(case.take(7, true), Ok(DownloadDecision::Resumes));
    case.now = NOW.after(Duration::from_secs(10));
    assert!(matches!(case.take(7, true), Ok(DownloadDecision::Counts(_))));
}

/// Whether a request begins the whole of a download that began with a part.
fn begins_whole(taking: &Result<DownloadDecision, ShareRefusal>) -> bool {
    matches!(taking, Ok(DownloadDecision::Counts(ShareEvent::WholeBegun { .. })))
}

#[test]
fn a_download_of_a_part_may_begin_the_whole_once() {
    let mut case = SharePolicyCase::new(ShareExpirySettings::default());
    let events = case.create(1, "me", ttl(60)).unwrap();
    case.apply(events);
    for client in [7, 8] {
        let Ok(DownloadDecision::Counts(probe)) = case.take(client, true) else {
            panic!("it counts")
        };
        case.apply(vec![probe]);
    }
    // None is left, and both may still have all of it.
    let whole = case.take(7, false);
    assert!(begins_whole(&whole), "{whole:?}");
    let Ok(DownloadDecision::Counts(whole)) = whole else { panic!("it goes on record") };
    let under_way = case.begin(vec![whole.clone()]);
    assert_eq!(case.take(7, false), Err(ShareRefusal::Exhausted), "not twice at a time");
    assert_eq!(case.take(7, true), Ok(DownloadDecision::Resumes));
    case.in_flight.end(under_way);
    case.apply(vec![whole]);
    assert_eq!(case.take(7, false), Err(ShareRefusal::Exhausted), "nor later");
    for _ in 0..30 {
        assert_eq!(case.take(7, true), Ok(DownloadDecision::Resumes));
    }
    assert!(begins_whole(&case.take(8, false)));
    assert_eq!(case.take(9, true), Err(ShareRefusal::Exhausted));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any sequence of requests, no more downloads begin than are allowed. No more whole files are sent
    /// than begin, in all and per client. Parts are sent only to clients whose download began within the
    /// time to resume it.
    #[test]
    fn a_limit_cannot_be_stretched(
        most in 1_u32..4,
        asked in prop::collection::vec((0_u64..4, any::<bool>(), 0_u64..8), 1..60),
    ) {
        const WITHIN: Duration = Duration::from_secs(10);
        let mut case = SharePolicyCase::new(ShareExpirySettings { resume_within: WITHIN, ..Default::default() });
        let mut new = new_share(1, "a", i64::MAX - 1);
        new.terms.max_downloads = NonZeroU32::new(most);
        case.apply(vec![ShareEvent::Created(Box::new(new))]);
        let (mut begun, mut wholes): (Vec<(u64, Millis)>, Vec<u64>) = (Vec::new(), Vec::new());
        for (client, part, passes) in asked {
            case.now = case.now.after(Duration::from_secs(passes));
            let taking = case.take(client, part);
            if taking.is_err() {
                continue;
            }
            if let Ok(DownloadDecision::Counts(event)) = taking {
                let taken = |case: &SharePolicyCase| {
                    let taken = |share: &Share| share.downloads().map_or(0, |limit| limit.taken());
                    case.table.look(ShareId(1), taken).unwrap()
                };
                let before = taken(&case);
                case.apply(vec![event]);
                begun.extend((before..taken(&case)).map(|_| (client, case.now)));
            }
            if !part {
                wholes.push(client);
            }
            let of = |client: u64, all: &[u64]| all.iter().filter(|by| **by == client).count();
            let beginners: Vec<u64> = begun.iter().map(|(by, _)| *by).collect();
            prop_assert!(begun.len() <= most as usize);
            prop_assert!(of(client, &wholes) <= of(client, &beginners));
            let is_fresh = |(by, at): &(u64, Millis)| *by == client && case.now < at.after(WITHIN);
            prop_assert!(begun.iter().any(is_fresh));
        }
    }
}

#[test]
fn the_last_download_is_given_once_however_many_ask_at_a_time() {
    let mut case = SharePolicyCase::new(ShareExpirySettings::default());
    let events = case.create(1, "me", ttl(60)).unwrap();
    case.apply(events);
    for client in [1, 2] {
        let Ok(DownloadDecision::Counts(event)) = case.take(client, false) else {
            panic!("it counts")
        };
        case.begin(vec![event]);
    }
    assert_eq!(case.take(3, false), Err(ShareRefusal::Exhausted));
    assert_eq!(case.take(1, true), Ok(DownloadDecision::ResumesAfter));
}

#[test]
fn tombstones_go_when_they_are_too_many_or_too_old() {
    let settings = ShareExpirySettings {
        keep_tombstones: 2,
        keep_tombstones_for: Duration::from_secs(10),
        ..ShareExpirySettings::default()
    };
    let mut case = SharePolicyCase::new(settings);
    for id in 1..=3 {
        let new = new_share(id, "a", NOW.0);
        case.apply(vec![ShareEvent::Created(Box::new(new))]);
    }
    case.apply(vec![ShareEvent::Reclaimed { ids: vec![ShareId(1), ShareId(2)] }]);
    assert_eq!(case.upkeep(), []);
    case.apply(vec![ShareEvent::Reclaimed { ids: vec![ShareId(3)] }]);
    let forgets = |case: &mut SharePolicyCase| match &case.upkeep()[..] {
        [] => None,
        [ShareEvent::Forgot { tombstones_before, .. }] => Some(*tombstones_before),
        other => panic!("{other:?}"),
    };
    assert_eq!(forgets(&mut case), Some(1));
    let events = case.upkeep();
    let under_way = case.begin(events.clone());
    assert_eq!(forgets(&mut case), None);
    case.in_flight.end(under_way);
    case.apply(events);
    case.now = NOW.after(Duration::from_millis(9_999));
    assert_eq!(forgets(&mut case), None);
    case.now = NOW.after(Duration::from_secs(10));
    assert_eq!(forgets(&mut case), Some(3));
}

#[test]
fn notifications_are_kept_until_every_hook_got_them_or_they_are_old() {
    let settings = ShareExpirySettings {
        keep_notifications: 0,
        keep_notifications_for: Duration::from_secs(10),
        hooks: ["fast".to_owned(), "slow".to_owned()].into(),
        ..ShareExpirySettings::default()
    };
    let mut case = SharePolicyCase::new(settings);
    let events = case.upkeep();
    let hook = |hook: &str, up_to| ShareEvent::Delivered { hook: hook.to_owned(), up_to };
    assert_eq!(events, [hook("fast", 0), hook("slow", 0)]);
    case.apply(events);
    for id in 1..=3 {
        let new = new_share(id, "a", NOW.0);
        case.apply(vec![ShareEvent::Created(Box::new(new))]);
    }
    case.apply(vec![ShareEvent::Reclaimed { ids: (1..=3).map(ShareId).collect() }]);
    case.apply(vec![hook("fast", 3), hook("slow", 1)]);
    let forgets = |case: &mut SharePolicyCase| match &case.upkeep()[..] {
        [] => None,
        [ShareEvent::Forgot { notifications_before, hooks, .. }] => {
            Some((*notifications_before, hooks.clone()))
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(forgets(&mut case), Some((1, vec![])));
    case.policy.settings.keep_notifications = 3;
    assert_eq!(forgets(&mut case), None);
    case.now = NOW.after(Duration::from_secs(10));
    assert_eq!(forgets(&mut case), Some((3, vec![])));
    case.now = NOW;
    case.policy.settings.keep_notifications = 0;
    case.policy.settings.hooks.remove("slow");
    assert_eq!(forgets(&mut case), Some((3, vec!["slow".to_owned()])));
}

#[test]
fn shares_of_a_root_that_is_gone_end_in_parts() {
    let mut case = SharePolicyCase::new(ShareExpirySettings::default());
    let count = AT_ONCE as u128 + 1;
    for id in 0..count {
        case.apply(vec![ShareEvent::Created(Box::new(new_share(id, "a", NOW.0 + 9)))]);
    }
    case.policy.settings.roots.clear();
    for left in [1, 0] {
        let events = case.upkeep();
        let under_way = case.begin(events.clone());
        assert_eq!(case.upkeep(), []);
        case.in_flight.end(under_way);
        case.apply(events);
        assert_eq!(case.table.len(), left);
    }
    assert_eq!(case.upkeep(), []);
    assert_eq!(u128::from(case.table.totals().root_gone), count);
}

#[test]
fn a_limit_that_is_lowered_by_many_is_reached_in_parts() {
    let (max_shares, at_limit) = (0, AtLimit::NearestDeadline);
    let mut case = SharePolicyCase::new(ShareExpirySettings {
        max_shares,
        at_limit,
        ..ShareExpirySettings::default()
    });
    for id in 1..=5000_u64 {
        let events = case.create(id.into(), "me", ttl(1000 + id)).unwrap();
        case.apply(events);
    }
    case.policy.settings.max_shares = 100;
    let mut parts = 0;
    while case.table.len() > 100 {
        let events = case.upkeep();
        let [ShareEvent::Ended { ids, why: ShareEnding::Evicted, .. }] = &events[..] else {
            panic!("{} shares, and {events:?}", case.table.len())
        };
        assert!(ids.len() <= AT_ONCE);
        // Commits under way are not repeated.
        let under_way = case.begin(events.clone());
        assert_eq!(case.upkeep(), []);
        case.in_flight.end(under_way);
        case.apply(events);
        parts += 1;
    }
    assert_eq!((parts, case.table.len()), (3, 100));
    assert!(case.table.look(ShareId(4901), |_| ()).is_some(), "the last ones stay");
    assert_eq!(case.upkeep(), []);
    assert!(case.create(9000, "me", ttl(9000)).is_ok());
    case.policy.settings.at_limit = AtLimit::Refuse;
    case.policy.settings.max_shares = 50;
    assert_eq!(case.upkeep(), []);
}

#[test]
fn a_repeated_request_finds_the_download_of_unknown_outcome() {
    let mut case = SharePolicyCase::new(ShareExpirySettings::default());
    let events = case.create(1, "me", ttl(60)).unwrap();
    case.apply(events);
    let ask = |case: &SharePolicyCase, request| {
        let SharePolicyCase { policy, table, in_flight, now, .. } = case;
        let (id, client) = (ShareId(1), ClientKey(7));
        let asked = TakeDownload { id, client, ranged: false, request };
        policy.admit_download(&asked, at(table, in_flight, *now))
    };
    let request = RequestId::random();
    let Ok(DownloadDecision::Counts(event)) = ask(&case, request) else { panic!("it counts") };
    case.in_flight.begin(request, vec![event.clone()]);
    assert_eq!(ask(&case, request), Ok(DownloadDecision::ResumesAfter));
    // It was applied after all.
    case.in_flight.end(request);
    case.apply(vec![event]);
    assert_eq!(ask(&case, request), Ok(DownloadDecision::Counted { left: 1 }));
    assert!(
        matches!(ask(&case, RequestId::random()), Ok(DownloadDecision::Counts(_))),
        "another one"
    );
}
