//! x

pub mod worker_rig;
