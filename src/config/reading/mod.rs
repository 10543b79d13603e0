//! Files, environment and arguments, and what can be wrong with them.

pub(crate) mod exposed;
pub(crate) mod file;
pub(crate) mod inputs;
pub(crate) mod layers;
pub mod recorded;
pub mod renamed;
