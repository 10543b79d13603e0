//! The handlers of the pages, one file a page. Each fills the model of its page from published views.

pub mod access;
pub mod access_dialogs;
pub mod audit;
pub mod boxes;
pub mod failures;
pub mod files;
pub mod find;
pub mod guide;
pub mod history;
pub mod host;
pub mod hosts;
pub mod map;
pub mod plan;
pub mod settings;
pub mod share;
pub mod share_dialogs;
pub mod shares;
pub mod tasks;
pub mod yard;

mod box_dialogs;
mod file_dialogs;
mod host_dialogs;
mod host_lines;
mod inputs;
mod recent;
mod why;
