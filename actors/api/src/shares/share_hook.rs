//! Webhooks, as the API shows them.

use reelyard_core::clock::Millis;
use reelyard_shares::webhook::{ReceiverTrouble, WebhookView};
use serde::{Deserialize, Serialize};

/// State of a webhook. The counters are those of the answering node, since its start or since the
/// webhook was configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HookInfo {
    /// Its name in the configuration.
    pub name: String,
    /// URL of the receiver.
    pub url: String,
    /// Whether this node sends to the webhook: only the leader does.
    #[serde(rename = "tells")]
    pub is_active: bool,
    /// Number of the first notification that is not delivered yet. Missing while that is not known.
    #[serde(rename = "told_up_to", default, skip_serializing_if = "Option::is_none")]
    pub delivered_up_to: Option<u64>,
    /// Notifications that wait for delivery.
    pub backlog: u64,
    /// Time of the oldest notification that waits for delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Millis>,
    /// Current failure. Missing while deliveries succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<HookFailing>,
    /// Notifications that the receiver accepted.
    pub delivered: u64,
    /// Time of the last accepted notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_delivered: Option<Millis>,
    /// Attempts to deliver that failed.
    pub failed_tries: u64,
    /// Notifications that became too old before the node could deliver them.
    pub dropped: u64,
    /// Notifications of kinds that this webhook does not get.
    pub passed_over: u64,
}

/// Failure of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HookFailing {
    /// Time of the first failure in a row.
    pub since: Millis,
    /// Number of failed attempts in a row.
    pub tries: u32,
    /// Time of the next attempt.
    pub tried_again: Millis,
    /// Error of the last try.
    pub reason: String,
}

impl From<&WebhookView> for HookInfo {
    fn from(view: &WebhookView) -> Self {
        let WebhookView {
            name,
            url,
            is_active,
            delivered_up_to,
            backlog,
            oldest,
            trouble,
            counters,
        } = view.clone();
        HookInfo {
            name: name.to_string(),
            url,
            is_active,
            delivered_up_to,
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
