//! What the tests of Reelyard share: generators of inputs, probes, stand-ins for other programs,
//! and yards of real processes.

pub mod api_document;
pub mod binary;
pub mod box_host_rig;
pub mod box_node;
pub mod box_yard;
pub mod browser;
pub mod catalog_input;
pub mod catalog_probe;
pub mod catalog_yard;
pub mod certificate;
pub mod code_blocks;
pub mod event_reader;
pub mod exposition;
pub mod external_program;
pub mod hook_receiver;
pub mod journal_power;
pub mod journal_probe;
pub mod memory_hub;
pub mod old_yard;
pub mod prose;
pub mod running;
pub mod share_links;
pub mod simulation;
pub mod small_disk;
pub mod stand_in_cfm;
pub mod stand_in_cfw;
pub mod stand_in_subscriber;
pub mod stand_in_task_manager;
pub mod waiting;
pub mod worker_fake_cfm;
pub mod worker_fake_source;
pub mod worker_process;
pub mod worker_rig;
pub mod yard;
