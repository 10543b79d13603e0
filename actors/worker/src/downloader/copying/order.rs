//! An order for a worker, from a Reelyard node or from an old cfm.

use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{CopyTickets, TaskId, TaskOrder};

use crate::downloader::fetching::source_stream::SourcePort;

/// One copy to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOrder {
    /// Id of the task that the node created.
    pub id: TaskId,
    /// Name of the file, equal on both sides.
    pub name: FileName,
    /// The directory of the master on the source.
    pub dir: String,
    /// The source's worker.
    pub source: HostAddr,
    /// Whether the source answers `/info` over TLS only.
    pub source_tls: bool,
    /// The source's data port, if the manager knows it.
    pub source_data: Option<SourcePort>,
    /// The master's size when the task was planned. Unknown when an old cfm orders.
    pub size: Option<u64>,
    /// The upper limit of the rate; none without a limit.
    pub copy_speed: Option<BitsPerSecond>,
    /// Tickets for the source's data port, from a node that gives some.
    pub tickets: Option<CopyTickets>,
}

impl From<TaskOrder> for CopyOrder {
    fn from(order: TaskOrder) -> Self {
        CopyOrder {
            id: order.id,
            name: order.name,
            dir: order.dir,
            source: order.source,
            source_tls: order.source_tls,
            source_data: order
                .source_data
                .map(|addr| SourcePort { addr, tls: order.source_data_tls }),
            size: Some(order.size),
            copy_speed: order.copy_speed,
            tickets: order.tickets,
        }
    }
}
