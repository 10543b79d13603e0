//! Read views. Readers use them without the mailbox.

pub(in crate::remover) mod changes;
pub(in crate::remover) mod remover_view;
