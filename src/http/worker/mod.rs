//! The HTTP server of a worker, on the address that is its identity: cfw's wire protocol, and the
//! calls of Reelyard nodes.

mod answer_parts;
mod answers;
mod boxes;
mod readiness;
mod router;
mod server;
mod state;

pub use super::metrics::WorkerFigures;
pub use server::start;
pub use state::WorkerHttp;
