//! Read views. Readers use them without the mailbox.

pub(in crate::share_expiry) mod changes;
mod kept_index;
pub(in crate::share_expiry) mod revocation_set;
pub(in crate::share_expiry) mod share_change;
pub(in crate::share_expiry) mod share_expiry_view;
pub(in crate::share_expiry) mod share_index;
pub(in crate::share_expiry) mod share_orders;
pub(in crate::share_expiry) mod share_set;
pub(in crate::share_expiry) mod share_state;
pub(in crate::share_expiry) mod view_handle;
