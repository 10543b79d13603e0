//! Invariants of planned copies: where they go, where they come from, and how their tasks end.

pub mod back_off;
pub mod ignored;
pub mod one_copy;
pub mod one_task;
pub mod progress;
pub mod room;
pub mod sources;
pub mod wires;
