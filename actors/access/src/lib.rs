//! Access to a yard: rights, secrets, users, tokens, sessions and the audit.

pub mod access;
mod address_range;
pub mod audit;
pub mod rights;
pub mod secrets;
mod text_form;
pub mod throttle;

pub use address_range::{AddressRange, BadAddressRange, CallerAddress};
