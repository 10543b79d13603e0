//! The recorded moves of shared files.

#[cfg(test)]
pub(in crate::share_expiry) mod apply_moves_tests;
pub(in crate::share_expiry) mod pending_move;
pub(in crate::share_expiry) mod stored_move;
