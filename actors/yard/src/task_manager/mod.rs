//! The TaskManager plans copies and follows them to their end. It owns the tasks, the backoffs and
//! the placements (the files on each host, as last confirmed).
//!
//! Pure modules are the piece (`state`), and the decisions with the planner and the memory
//! (`policy`). `actor` has the mailbox: commands of the journal, requests, reports of other actors, and the
//! turn, which does all due work.

mod actor;
mod messages;
mod policy;
#[cfg(test)]
mod samples;
mod settings;
mod state;
mod views;

pub use crate::task_manager::state::copy_record::CopyRecord;
pub use actor::{TaskCollaborators, TaskManager};
pub use messages::*;
pub use policy::counters::{BlameCounts, TaskCounters};
pub use policy::decision_context::TaskDecisionContext;
pub use policy::due::forgetting;
pub use policy::foreign_managers::{ForeignManager, ForeignManagerSign, OwnLeadership};
pub use policy::hosts_in_memory::hosts::{HostState, HostTable, Landed};
pub use policy::hosts_in_memory::inventory::next_difference;
pub use policy::hosts_in_memory::liveness::{TaskLiveness, TaskProgress};
pub use policy::input_guard::{InputFault, RecordedInput};
pub use policy::legacy::cfm_changes::change_answer;
pub use policy::memory::{AppliedEffects, Arrival, TaskPieceContext, TaskPolicy};
pub use policy::plan::{Planner, PlanningContext, PlanningRound};
pub use policy::reports::ReportsEffect;
pub use settings::{HostSetting, LinkRules, PlacementPolicy, PlanningMode, TaskSettings, Weights};
pub use state::backoff::{BackingOff, Blamed};
pub use state::event::{
    GivenUp, NewTask, RecordedFile, RecordedInputs, TaskEnding, TaskEvent, TaskOutcome, TaskRefusal,
};
pub use state::hosts::host_record::HostRecord;
pub use state::recorded_inputs::InputsOnRecord;
pub use state::task::{Task, TaskState};
pub use state::task_book::{Placement, TaskBook, TasksById};
pub use views::host_roster::HostRoster;
pub use views::legacy::cfm_list;
pub use views::task_manager_view::*;
