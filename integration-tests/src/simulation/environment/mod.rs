//! Everything around the parties: the queue, the clocks, the network and its messages, the runtime, the trace.

pub mod context;
pub mod machine;
pub mod messages;
pub mod network;
pub mod parties;
pub mod queue;
pub mod runtime;
pub mod trace;
