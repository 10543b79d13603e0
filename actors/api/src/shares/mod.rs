//! Shares, their webhooks and moves.

pub(crate) mod download;
pub(crate) mod file_move;
pub(crate) mod share;
pub(crate) mod share_hook;
