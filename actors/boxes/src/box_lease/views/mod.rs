//! Read views. Readers use them without the mailbox.

pub(in crate::box_lease) mod box_change;
pub(in crate::box_lease) mod box_lease_view;
pub(in crate::box_lease) mod changes;
pub(in crate::box_lease) mod view_handle;
