//! The remembered demand for each file: requests of the event log, weighted by their age.
//!
//! **Invariant:** demand decides only the order of files and exchanges. A lost memory costs hits, and
//! never a copy.

pub mod demand_memory;
pub mod demand_ranker;
pub mod half_lives;
pub mod popularity_order;
pub mod priors;
pub mod request_rate;
pub mod served_requests;
