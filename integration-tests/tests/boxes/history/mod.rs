//! The clients of a pool over HTTP, and the history of their calls and answers.

mod model;
mod yard;

pub use model::{BoxHistory, LeaseOperation, LeaseResult};
pub use yard::{BoxHistoryYard, HookLog, check_hooks};
