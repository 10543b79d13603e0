//! What the tests of Reelyard share.

pub mod catalog_input;
pub mod catalog_probe;
pub mod catalog_yard;
