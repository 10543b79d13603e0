//! Invariants of the log and of the pieces that are built from it.

pub mod acknowledged;
pub mod deposed;
pub mod same_pieces;
