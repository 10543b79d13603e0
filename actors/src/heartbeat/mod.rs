//! (to come)
mod messages;
pub use messages::*;
