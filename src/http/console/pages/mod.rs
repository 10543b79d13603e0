//! The handlers of the pages, one file a page, in the groups of the navigation. Each fills the model of its page from
//! published views.

mod copy_lines;
pub mod find;
pub mod given_out;
mod host_choices;
mod link_chart;
pub mod of_node;
pub mod on_record;
mod reasons;
mod recent;
pub mod storage;
pub mod yard;
