//! The next notification of a hook, and the state of its delivery. Pure.
//!
//! **Invariant:** notifications are sent in the order of their numbers, one at a time. The recorded cursor
//! is never ahead of the notifications that were delivered, skipped or dropped.

use std::collections::VecDeque;
use std::time::Duration;

use reelyard_core::clock::Millis;

use super::settings::WebhookSettings;
use super::views::{ReceiverTrouble, WebhookCounters};
use crate::share_expiry::{ShareNotification, ShareNotifications};

/// How many notifications are fetched at a time. The next ones are fetched when at most this many wait.
pub const FETCHED: usize = 500;
const FEW: usize = 100;

/// The shortest time from one move of the cursor to the next.
const RECORD_EVERY: Duration = Duration::from_secs(1);

/// The next action of the actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryStep {
    /// Ask for the cursor of the hook.
    AskCursor,
    /// Fetch notifications from this number on.
    Fetch(u64),
    /// Read notifications from this number on, to count how many must be delivered later.
    Count(u64),
    /// Send this notification.
    Send(Box<ShareNotification>),
    /// Record that everything before this number was delivered.
    Record(u64),
}

/// Why a receiver did not take a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryFailure {
    /// The error text, for operators.
    pub reason: String,
    /// The pause that the receiver requests.
    pub retry_after: Option<Duration>,
}

/// A change of the delivery state that is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryLogEvent {
    /// The receiver accepts nothing any more.
    Fails,
    /// It takes notifications again, after this many failed tries.
    Recovered(u32),
}

/// The state while this node leads.
#[derive(Debug, Default)]
struct DeliveryPosition {
    /// The number of the first notification that was not fetched; none until the cursor is known.
    fetched: Option<u64>,
    /// The recorded cursor.
    recorded: u64,
    /// Fetched notifications to deliver, oldest first.
    waiting: VecDeque<ShareNotification>,
    /// The notifications to deliver are known up to this number, at least as far as they were fetched.
    counted: u64,
    /// The numbers of notifications to deliver that were not fetched yet.
    ahead: VecDeque<u64>,
    asking: bool,
    sending: bool,
    recording: bool,
}

/// The delivery of one hook: its queue and its state.
#[derive(Debug)]
pub struct WebhookDelivery {
    settings: WebhookSettings,
    /// None on a follower, which delivers nothing.
    position: Option<DeliveryPosition>,
    /// The number of the next notification.
    next: u64,
    trouble: Option<ReceiverTrouble>,
    /// When the cursor was last recorded.
    recorded_at: Option<Millis>,
    counters: WebhookCounters,
}

impl WebhookDelivery {
    /// A delivery without a cursor, before the node leads.
    pub fn new(settings: WebhookSettings) -> Self {
        WebhookDelivery {
            settings,
            position: None,
            next: 0,
            trouble: None,
            recorded_at: None,
            counters: WebhookCounters::default(),
        }
    }

    /// Uses other settings from now on. They may repair every fault, so the next try is at once.
    pub fn change_settings(&mut self, settings: WebhookSettings) {
        if let Some(trouble) = &mut self.trouble {
            trouble.until = trouble.at;
        }
        if let Some(position) = &mut self.position {
            position.sending = false;
            // The old settings chose the waiting notifications. The new ones may select skipped ones.
            position.fetched = position.fetched.map(|_| position.delivered_up_to());
            position.counted = position.delivered_up_to();
            position.ahead.clear();
            position.waiting.clear();
            position.asking = false;
        }
        self.settings = settings;
    }

    /// The current settings.
    pub fn settings(&self) -> &WebhookSettings {
        &self.settings
    }

    /// This node leads from now on.
    pub fn begin(&mut self) {
        self.position = Some(DeliveryPosition::default());
        self.trouble = None;
        self.recorded_at = None;
    }

    /// This node no longer leads.
    pub fn end(&mut self) {
        self.position = None;
        self.trouble = None;
    }

    /// Whether this node leads.
    pub fn is_active(&self) -> bool {
        self.position.is_some()
    }

    /// The number of the next notification.
    pub fn set_next_number(&mut self, next: u64) {
        self.next = next;
    }

    /// The recorded cursor of the hook; none while it is unknown.
    pub fn set_cursor(&mut self, cursor: Option<u64>) {
        let Some(position) = &mut self.position else { return };
        position.asking = false;
        if position.fetched.is_none() {
            position.fetched = cursor;
            position.recorded = cursor.unwrap_or(0);
            position.counted = position.recorded;
        }
    }

    /// The fetched notifications; none when the fetch failed.
    pub fn fetched(&mut self, from: u64, fetched: Option<ShareNotifications>) {
        let Some(position) = &mut self.position else { return };
        // An answer to a request with old settings, or from another epoch.
        if position.fetched != Some(from) {
            return;
        }
        position.asking = false;
        let Some(ShareNotifications { notifications, next }) = fetched else { return };
        let first = notifications.first().map_or(next, |first| first.number);
        // Missing notifications were too old and were dropped.
        let lost = position.ahead.iter().take_while(|number| **number < first).count();
        self.counters.dropped += lost as u64 + first.saturating_sub(position.counted);
        position.counted = position.counted.max(next);
        while position.ahead.front().is_some_and(|front| *front < next) {
            position.ahead.pop_front();
        }
        let (kinds, counters) = (&self.settings.kinds, &mut self.counters);
        let wanted = notifications.into_iter().filter(|one| {
            let is_wanted = kinds.contains(&one.what);
            counters.passed_over += u64::from(!is_wanted);
            is_wanted
        });
        position.waiting.extend(wanted);
        position.fetched = Some(next);
    }

    /// The notifications to count; none when the look failed.
    pub fn counted(&mut self, from: u64, looked_at: Option<ShareNotifications>) {
        let Some(position) = &mut self.position else { return };
        if position.counted != from {
            return;
        }
        position.asking = false;
        let Some(ShareNotifications { notifications, next }) = looked_at else { return };
        let first = notifications.first().map_or(next, |first| first.number);
        // It is unknown which of them had to be delivered.
        self.counters.dropped += first.saturating_sub(from);
        let wanted = notifications.iter().filter(|one| self.settings.kinds.contains(&one.what));
        position.ahead.extend(wanted.map(|one| one.number));
        position.counted = next;
    }

    /// The outcome of a sent notification.
    pub fn sent(
        &mut self,
        number: u64,
        result: Result<(), DeliveryFailure>,
        now: Millis,
        seed: u64,
    ) -> Option<DeliveryLogEvent> {
        let position = self.position.as_mut()?;
        if !position.sending || position.waiting.front().map(|front| front.number) != Some(number) {
            return None;
        }
        position.sending = false;
        match result {
            Ok(()) => {
                position.waiting.pop_front();
                self.counters.delivered += 1;
                self.counters.last_delivered = Some(now);
                self.trouble.take().map(|trouble| DeliveryLogEvent::Recovered(trouble.tries))
            }
            Err(failure) => {
                self.counters.failed_tries += 1;
                let before = self.trouble.take();
                let tries = before.as_ref().map_or(0, |trouble| trouble.tries) + 1;
                let cool_down = self.settings.cool_down;
                let wished = failure.retry_after.unwrap_or_default().min(cool_down.cap);
                let pause = cool_down.jittered(tries, seed).max(wished);
                self.trouble = Some(ReceiverTrouble {
                    since: before.as_ref().map_or(now, |trouble| trouble.since),
                    tries,
                    at: now,
                    until: now.after(pause),
                    reason: failure.reason,
                });
                before.is_none().then_some(DeliveryLogEvent::Fails)
            }
        }
    }

    /// The outcome of recording the cursor.
    pub fn recorded(&mut self, up_to: u64, is_on_record: bool) {
        let Some(position) = &mut self.position else { return };
        position.recording = false;
        if is_on_record {
            position.recorded = position.recorded.max(up_to);
        }
    }

    /// The actions that are due at `now`. The caller carries out each once, and reports its result.
    pub fn steps(&mut self, now: Millis) -> Vec<DeliveryStep> {
        self.drop_old(now);
        let is_left_alone = self.trouble.as_ref().is_some_and(|trouble| trouble.holds(now));
        let may_record = self.recorded_at.is_none_or(|at| !within(at, RECORD_EVERY, now));
        let (next, chooses) = (self.next, self.settings.chooses());
        let Some(position) = &mut self.position else { return Vec::new() };
        let mut steps = Vec::new();
        match position.fetched {
            None if !position.asking => {
                position.asking = true;
                steps.push(DeliveryStep::AskCursor);
            }
            Some(from) if !position.asking && from < next && position.waiting.len() <= FEW => {
                position.asking = true;
                steps.push(DeliveryStep::Fetch(from));
            }
            Some(_) if !position.asking && chooses && position.counted < next => {
                position.asking = true;
                steps.push(DeliveryStep::Count(position.counted));
            }
            _ => {}
        }
        if let Some(front) = position.waiting.front().filter(|_| !position.sending)
            && !is_left_alone
        {
            steps.push(DeliveryStep::Send(Box::new(front.clone())));
            position.sending = true;
        }
        let delivered = position.delivered_up_to();
        if delivered > position.recorded && !position.recording && may_record {
            position.recording = true;
            self.recorded_at = Some(now);
            steps.push(DeliveryStep::Record(delivered));
        }
        steps
    }

    /// When the next action is due if nothing else happens.
    pub fn wake_at(&self) -> Option<Millis> {
        let position = self.position.as_ref()?;
        let may_send = !position.sending && !position.waiting.is_empty();
        let retry = self.trouble.as_ref().filter(|_| may_send).map(|trouble| trouble.until);
        let may_record = !position.recording && position.delivered_up_to() > position.recorded;
        let record = self.recorded_at.filter(|_| may_record).map(|at| at.after(RECORD_EVERY));
        [retry, record].into_iter().flatten().min()
    }

    /// Old notifications are no longer sent. The running request may still succeed.
    fn drop_old(&mut self, now: Millis) {
        let Some(position) = self.position.as_mut().filter(|position| !position.sending) else {
            return;
        };
        let is_old = |one: &ShareNotification| now >= one.at.after(self.settings.age_limit);
        while position.waiting.front().is_some_and(is_old) {
            position.waiting.pop_front();
            self.counters.dropped += 1;
        }
    }

    /// Counters since the process started.
    pub fn counters(&self) -> WebhookCounters {
        self.counters
    }

    /// The current fault, if any.
    pub fn trouble(&self) -> Option<&ReceiverTrouble> {
        self.trouble.as_ref()
    }

    /// The number of the first notification that the hook did not get; none while it is unknown.
    pub fn delivered_up_to(&self) -> Option<u64> {
        let position = self.position.as_ref()?;
        position.fetched.map(|_| position.delivered_up_to())
    }

    /// How many notifications must still be delivered. Notifications that were not read yet count as well.
    pub fn backlog(&self) -> u64 {
        let known = self.position.as_ref().filter(|position| position.fetched.is_some());
        known.map_or(0, |position| {
            let known = position.waiting.len() + position.ahead.len();
            known as u64 + self.next.saturating_sub(position.counted)
        })
    }

    /// The time of the oldest notification that is still to be delivered.
    pub fn oldest(&self) -> Option<Millis> {
        Some(self.position.as_ref()?.waiting.front()?.at)
    }
}

impl DeliveryPosition {
    /// The number of the first notification that was not delivered.
    fn delivered_up_to(&self) -> u64 {
        let fetched = self.fetched.unwrap_or(0);
        self.waiting.front().map_or(fetched, |front| front.number)
    }
}

impl ReceiverTrouble {
    /// Whether the receiver gets nothing at `now`. A clock that was set back makes no pause longer.
    fn holds(&self, now: Millis) -> bool {
        self.at <= now && now < self.until
    }
}

/// Whether `now` is less than `length` behind `at`.
fn within(at: Millis, length: Duration, now: Millis) -> bool {
    at <= now && now < at.after(length)
}
