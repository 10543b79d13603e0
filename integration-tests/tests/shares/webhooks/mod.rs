//! Delivery of events to webhooks.

mod hooks;
mod webhook_mailbox;
