//! Shares and their deadlines.

mod expiry_mailbox;
mod expiry_properties;
mod expiry_repeats;
mod expiry_turns;
pub(super) mod expiry_yard;
mod requests;
mod survives_kill;
mod three_nodes;
