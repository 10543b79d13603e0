//! Links and boxes, which others use until a deadline.

pub mod box_dialogs;
mod box_lists;
pub mod boxes;
mod new_link;
pub mod share;
pub mod share_dialogs;
pub mod shares;
