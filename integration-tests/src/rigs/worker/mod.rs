//! Workers: the actors of one in the process of the test, and the program.

pub mod worker_process;
pub mod worker_rig;
