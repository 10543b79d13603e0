//! The version of the calls between nodes.

/// The first byte of each call and of its answer. Two nodes with different versions refuse each other when they connect.
/// It rises with each change of a call. No version below 7 was released, so none is read. After a release, a node also
/// speaks the version before, so that nodes can be updated one after the other.
pub const CALL_VERSION: u8 = 7;
