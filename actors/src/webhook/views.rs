//! What there is to see of a hook.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::settings::WebhookName;
use crate::clock::Millis;

/// Where a hook is shown. Outlives a restart of its actor.
pub type WebhookViewHandle = Arc<ArcSwap<WebhookView>>;

/// How a hook stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookView {
    /// Which.
    pub name: WebhookName,
    /// Where its receiver is.
    pub url: String,
    /// Whether this node tells it: only the leader does.
    pub tells: bool,
    /// The number of the first happening that it was not told; none while that is not known.
    pub told: Option<u64>,
    /// Happenings that it is to be told and was not yet.
    pub backlog: u64,
    /// When the oldest happened that it is to be told.
    pub oldest: Option<Millis>,
    /// What is wrong, while something is.
    pub trouble: Option<ReceiverTrouble>,
    /// What was counted.
    pub counters: WebhookCounters,
}

impl WebhookView {
    /// Of a hook whose actor has not begun.
    pub fn new(name: WebhookName, url: String) -> Self {
        WebhookView {
            name,
            url,
            tells: false,
            told: None,
            backlog: 0,
            oldest: None,
            trouble: None,
            counters: WebhookCounters::default(),
        }
    }
}

/// That a receiver takes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverTrouble {
    /// Since when.
    pub since: Millis,
    /// How often it was tried.
    pub tries: u32,
    /// When it was last tried.
    pub at: Millis,
    /// When it is tried again.
    pub until: Millis,
    /// What went wrong last.
    pub reason: String,
}

/// What was counted of a hook since its actor started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookCounters {
    /// Happenings that the receiver took.
    pub delivered: u64,
    /// When it took the last one.
    pub last_delivered: Option<Millis>,
    /// Tries that failed.
    pub failed_tries: u64,
    /// Happenings that were too old to be told before they could be.
    pub dropped: u64,
    /// Happenings of kinds that it is not told of.
    pub passed_over: u64,
}
