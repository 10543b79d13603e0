//! The read view of a hook.

use reelyard_core::clock::Millis;

use super::settings::WebhookName;

/// The state of one hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookView {
    /// The configured name.
    pub name: WebhookName,
    /// The URL of the receiver.
    pub url: String,
    /// Whether this node delivers: only the leader does.
    pub is_active: bool,
    /// The number of the first notification that it did not get; none while that is unknown.
    pub delivered_up_to: Option<u64>,
    /// Notifications that are still to be delivered.
    pub backlog: u64,
    /// The time of the oldest notification that is still to be delivered.
    pub oldest: Option<Millis>,
    /// The current fault, if any.
    pub trouble: Option<ReceiverTrouble>,
    /// Counters since the start of the actor.
    pub counters: WebhookCounters,
}

impl WebhookView {
    /// The view of a hook whose actor has not begun.
    pub fn new(name: WebhookName, url: String) -> Self {
        WebhookView {
            name,
            url,
            is_active: false,
            delivered_up_to: None,
            backlog: 0,
            oldest: None,
            trouble: None,
            counters: WebhookCounters::default(),
        }
    }
}

/// The fault of a receiver that accepts nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverTrouble {
    /// The time of the first failure.
    pub since: Millis,
    /// The number of tries so far.
    pub tries: u32,
    /// The time of the last try.
    pub at: Millis,
    /// The time of the next try.
    pub until: Millis,
    /// The error text of the last try.
    pub reason: String,
}

/// Counters of a hook since its actor started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookCounters {
    /// Notifications that the receiver took.
    pub delivered: u64,
    /// When it took the last one.
    pub last_delivered: Option<Millis>,
    /// The number of failed tries.
    pub failed_tries: u64,
    /// Notifications that became too old before they could be delivered.
    pub dropped: u64,
    /// Notifications of kinds that the hook does not get.
    pub passed_over: u64,
}
