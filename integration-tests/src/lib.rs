//! What the tests of Reelyard from outside share.

pub mod binary;
