//! Tasks, and failures grouped by cause.

mod model;
mod query;
mod render;
mod rows;

pub use model::{BlamedSide, FailureCause, TaskCondition, TaskLine, TaskTotals, TasksPageModel};
pub use query::{BlameFilter, TaskStateFilter, TasksPageQuery};
pub use render::{failures, live_head, render, tasks_sentence};
pub use rows::{task_row, task_rows};
