//! The actor of one host.

mod cfw_worker_breaker;
mod cfw_worker_changes;
mod cfw_worker_lists;
mod cfw_worker_maintenance;
mod cfw_worker_old_host;
mod cfw_worker_reelyard_host;
mod cfw_worker_traffic;
