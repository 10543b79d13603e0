//! Paths of shares, and the order in which a table keeps them.

pub(in crate::share_expiry) mod path;
pub(in crate::share_expiry) mod path_chunk;
pub(in crate::share_expiry) mod path_key;
pub(in crate::share_expiry) mod path_order;
