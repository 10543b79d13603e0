//! What readers see, without a place in the mailbox.

pub(in crate::remover) mod remover_view;
