//! What the tests of Reelyard share.

pub mod catalog_input;
pub mod catalog_probe;
pub mod catalog_yard;
//! What the tests of Reelyard share: programs that stand in for others.

pub mod stand_in_cfw;
//! x

pub mod worker_rig;
//! What the integration tests share: probes, and ways to run actors and journals in a test.

pub mod journal_probe;
pub mod running;
