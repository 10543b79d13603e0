use std::time::Duration;

use reelyard_core::clock::Millis;

use super::delivery::{DeliveryFailure, DeliveryLogEvent, DeliveryStep, WebhookDelivery};
use super::settings::WebhookSettings;
use super::signature::WebhookSecret;
use crate::share_expiry::{
    Deadline, RootName, ShareEnding, ShareId, ShareNotification, ShareNotificationKind,
    ShareNotifications, SharePath,
};

const START: i64 = 1_700_000_000_000;
const AGE: Duration = Duration::from_secs(86_400);

fn at(seconds: f64) -> Millis {
    Millis(START + (seconds * 1000.0) as i64)
}

pub(super) fn settings(kinds: &[ShareNotificationKind]) -> WebhookSettings {
    WebhookSettings {
        url: "http://127.0.0.1:1/hook".parse().unwrap(),
        secret: WebhookSecret::new("0123456789abcdef").unwrap(),
        kinds: kinds.to_vec(),
        timeout: WebhookSettings::TIMEOUT,
        cool_down: WebhookSettings::COOL_DOWN,
        age_limit: AGE,
    }
}

const EXPIRED: ShareNotificationKind = ShareNotificationKind::Ended(ShareEnding::Expired);

pub(super) fn notification(number: u64, what: ShareNotificationKind) -> ShareNotification {
    let deadline = Deadline::at(at(number as f64));
    ShareNotification {
        number,
        id: "AAAAAAAAAAAAAAAAAAAAAA".parse::<ShareId>().unwrap(),
        at: at(0.0),
        what,
        root: RootName::new("films").unwrap(),
        path: SharePath::new("a.mpg").unwrap(),
        owner: None,
        note: None,
        deadline,
        due: deadline,
        by: None,
    }
}

fn notifications(numbers: std::ops::Range<u64>) -> Option<ShareNotifications> {
    let next = numbers.end;
    Some(ShareNotifications {
        notifications: numbers.map(|n| notification(n, EXPIRED)).collect(),
        next,
    })
}

/// A hook with everything before `cursor` delivered, of `next` notifications, and the rest fetched.
fn delivery_at(cursor: u64, next: u64) -> WebhookDelivery {
    let all: Vec<ShareNotificationKind> = ShareNotificationKind::all().collect();
    let mut delivery = WebhookDelivery::new(settings(&all));
    delivery.begin();
    delivery.set_next_number(next);
    assert_eq!(delivery.steps(at(0.0)), [DeliveryStep::AskCursor]);
    delivery.set_cursor(Some(cursor));
    if cursor < next {
        assert_eq!(delivery.steps(at(0.0)), [DeliveryStep::Fetch(cursor)]);
        delivery.fetched(cursor, notifications(cursor..next));
    }
    delivery
}

/// The numbers of the notifications to send, and of the cursors to record.
fn of(steps: Vec<DeliveryStep>) -> (Vec<u64>, Vec<u64>) {
    let (mut sent, mut recorded) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            DeliveryStep::Send(notification) => sent.push(notification.number),
            DeliveryStep::Record(up_to) => recorded.push(up_to),
            other => panic!("{other:?} was not to be done"),
        }
    }
    (sent, recorded)
}

fn refused(retry_after: Option<u64>) -> Result<(), DeliveryFailure> {
    let retry_after = retry_after.map(Duration::from_secs);
    Err(DeliveryFailure { reason: "the receiver answered 500".to_owned(), retry_after })
}

#[test]
fn notifications_are_sent_in_order_and_the_cursor_moves_once_a_second() {
    let mut delivery = delivery_at(5, 8);
    assert_eq!(of(delivery.steps(at(0.0))), (vec![5], vec![]));
    assert_eq!(of(delivery.steps(at(0.0))), (vec![], vec![]), "one at a time");
    assert_eq!(delivery.sent(5, Ok(()), at(0.1), 0), None);
    assert_eq!(of(delivery.steps(at(0.1))), (vec![6], vec![6]), "the first move is at once");
    delivery.recorded(6, true);
    delivery.sent(6, Ok(()), at(0.2), 0);
    assert_eq!(of(delivery.steps(at(0.2))), (vec![7], vec![]));
    delivery.sent(7, Ok(()), at(0.3), 0);
    assert_eq!(of(delivery.steps(at(1.099))), (vec![], vec![]));
    assert_eq!(delivery.wake_at(), Some(at(1.1)));
    assert_eq!(of(delivery.steps(at(1.1))), (vec![], vec![8]));
    assert_eq!(delivery.wake_at(), None, "no work is left until the next notification");
    delivery.recorded(8, false);
    assert_eq!(of(delivery.steps(at(2.1))), (vec![], vec![8]), "what failed is done again");
    delivery.recorded(8, true);
    assert_eq!((delivery.delivered_up_to(), delivery.backlog()), (Some(8), 0));
    assert_eq!(delivery.counters().delivered, 3);
    assert_eq!(of(delivery.steps(at(9.0))), (vec![], vec![]));
}

#[test]
fn a_failed_delivery_backs_off_and_nothing_overtakes_it() {
    let mut delivery = delivery_at(0, 2);
    let mut now = 0.0;
    let mut pauses = Vec::new();
    for turn in 0..16 {
        assert_eq!(of(delivery.steps(at(now))).0, [0], "turn {turn}");
        let news = delivery.sent(0, refused(None), at(now), 7);
        assert_eq!(news, (turn == 0).then_some(DeliveryLogEvent::Fails), "logged once");
        let until = delivery.wake_at().unwrap();
        assert_eq!(of(delivery.steps(Millis(until.0 - 1))), (vec![], vec![]));
        pauses.push(until.since(at(now)).as_secs_f64());
        now = (until.0 - START) as f64 / 1000.0;
    }
    assert!(pauses[0] >= 0.9 && pauses[0] <= 1.0, "{pauses:?}");
    assert!(pauses[5] >= 28.8 && pauses[5] <= 32.0, "{pauses:?}");
    assert!(pauses[15] >= 3240.0 && pauses[15] <= 3600.0, "{pauses:?}");
    assert_eq!(of(delivery.steps(at(now))).0, [0]);
    assert_eq!(delivery.trouble().map(|trouble| trouble.since), Some(at(0.0)));
    assert_eq!(delivery.sent(0, Ok(()), at(now), 7), Some(DeliveryLogEvent::Recovered(16)));
    assert_eq!(of(delivery.steps(at(now))).0, [1], "and on at once");
    assert_eq!(delivery.counters().failed_tries, 16);
}

#[test]
fn a_receiver_may_only_lengthen_the_pause_to_at_most_an_hour() {
    for (wished, least, most) in [(30, 30.0, 30.0), (0, 0.9, 1.0), (1 << 40, 3600.0, 3600.0)] {
        let mut delivery = delivery_at(0, 1);
        delivery.steps(at(0.0));
        delivery.sent(0, refused(Some(wished)), at(0.0), 3);
        let pause = delivery.wake_at().unwrap().since(at(0.0)).as_secs_f64();
        assert!(pause >= least && pause <= most, "{wished}: {pause}");
    }
}

#[test]
fn old_notifications_are_dropped_and_counted_and_the_next_are_sent() {
    let mut delivery = delivery_at(0, 2);
    let mut young = notification(2, EXPIRED);
    young.at = at(5.0);
    delivery.set_next_number(3);
    assert_eq!(delivery.steps(at(0.0)).len(), 2);
    delivery.fetched(2, Some(ShareNotifications { notifications: vec![young], next: 3 }));
    delivery.sent(0, refused(None), at(0.0), 0);
    let age = AGE.as_secs_f64();
    assert_eq!(of(delivery.steps(at(age - 0.001))).0, [0], "still young enough");
    delivery.sent(0, refused(None), at(age - 0.001), 0);
    assert_eq!(of(delivery.steps(at(age))), (vec![], vec![2]));
    assert_eq!(delivery.counters().dropped, 2);
    assert_eq!(delivery.oldest(), Some(at(5.0)));
    let retry = delivery.wake_at().unwrap();
    assert_eq!(of(delivery.steps(retry)).0, [2]);
}

#[test]
fn notifications_forgotten_before_the_fetch_count_as_dropped() {
    let mut delivery = delivery_at(3, 3);
    delivery.set_next_number(10);
    assert_eq!(delivery.steps(at(0.0)), [DeliveryStep::Fetch(3)]);
    delivery.fetched(3, notifications(7..10));
    assert_eq!((delivery.counters().dropped, delivery.delivered_up_to()), (4, Some(7)));
    let mut delivery = delivery_at(3, 3);
    delivery.set_next_number(10);
    delivery.steps(at(0.0));
    delivery.fetched(3, notifications(10..10));
    assert_eq!((delivery.counters().dropped, delivery.delivered_up_to()), (7, Some(10)));
}

#[test]
fn unwanted_notifications_are_skipped_and_the_cursor_moves() {
    let mut delivery =
        WebhookDelivery::new(settings(&[ShareNotificationKind::Ended(ShareEnding::Revoked)]));
    delivery.begin();
    delivery.set_next_number(3);
    delivery.steps(at(0.0));
    delivery.set_cursor(Some(0));
    delivery.steps(at(0.0));
    let mixed = [
        EXPIRED,
        ShareNotificationKind::Ended(ShareEnding::Revoked),
        ShareNotificationKind::Notice,
    ];
    let mixed = (0..).zip(mixed).map(|(number, what)| notification(number, what)).collect();
    delivery.fetched(0, Some(ShareNotifications { notifications: mixed, next: 3 }));
    assert_eq!(of(delivery.steps(at(0.0))), (vec![1], vec![1]));
    delivery.recorded(1, true);
    delivery.sent(1, Ok(()), at(0.0), 0);
    assert_eq!(of(delivery.steps(at(1.0))), (vec![], vec![3]));
    assert_eq!(delivery.counters().passed_over, 2);
}

#[test]
fn other_settings_are_tried_at_once() {
    let mut delivery = delivery_at(0, 2);
    delivery.steps(at(0.0));
    for _ in 0..5 {
        delivery.sent(0, refused(Some(600)), at(0.0), 0);
    }
    delivery.change_settings(settings(&[EXPIRED]));
    assert_eq!(delivery.steps(at(0.0)), [DeliveryStep::Fetch(0)], "chosen again");
    delivery.fetched(0, notifications(0..2));
    assert_eq!(of(delivery.steps(at(0.0))).0, [0]);
    assert_eq!(delivery.sent(0, Ok(()), at(0.0), 0), Some(DeliveryLogEvent::Recovered(1)));
}

#[test]
fn a_follower_sends_nothing_and_a_new_leader_begins_at_the_cursor() {
    let mut delivery = delivery_at(0, 2);
    delivery.steps(at(0.0));
    delivery.end();
    assert_eq!(delivery.sent(0, Ok(()), at(0.0), 0), None, "nobody's business any more");
    delivery.set_next_number(5);
    assert!(delivery.steps(at(0.0)).is_empty() && delivery.delivered_up_to().is_none());
    delivery.begin();
    assert_eq!(delivery.steps(at(0.0)), [DeliveryStep::AskCursor]);
    delivery.set_cursor(None);
    assert_eq!(
        delivery.steps(at(0.0)),
        [DeliveryStep::AskCursor],
        "a new hook's is not there at once"
    );
    delivery.set_cursor(Some(1));
    assert_eq!(delivery.steps(at(0.0)), [DeliveryStep::Fetch(1)]);
}

#[test]
fn a_clock_that_is_set_back_makes_no_pause_longer() {
    let mut delivery = delivery_at(0, 1);
    delivery.steps(at(0.0));
    delivery.sent(0, refused(Some(60)), at(0.0), 0);
    assert_eq!(of(delivery.steps(at(-7200.0))).0, [0]);
}

#[test]
fn only_wanted_notifications_count_as_backlog_or_dropped() {
    let revoked = ShareNotificationKind::Ended(ShareEnding::Revoked);
    let some = |numbers: std::ops::Range<u64>| {
        let next = numbers.end;
        let kind = |number: u64| if number.is_multiple_of(10) { revoked } else { EXPIRED };
        Some(ShareNotifications {
            notifications: numbers.map(|n| notification(n, kind(n))).collect(),
            next,
        })
    };
    let mut delivery = WebhookDelivery::new(settings(&[revoked]));
    delivery.begin();
    delivery.set_next_number(4000);
    delivery.steps(at(0.0));
    delivery.set_cursor(Some(0));
    assert_eq!(delivery.steps(at(0.0)), [DeliveryStep::Fetch(0)]);
    delivery.fetched(0, some(0..2000));
    // So much waits that no more is fetched, but looked at.
    let steps = delivery.steps(at(0.0));
    assert_eq!(steps[0], DeliveryStep::Count(2000));
    delivery.counted(2000, some(2000..4000));
    assert_eq!(delivery.backlog(), 400);
    assert_eq!(delivery.steps(at(0.0)), []);
    // All that waits grows too old, and of the rest the first thousand are forgotten meanwhile.
    delivery.sent(0, refused(None), at(0.0), 0);
    assert_eq!(delivery.steps(at(AGE.as_secs_f64()))[0], DeliveryStep::Fetch(2000));
    assert_eq!((delivery.counters().dropped, delivery.backlog()), (200, 200));
    delivery.fetched(2000, some(3000..4000));
    assert_eq!((delivery.counters().dropped, delivery.backlog()), (300, 100));
}
