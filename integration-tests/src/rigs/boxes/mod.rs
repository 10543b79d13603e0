//! Box pools: the owner with its journal, a node, and a worker that runs hooks.

pub mod box_host_rig;
pub mod box_node;
pub mod box_yard;
