//! The shares in memory. Pure.

pub(in crate::share_expiry) mod order;
pub(in crate::share_expiry) mod shards;
pub(in crate::share_expiry) mod share;
pub(in crate::share_expiry) mod share_table;
pub(crate) mod totals;
