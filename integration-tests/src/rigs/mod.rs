//! Everything that tests start: actors, processes, disks, and whole yards.

pub mod binary;
pub mod boxes;
pub mod catalog;
pub mod certificate;
pub mod console_samples;
pub mod fixed_pages;
pub mod node_cluster;
pub mod old_yard;
pub mod plain_request;
pub mod private_authority;
pub mod running;
pub mod running_download;
pub mod share_links;
pub mod share_store;
pub mod small_disk;
pub mod worker;
pub mod writing_clients;
pub mod written_events;
pub mod yard;
