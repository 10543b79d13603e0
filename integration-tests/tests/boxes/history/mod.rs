//! A pool's clients over HTTP, and the history of what they asked and were told.

mod model;
mod yard;

pub use model::{BoxHistory, LeaseOperation, LeaseResult};
pub use yard::{BoxHistoryYard, HookLog, check_hooks};
