//! The versions of the calls between nodes.

use std::ops::RangeInclusive;

/// The highest version that this program speaks. It rises with each change of a call or of the greeting, and with each
/// new one. The first byte of a call is the version that brought its kind. So a program of the version before reads
/// those that it knows, and answers the others as not understood.
pub const CALL_VERSION: u8 = 8;

/// The versions that are read. The nodes of a cluster can be updated one after the other: this program also speaks
/// the version before. Two nodes without a common version refuse each other when they connect.
pub const CALL_VERSIONS: RangeInclusive<u8> = CALL_VERSION - 1..=CALL_VERSION;

/// From this version on a stream to another node carries more than one request, each with the address of its client. A
/// program of an earlier version would take all of them for requests of the first client.
pub const KEPT_STREAMS_SINCE: u8 = 8;
