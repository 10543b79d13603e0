//! The checkpoint of demand: what was counted of the event logs, for the next process.
//!
//! **Invariant:** a checkpoint holds demand and read positions of the same instant. So each row counts once,
//! whenever the process ends. A missing or damaged checkpoint costs memory of demand, and nothing else.

pub mod checkpoint_file;
pub mod counted_demand;
mod stored_demand;
