//! A task, as the API shows it.

use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::NameText;
use reelyard_protocol::task_id_text::id_in_text;
use reelyard_protocol::worker::{Blame, ContentHash, TaskId};
use reelyard_yard::task_manager::{Task, TaskState};
use serde::{Deserialize, Serialize};

/// One copy, from its planning to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TaskView {
    /// Id as text, because it exceeds the integers that JavaScript represents exactly.
    #[serde(with = "id_in_text")]
    #[schema(value_type = String)]
    pub id: TaskId,
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// State of the task.
    pub state: TaskState,
    /// Source of the copy.
    pub source: HostAddr,
    /// Directory of the master on the source.
    pub dir: String,
    /// Destination of the copy.
    pub destination: HostAddr,
    /// Rank when planned, 1 = best. Missing for a hot file without a grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Rising hits when planned; 0 for a file planned by its grade.
    pub hits: u32,
    /// The master's size when planned, in bytes.
    pub size: u64,
    /// Bytes at the destination by its last report. Missing for old cfws, which send none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<u64>,
    /// Current rate limit of the copy, in bits per second. For an ended task: the limit when it was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_speed: Option<BitsPerSecond>,
    /// Time when the task was created.
    pub created: Millis,
    /// Time of the last change of its state.
    pub changed: Millis,
    /// Reason of a failure or a wait, or a remark on a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Host or file that was blamed for the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
    /// Hash of the copy. It equals the hash of the source, unless `reason` says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
    /// Operator who asked for it. Missing for tasks of the planner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

impl TaskView {
    /// `task` as the API shows it; `copied` is the last report of its destination, `copy_speed` the rate in
    /// force.
    pub fn of(task: &Task, copied: Option<u64>, copy_speed: Option<BitsPerSecond>) -> Self {
        TaskView {
            id: task.id,
            name: task.name.to_text(),
            state: task.state,
            source: task.source,
            dir: task.dir.clone(),
            destination: task.destination,
            rank: Some(task.grade).filter(|rank| *rank != 0),
            hits: task.hits,
            size: task.size,
            copied,
            copy_speed,
            created: task.created,
            changed: task.changed,
            reason: task.reason_in_words(),
            blame: task.blame,
            hash: task.hash,
            asked_by: task.asked_by.clone(),
        }
    }
}

/// The body of `POST /tasks`: an order to copy a file now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedCopy {
    /// The file's name, as lists show it.
    pub name: String,
    /// Whether `name` is percent-encoded, as lists show names that are not UTF-8.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub percent_encoded: bool,
    /// Destination of the copy.
    pub destination: HostAddr,
    /// Source of the copy. Default: any source that can serve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<HostAddr>,
}

/// A copy that was begun on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CopyBegun {
    /// Number of its task, as text.
    #[serde(with = "id_in_text")]
    #[schema(value_type = String)]
    pub task: TaskId,
}

/// Filter of tasks by state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateFilter {
    /// Tasks that have not ended.
    Open,
    /// Planned tasks that no destination has started.
    Ready,
    /// Tasks whose files are being copied.
    Working,
    /// Tasks that copied their file.
    Done,
    /// Tasks that ended with a failure.
    Failed,
    /// Tasks that ended because their worker sent no report in time.
    Timeout,
    /// Tasks that were cancelled.
    Cancelled,
}

impl StateFilter {
    /// Whether a task in this state is asked for.
    pub fn takes(self, state: TaskState) -> bool {
        match self {
            StateFilter::Open => state.is_open(),
            StateFilter::Ready => state == TaskState::Ready,
            StateFilter::Working => state == TaskState::Working,
            StateFilter::Done => state == TaskState::Done,
            StateFilter::Failed => state == TaskState::Failed,
            StateFilter::Timeout => state == TaskState::Timeout,
            StateFilter::Cancelled => state == TaskState::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::FileName;

    use super::*;

    #[test]
    fn a_task_is_one_flat_object_with_its_number_in_text() {
        let task = Task {
            id: TaskId(1_795_240_648_713_846_374),
            name: FileName::new(b"\xff.mpg").unwrap(),
            dir: "/data".into(),
            source: "127.0.0.11:8888".parse().unwrap(),
            destination: "127.0.0.21:8888".parse().unwrap(),
            grade: 0,
            hits: 4,
            size: 10,
            copy_speed: None,
            state: TaskState::Working,
            created: Millis(1),
            changed: Millis(2),
            claimed_done: false,
            reason: None,
            is_unverified: false,
            blame: None,
            hash: Some(ContentHash([7; 32])),
            asked_by: None,
        };
        let view = TaskView::of(&task, Some(5), None);
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["id"], "1795240648713846374");
        assert_eq!(json["name"], "%FF.mpg");
        assert_eq!(json["percent_encoded"], true);
        assert_eq!(json["state"], "working");
        assert!(json.get("rank").is_none() && json.get("reason").is_none());
        assert_eq!(serde_json::from_value::<TaskView>(json).unwrap(), view);
    }
}
