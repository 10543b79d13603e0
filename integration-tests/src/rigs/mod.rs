//! Everything that tests start: actors, processes, disks, and whole yards.

pub mod binary;
pub mod box_host_rig;
pub mod box_node;
pub mod box_yard;
pub mod catalog_input;
pub mod catalog_yard;
pub mod certificate;
pub mod old_yard;
pub mod running;
pub mod share_links;
pub mod small_disk;
pub mod worker_process;
pub mod worker_rig;
pub mod yard;
