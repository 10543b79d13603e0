//! Webhooks, as the API shows them.

use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::webhook::{ReceiverTrouble, WebhookView};

/// How a webhook stands. Counts are those of the node that answers, since its start or that of the
/// webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HookShown {
    /// Its name in the configuration.
    pub name: String,
    /// Where its receiver is.
    pub url: String,
    /// Whether this node tells it: only the leader does.
    pub tells: bool,
    /// The number of the first happening that it was not told. Missing while that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_up_to: Option<u64>,
    /// Happenings that it is to be told and was not yet.
    pub backlog: u64,
    /// When the oldest of those happened that it is to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Millis>,
    /// What is wrong, while it takes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<HookFailing>,
    /// Happenings that it took.
    pub delivered: u64,
    /// When it took the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_delivered: Option<Millis>,
    /// Tries that failed.
    pub failed_tries: u64,
    /// Happenings that were too old to be told before they could be.
    pub dropped: u64,
    /// Happenings of kinds that it is not told of.
    pub passed_over: u64,
}

/// What is wrong with a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HookFailing {
    /// Since when.
    pub since: Millis,
    /// How often it was tried in vain.
    pub tries: u32,
    /// When it is tried again.
    pub tried_again: Millis,
    /// What went wrong last.
    pub reason: String,
}

impl From<&WebhookView> for HookShown {
    fn from(view: &WebhookView) -> Self {
        let WebhookView { name, url, tells, told, backlog, oldest, trouble, counters } =
            view.clone();
        HookShown {
            name: name.to_string(),
            url,
            tells,
            told_up_to: told,
            backlog,
            oldest,
            failing: trouble.map(HookFailing::from),
            delivered: counters.delivered,
            last_delivered: counters.last_delivered,
            failed_tries: counters.failed_tries,
            dropped: counters.dropped,
            passed_over: counters.passed_over,
        }
    }
}

impl From<ReceiverTrouble> for HookFailing {
    fn from(trouble: ReceiverTrouble) -> Self {
        let ReceiverTrouble { since, tries, until: tried_again, reason, .. } = trouble;
        HookFailing { since, tries, tried_again, reason }
    }
}
