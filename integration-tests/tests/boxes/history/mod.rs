//! A pool's clients over HTTP, and the history of what they asked and were told.

mod model;
mod yard;

pub use model::{History, Op, Ret};
pub use yard::{Log, Yard, check_hooks};
