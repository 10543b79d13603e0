//! Series of the storage side: hosts, inputs, copies and removals.

pub mod hosts;
pub mod inputs;
pub mod removals;
pub mod tasks;
