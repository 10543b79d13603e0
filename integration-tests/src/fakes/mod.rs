//! Stand-ins for other programs, hosts and actors.

pub mod cluster_power;
pub mod external_program;
pub mod hook_receiver;
pub mod memory_hub;
pub mod stand_in_cfm;
pub mod stand_in_cfw;
pub mod stand_in_subscriber;
pub mod stand_in_task_manager;
pub mod stoppable_disk;
pub mod worker_fake_cfm;
pub mod worker_fake_source;
