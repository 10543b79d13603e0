//! The CfwWorker: one actor per host, an old cfw or a Reelyard worker, and the only one that calls it.
//!
//! It owns the known files and disk figures of the host. None of it is durable. If a call fails, the last
//! known state stays and is shown with its age. It is never treated as empty. A host that does not answer
//! its probes gets only probes, and so does one whose calls keep failing (`circuit_breaker`). A host in
//! maintenance is not called at all.

mod actor;
pub(crate) mod breaker;
pub(crate) mod calls;
mod legacy;
mod lists;
mod load;
mod messages;
mod settings;
mod views;

pub use crate::cfw_worker::breaker::circuit_state::{CallTrouble, CircuitState, HostCallKind};
pub use actor::CfwWorker;
pub use breaker::circuit_breaker::CircuitBreakerSettings;
pub use calls::ask_failure::{AskFailure, TokenTrouble};
pub use calls::client::http_client;
pub use calls::routes::HostRoutes;
pub use lists::{holdings, schedule};
pub use messages::*;
pub use settings::CfwWorkerSettings;
pub use views::{CfwWorkerView, FailureView, InventoryView};
