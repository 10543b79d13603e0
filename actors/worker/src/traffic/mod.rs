//! The load of this host's network link.

pub mod gauge;
pub mod link;
pub mod settings;
