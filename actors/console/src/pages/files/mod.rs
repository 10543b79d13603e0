//! The table of all files.

mod model;
mod query;
mod render;
mod rows;

pub use model::{FileCondition, FileLine, FileTotals, FilesPageModel};
pub use query::{FileStateFilter, FilesPageQuery};
pub use render::{PROBLEM_STATES, files_sentence, live_head, render};
pub use rows::{file_row, file_rows};
