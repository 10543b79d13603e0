//! x

pub mod worker_fake_cfm;
pub mod worker_fake_source;
pub mod worker_rig;
