//! `reelyard share`.

pub(in crate::cli) mod share;
mod share_ref;
pub(in crate::cli) mod share_revoke;
pub(in crate::cli) mod share_tables;
