//! Everything that tests start: actors, processes, disks, and whole yards.

pub mod binary;
pub mod boxes;
pub mod catalog;
pub mod node_cluster;
pub mod old_yard;
pub mod pages;
pub mod plain_request;
pub mod running;
pub mod running_download;
pub mod share_links;
pub mod small_disk;
pub mod stores;
pub mod tls;
pub mod worker;
pub mod writing_clients;
pub mod yard;
