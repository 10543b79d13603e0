//! `reelyard share`.

pub(in crate::cli) mod share;
pub(in crate::cli) mod share_revoke;
pub(in crate::cli) mod share_tables;
