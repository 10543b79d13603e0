//! The version of the calls between nodes.

/// The first byte of each call and of its answer. Two nodes with different versions refuse each other when they connect.
/// It rises with each change of a call.
pub const CALL_VERSION: u8 = 7;
