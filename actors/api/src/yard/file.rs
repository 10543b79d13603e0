//! A file, as the API shows it.

use reelyard_core::host::HostAddr;
use reelyard_core::names::NameText;
use reelyard_protocol::task_id_text::optional_id_in_text;
use reelyard_protocol::worker::TaskId;
use serde::{Deserialize, Serialize};

use super::host::BackOffView;

/// A ranked or hot file and where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FileView {
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// Its rank, 1 = best. Missing for a hot file without a grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its rank by demand for each byte, 1 = best. Missing while demand is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand_rank: Option<u32>,
    /// Expected requests a day. Missing while demand is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_a_day: Option<f64>,
    /// Its score: expected requests a day for each TiB. Missing without a size, and while demand is not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Requests within the watch window that no destination could serve.
    pub hits: u32,
    /// Its size in bytes, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The destinations that hold a copy.
    pub placed_on: Vec<HostAddr>,
    /// State of the file in the plan.
    pub state: FileState,
    /// Task of the copy in progress.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_id_in_text")]
    #[schema(value_type = Option<String>)]
    pub task: Option<TaskId>,
    /// Current backoff of the file, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOffView>,
}

/// State of a file in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// A destination holds it that is not down.
    Placed,
    /// All destinations that hold it are down.
    OutOfReach,
    /// A copy is in progress.
    Copying,
    /// It needs a copy and waits for its turn.
    Waiting,
    /// Its copies failed: it is in backoff.
    BackingOff,
    /// Its name begins with an ignored prefix.
    Ignored,
    /// No source directory has it.
    NoMaster,
    /// A source directory lists it, but it is not there as a regular file.
    MasterAbsent,
    /// hitcount.history lists it on a host that did not list its files yet.
    Listed,
    /// It is larger than the room on any destination.
    TooBig,
    /// No destination has room for it now.
    NoRoom,
    /// All suitable destinations are old cfws. Their protocol cannot transport its name.
    NameNotCarried,
    /// The file is hot but has no grade, and such files are not copied.
    Ungraded,
}
