//! The subjects of the bench, one per file. Each measures itself in a process of its own.

pub mod access;
pub mod audit;
pub mod boxes;
pub mod boxes_http;
pub mod caches;
pub mod catalog;
pub mod console;
pub mod event_log;
pub mod host_count;
pub mod journal;
pub mod node;
pub mod planner;
pub mod share_links;
pub mod share_reclaim;
pub mod shares;
pub mod transfers;
