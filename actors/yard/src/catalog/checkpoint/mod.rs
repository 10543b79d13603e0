//! The checkpoint of demand. It saves the counts of the event logs, so that the next process continues with them.
//!
//! **Invariant:** a checkpoint holds demand and read positions of the same instant. So each row counts once,
//! whenever the process ends. A missing or damaged checkpoint costs memory of demand, and nothing else.

pub mod checkpoint_file;
pub mod counted_demand;
pub mod log_position;
mod stored_demand;
mod sum_conversion;
