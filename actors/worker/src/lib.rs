//! The actors of a worker, one per storage host: copies, hooks of boxes, and the load of its link.
//!
//! **Invariant:** a worker knows neither the journal nor any state of the control plane.

pub mod box_host;
pub mod downloader;
pub mod kept_state;
pub mod processes;
pub mod traffic;
