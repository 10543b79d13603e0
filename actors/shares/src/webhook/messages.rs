//! The messages of a webhook's actor.

use actix::Message;
use reqwest::Client;

use super::settings::WebhookSettings;

/// Uses these settings from now on, and at once retries deliveries that failed with the old
/// ones.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeWebhookSettings {
    /// The new settings of the hook.
    pub settings: WebhookSettings,
    /// The HTTP client for its receiver.
    pub http: Client,
}
