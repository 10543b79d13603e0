//! Share links: their deadlines and limits, the shared files, and webhooks.

pub mod share_expiry;
pub mod share_files;
pub mod webhook;
