//! (to come)
pub mod masters;
mod messages;
pub mod ranking;
pub mod rising;
pub use messages::*;
