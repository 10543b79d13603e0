//! State of the handlers of cfm's wire protocol.

use std::net::IpAddr;
use std::sync::Arc;

use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::names::FileName;
use reelyard_core::supervision::Route;
use reelyard_yard::heartbeat::HeartbeatView;
use reelyard_yard::task_manager::{CancelTask, ChangeTask, Task};
use tokio::sync::Semaphore;

/// Largest number of concurrent changes. The mailbox of the TaskManager must hold at least this
/// many messages.
pub const CHANGES_UNDER_WAY: usize = 64;

/// State of the handlers of cfm's wire protocol.
pub struct CompatState {
    /// The current tasks.
    pub tasks: Arc<dyn Fn() -> Arc<Vec<Arc<Task>>> + Send + Sync>,
    /// The tasks as old cfws see them: started tasks may be offered again.
    pub tasks_for_cfws: Arc<dyn Fn() -> Arc<Vec<Arc<Task>>> + Send + Sync>,
    /// Changes the state of a task: the TaskManager.
    pub change: Route<ChangeTask>,
    /// Cancels a task: the TaskManager.
    pub cancel: Route<CancelTask>,
    /// Health of the hosts.
    pub heartbeat: ViewHandle<HeartbeatView>,
    /// The current ranking with hits.
    pub files: Arc<dyn Fn() -> Arc<dyn FileTable> + Send + Sync>,
    /// Clock of the node; simulated in tests.
    pub clock: Clock,
    /// Limits concurrent changes; made by [`change_turns`].
    pub turns: Arc<Semaphore>,
}

/// The semaphore for [`CHANGES_UNDER_WAY`]. Make it once per process, because all HTTP threads
/// share it.
pub fn change_turns() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(CHANGES_UNDER_WAY))
}

/// A snapshot of the ranked files for `/dashboard/filemetas`. It does not change while it is read.
pub trait FileTable: Send + Sync {
    /// Time when the ranking was last built; none before the first time.
    fn ranked(&self) -> Option<Millis>;
    /// Time when the rising hits were last counted; none before the first time.
    fn risen(&self) -> Option<Millis>;
    /// Rows `from..from + most`, fewer at the end. Sorted by rising hits, then by grade.
    fn rows(&self, from: usize, most: usize) -> Vec<FileRow>;
}

/// One row of the file table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Name of the file, any bytes.
    pub name: FileName,
    /// Rank, 1 is best; 0 without a rank.
    pub grade: u32,
    /// Size in bytes; none if unknown.
    pub size: Option<u64>,
    /// Rising hits in the window.
    pub hits: u32,
    /// Hosts with a copy.
    pub servers: Vec<IpAddr>,
    /// Path of the master; none if it was not looked up.
    pub master: Option<String>,
}
