//! Input files that are read as a whole: grade.info and hitcount.history.

pub(in crate::catalog) mod address_lists;
pub(in crate::catalog) mod grade_info;
pub(in crate::catalog) mod history_rows;
pub(in crate::catalog) mod hitcount_history;
pub mod input_contents;
pub mod lines;
pub mod ranking_inputs;
pub mod rows;
pub(in crate::catalog) mod watched_file;
