//! The content of a checkpoint.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::catalog::checkpoint::log_position::LogPosition;
use crate::catalog::popularity::demand_memory::DemandMemory;
use crate::catalog::popularity::served_requests::ServedRequests;

/// The counted part of the log of each day. The first position is that of the file at the path of the
/// day. The others are those of files that were there earlier.
pub type CountedLogs = BTreeMap<Date, Vec<LogPosition>>;

/// The demand that an earlier process counted, and where it stopped.
#[derive(Debug)]
pub struct CountedDemand {
    /// The requests by file.
    pub memory: DemandMemory,
    /// The requests by whether a destination served them.
    pub served: ServedRequests,
    /// The rows that are counted in both.
    pub logs: CountedLogs,
}
