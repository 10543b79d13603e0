//! Subjects of shares and their links.

pub mod share_links;
pub mod share_reclaim;
pub mod share_table;
