//! The messages of the Downloader.

use actix::Message;
use reelyard_protocol::worker::{Report, TaskId};
use serde::{Deserialize, Serialize};

use crate::downloader::copying::order::CopyOrder;
use crate::downloader::copying::transfers::{TransferCounters, TransferView};

/// Everything that this host must copy now, best first: replaces the previous list. Running copies
/// that are not in it are cancelled.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct TakeOrders {
    /// The complete list, best first.
    pub orders: Vec<CopyOrder>,
}

/// The node took these reports. Ends are durable there.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ReportsDelivered {
    /// The reports that the node received.
    pub sent: Vec<Report>,
    /// Tasks that no longer belong to this host.
    pub cancelled: Vec<TaskId>,
}

/// A copy continues. Sent by its thread, each second.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct TransferMoved {
    /// Task of the copy.
    pub task: TaskId,
    /// Bytes written so far.
    pub bytes: u64,
}

/// All bytes of small copies have arrived, and only the sync is missing: other copies may begin.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct TransfersArrived {
    /// The tasks, and how many bytes each has.
    pub copies: Vec<(TaskId, u64)>,
}

/// The limit of concurrent copies changed. Sent by the handle that changed it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct CopiesAtOnceChanged;

/// Copies have ended.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct TransfersEnded {
    /// `Done` or `Failed` for each task, already durable; no report if it was cancelled.
    pub ends: Vec<(TaskId, Option<Report>)>,
}

/// Cancels every copy and begins no other. Answered when the last thread has ended.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct StopTransfers;

/// The state of the copies that the link to the node needs. Sent at each change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkWork {
    /// Tasks that wait, run, or have ended without the node knowing.
    pub known: Vec<TaskId>,
    /// The reports to deliver, in order.
    pub reports: Vec<Report>,
}

/// The observable state of a Downloader.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DownloaderView {
    /// Running copies, by task.
    pub under_way: Vec<TransferView>,
    /// How many wait for a free place.
    pub waiting: usize,
    /// Ends that no node has taken yet.
    pub unacknowledged: usize,
    /// How copies have ended since the start of the process.
    pub counters: TransferCounters,
}
