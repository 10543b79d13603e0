#![doc = include_str!("README.md")]

mod actor;
mod call;
mod delivery;
#[cfg(test)]
mod delivery_tests;
mod hook_table;
mod messages;
mod settings;
mod signature;
mod views;

pub use actor::{Webhook, WebhookCollaborators};
pub use call::webhook_client;
pub use delivery::{DeliveryFailure, DeliveryLogEvent, DeliveryStep, FETCHED, WebhookDelivery};
pub use hook_table::{HookConfig, Hooks, WebhookConfig};
pub use settings::{BadWebhookName, BadWebhookUrl, WebhookName, WebhookSettings, WebhookUrl};
pub use signature::{BadWebhookSecret, SIGNATURE_HEADER, WebhookSecret};
pub use views::{ReceiverTrouble, WebhookCounters, WebhookView};
