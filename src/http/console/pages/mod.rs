//! The handlers of the pages, one file a page, in the groups of the navigation. Each fills the model of its page from
//! published views.

pub mod find;
pub mod given_out;
mod host_choices;
pub mod of_node;
pub mod on_record;
mod row_cursor;
pub mod storage;
pub mod yard;
