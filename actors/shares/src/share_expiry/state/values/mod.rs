//! The value types of a share.

pub(crate) mod bad_lifetime;
pub(in crate::share_expiry) mod id;
pub(in crate::share_expiry) mod path;
pub(in crate::share_expiry) mod root_id;
pub(in crate::share_expiry) mod share_lifetime;
pub(in crate::share_expiry) mod share_terms;
pub(in crate::share_expiry) mod text;
pub(in crate::share_expiry) mod usage;
pub(in crate::share_expiry) mod value_types;
