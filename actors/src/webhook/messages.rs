//! The face of a hook's actor.

use actix::Message;
use reqwest::Client;

use super::settings::WebhookSettings;

/// Goes by these settings from now on, and tries at once what could not be told by the former.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeWebhookSettings {
    /// The settings.
    pub settings: WebhookSettings,
    /// The client that it is told by.
    pub http: Client,
}
