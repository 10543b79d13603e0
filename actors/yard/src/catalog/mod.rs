//! The Catalog reads the inputs that decide which files the yard has. grade.info and hitcount.history
//! make the ranking. The event log of the load balancer gives the hot files, and the source directories
//! give the masters.
//!
//! The Catalog checks its inputs repeatedly, and reports changes to its subscribers. It keeps the last
//! good state of an input that cannot be read.

mod actor;
pub mod checkpoint;
pub mod files;
pub mod load_balancer;
mod messages;
pub mod popularity;
pub mod ranking;
pub mod settings;
pub mod single_flight;
pub mod sources;
pub mod views;
pub mod watch;

pub use crate::settings::ranking::WatchMode;
pub use actor::Catalog;
pub use checkpoint::checkpoint_file::CheckpointFile;
pub use messages::*;
pub use settings::{CatalogSettings, EventLogSettings};
