//! What the tests of Reelyard share: programs that stand in for others.

pub mod stand_in_cfw;
pub mod stand_in_subscriber;
pub mod stand_in_task_manager;
