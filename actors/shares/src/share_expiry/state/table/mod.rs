//! The shares in memory. Pure.

pub(in crate::share_expiry) mod order;
mod path_chunk;
mod path_key;
pub(in crate::share_expiry) mod path_order;
pub(in crate::share_expiry) mod shards;
pub(in crate::share_expiry) mod share;
pub(in crate::share_expiry) mod share_table;
pub(crate) mod totals;
