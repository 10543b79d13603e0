//! Access: users, tokens and sessions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access_mailbox;
