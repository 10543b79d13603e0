//! The actors of a node, and who tells whom.
//!
//! ```text
//! Catalog --------------- RankingChanged, RisingChanged, MastersChanged --> TaskManager
//! HeartbeatSupervisor --- HealthChanged --------------------------------> TaskManager
//! CfwWorker (each) ------ HostObserved ---------------------------------> TaskManager
//! HeartbeatSupervisor --- Probe ----------------------------------------> CfwWorker
//! TaskManager ----------- LookUpMasters --------------------------------> Catalog
//! TaskManager ----------- Refresh, CopyArrived -------------------------> CfwWorker
//! ```
//!
//! An actor that panicked is another one after its restart: whoever is to tell it something
//! subscribes it anew. Views stay where they are: every incarnation publishes to the same place.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use reelyard_actors::catalog::{self, Catalog};
use reelyard_actors::cfw_worker::{self, CfwWorker, HostViewHandle};
use reelyard_actors::clock::Clock;
use reelyard_actors::heartbeat::{self, AddHost, HeartbeatSupervisor, HeartbeatViewHandle};
use reelyard_actors::host::{HostAddr, HostRole};
use reelyard_actors::journal::Journal;
use reelyard_actors::names::NameTable;
use reelyard_actors::supervision::{Supervised, Supervision, SupervisionStatus};
use reelyard_actors::task_manager::{Collaborators, TaskManager, TaskManagerViewHandle};

use super::settings;
use crate::config::NodeConfig;

/// The actors of a node.
pub struct Wiring {
    /// Reads the inputs.
    pub catalog: Supervised<Catalog>,
    /// What the Catalog shows of itself.
    pub catalog_view: CatalogViewHandle,
    /// Plans copies and follows them.
    pub task_manager: Supervised<TaskManager>,
    /// What the TaskManager shows of itself.
    pub tasks_view: TaskManagerViewHandle,
    /// Knows which hosts answer.
    pub heartbeat: Supervised<HeartbeatSupervisor>,
    /// What the HeartbeatSupervisor shows of itself.
    pub heartbeat_view: HeartbeatViewHandle,
    /// Calls the hosts, one actor each.
    pub hosts: BTreeMap<HostAddr, Host>,
}
