//! Counters of a data port.

use std::sync::Arc;

use reelyard_core::traffic::ByteCount;
use serde::{Deserialize, Serialize};

use crate::server::{ConnectionCounts, Count};

/// The counters of a data port since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPortCounters {
    /// Connections open now.
    pub connections: u64,
    /// Requests answered, refusals included.
    pub requests: u64,
    /// Bytes of files sent.
    pub bytes: u64,
    /// Connections refused because too many were open.
    pub refused_busy: u64,
    /// Requests refused because their ticket is missing or not valid.
    pub refused_ticket: u64,
}

/// The live counters.
#[derive(Debug, Default)]
pub(super) struct DataPortCounts {
    /// Counters of the server below.
    pub(super) connections: Arc<ConnectionCounts>,
    pub(super) requests: Count,
    pub(super) bytes: ByteCount,
    pub(super) refused_ticket: Count,
}

impl DataPortCounts {
    /// Reads all counters.
    pub(super) fn so_far(&self) -> DataPortCounters {
        DataPortCounters {
            connections: self.connections.connections.so_far(),
            requests: self.requests.so_far(),
            bytes: self.bytes.so_far(),
            refused_busy: self.connections.refused_busy.so_far(),
            refused_ticket: self.refused_ticket.so_far(),
        }
    }
}
