//! Decisions while a step of the wall clock is not confirmed.

use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::{InFlight, Piece};

use super::downloads::DownloadDecision;
use crate::share_expiry::messages::{CreateShare, NewTerms, TakeDownload};
use crate::share_expiry::policy::decision_context::ShareDecisionContext;
use crate::share_expiry::policy::memory::SharePolicy;
use crate::share_expiry::samples::{path, root};
use crate::share_expiry::settings::AllowedLifetimes;
use crate::share_expiry::settings::ShareExpirySettings;
use crate::share_expiry::state::event::{ShareEvent, ShareRefusal};
use crate::share_expiry::state::table::share::ClientKey;
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::bad_lifetime::BadLifetime;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::share_lifetime::ShareLifetime;
use crate::share_expiry::state::values::share_terms::ShareTerms;
use crate::share_expiry::state::values::value_types::{Deadline, ShareKind};

const NOW: Millis = Millis(1_000_000_000);
const AHEAD: Duration = Duration::from_secs(7200);
const HOLD: Duration = Duration::from_secs(900);
const MOST: Duration = Duration::from_secs(30_000);
const UNCONFIRMED: ShareRefusal =
    ShareRefusal::ClockUnconfirmed { ahead: AHEAD, confirmed_in: HOLD };

fn policy() -> SharePolicy {
    let lifetimes = AllowedLifetimes {
        max_ttl: Some(MOST),
        allow_never: true,
        ..ShareExpirySettings::default().lifetimes
    };
    let default_ttl = Some(Duration::from_secs(20_000));
    let lifetimes = AllowedLifetimes { default_ttl, ..lifetimes };
    SharePolicy::new(ShareExpirySettings {
        roots: [root()].into(),
        lifetimes,
        ..ShareExpirySettings::default()
    })
}

fn film(term: ShareLifetime) -> CreateShare {
    CreateShare {
        root: root(),
        path: path("a"),
        kind: ShareKind::File,
        looked: None,
        lifetime: term,
        owner: None,
        terms: ShareTerms::default(),
        asked_by: "me".to_owned(),
        request: None,
    }
}

fn at<'a>(
    table: &'a ShareTable,
    in_flight: &'a InFlight<ShareEvent>,
    latest: Millis,
) -> ShareDecisionContext<'a> {
    let confirmed_in = if latest == NOW { Duration::ZERO } else { HOLD };
    ShareDecisionContext { table, in_flight, now: NOW, latest, confirmed_in }
}

/// The deadline of a share that is created while the wall clock shows `latest`.
fn created(term: ShareLifetime, latest: Millis) -> Result<Deadline, ShareRefusal> {
    let (table, in_flight) = (ShareTable::default(), InFlight::default());
    let events = policy().create(&film(term), ShareId(1), at(&table, &in_flight, latest))?;
    let Some(ShareEvent::Created(new)) = events.last() else { panic!("{events:?}") };
    Ok(new.deadline)
}

/// The deadline of a share of `MOST` that is changed then.
fn changed(term: ShareLifetime, latest: Millis) -> Result<Deadline, ShareRefusal> {
    let (mut table, in_flight) = (ShareTable::default(), InFlight::default());
    for event in
        policy().create(&film(ShareLifetime::Ttl(MOST)), ShareId(1), at(&table, &in_flight, NOW))?
    {
        table.apply(NOW, &event).unwrap();
    }
    let change = NewTerms { lifetime: Some(term), ..NewTerms::default() };
    let events = policy().change(ShareId(1), &change, at(&table, &in_flight, latest))?;
    let Some(ShareEvent::Changed { changes, .. }) = events.last() else { panic!("{events:?}") };
    Ok(changes.deadline.expect("it is changed").deadline)
}

#[test]
fn a_ttl_is_refused_while_a_step_is_not_confirmed() {
    let latest = NOW.after(AHEAD);
    for term in [
        ShareLifetime::Default,
        ShareLifetime::Ttl(Duration::from_secs(60)),
        ShareLifetime::Ttl(MOST),
    ] {
        assert!(created(term, NOW).is_ok() && changed(term, NOW).is_ok(), "{term:?}");
        assert_eq!(created(term, latest), Err(UNCONFIRMED), "{term:?}");
        assert_eq!(changed(term, latest), Err(UNCONFIRMED), "{term:?}");
    }
    let text = UNCONFIRMED.to_string();
    assert!(text.contains("2h ahead") && text.contains("wait 15m"), "{text}");
    assert!(text.contains("reelyard share confirm-clock"), "{text}");
}

#[test]
fn an_instant_is_a_deadline_if_both_clocks_allow_it() {
    let latest = NOW.after(AHEAD);
    let until = |instant| ShareLifetime::At(instant);
    for (instant, allowed) in [
        (NOW.after(Duration::from_secs(60)), false),
        (latest, false),
        (latest.after(Duration::from_secs(1)), true),
        (NOW.after(MOST), true),
        (NOW.after(MOST + Duration::from_millis(1)), false),
        (latest.after(MOST), false),
    ] {
        let expected = if allowed { Ok(Deadline::at(instant)) } else { Err(UNCONFIRMED) };
        assert_eq!(created(until(instant), latest), expected, "{instant}");
        assert_eq!(changed(until(instant), latest), expected, "{instant}");
    }
    assert_eq!(created(ShareLifetime::Never, latest), Ok(Deadline::NEVER));
    let too_long = Err(ShareRefusal::Terms(BadLifetime::TooLong { most: MOST }));
    assert_eq!(created(until(latest.after(MOST + AHEAD)), latest), too_long, "by either clock");
}

#[test]
fn a_download_may_be_resumed_by_the_latest_time() {
    let (mut table, in_flight) = (ShareTable::default(), InFlight::default());
    let limited = CreateShare {
        terms: ShareTerms { max_downloads: NonZeroU32::new(2), ..ShareTerms::default() },
        ..film(ShareLifetime::Ttl(Duration::from_secs(20_000)))
    };
    for event in policy().create(&limited, ShareId(1), at(&table, &in_flight, NOW)).unwrap() {
        table.apply(NOW, &event).unwrap();
    }
    let latest = NOW.after(AHEAD);
    let within = policy().settings.resume_within;
    for ranged in [false, true] {
        let (id, client, request) = (ShareId(1), ClientKey(7), RequestId::random());
        let asked = TakeDownload { id, client, ranged, request };
        let taken = policy().admit_download(&asked, at(&table, &in_flight, latest));
        let Ok(DownloadDecision::Counts(
            ShareEvent::Taken { resume_until, forget_before, .. }
            | ShareEvent::TakenInPart { resume_until, forget_before, .. },
        )) = taken
        else {
            panic!("{taken:?}")
        };
        assert_eq!(resume_until, latest.after(within), "links are refused by the latest time");
        assert_eq!(
            forget_before,
            NOW.before(within),
            "what is forgotten goes by the confirmed one"
        );
    }
}

proptest! {
    /// While a step is not confirmed, no link lasts longer than `max_ttl` by either clock.
    #[test]
    fn no_link_outlasts_max_ttl_by_either_clock(
        ahead in 0_u64..100_000_000,
        ms in 0_u64..100_000_000,
        kind in 0_u8..3,
    ) {
        let latest = NOW.after(Duration::from_millis(ahead));
        let term = match kind {
            0 => ShareLifetime::Ttl(Duration::from_millis(ms)),
            1 => ShareLifetime::At(NOW.after(Duration::from_millis(ms))),
            _ => ShareLifetime::Default,
        };
        if let Ok(deadline) = created(term, latest) {
            let instant = deadline.instant().expect("the term is not endless");
            prop_assert!(instant <= NOW.after(MOST) && instant > latest);
        }
    }
}
