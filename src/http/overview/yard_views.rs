//! The views of the yard at one moment, each loaded once.

use std::sync::Arc;

use reelyard_api::HostView;
use reelyard_console::pages::hosts::HostLine;
use reelyard_core::clock::Millis;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::heartbeat::HeartbeatView;
use reelyard_yard::remover::RemoverView;
use reelyard_yard::task_manager::TaskManagerView;

use super::host_lines::{self, DiskMarks};
use crate::http::host_facts::host_views;
use crate::http::node_state::NodeHttpState;

/// Everything that the overview reads.
pub struct YardViews<'a> {
    /// For settings, names and readiness.
    pub state: &'a NodeHttpState,
    /// Tasks, placements and the plan.
    pub tasks: Arc<TaskManagerView>,
    /// Inputs and demand.
    pub catalog: Arc<CatalogView>,
    /// Copies that are being removed, and the last look at all copies.
    pub removals: Arc<RemoverView>,
    /// Health of the hosts.
    pub beats: Arc<HeartbeatView>,
    /// The hosts by address.
    pub hosts: Vec<HostView>,
    /// The same hosts as rows, in the same order.
    pub lines: Vec<HostLine>,
    /// The marks of disks in force.
    pub marks: DiskMarks,
    /// The moment of the look.
    pub now: Millis,
}

impl<'a> YardViews<'a> {
    /// Loads the current views.
    pub fn load(state: &'a NodeHttpState) -> Self {
        let tasks = state.actors.task_views.load();
        let (marks, now) = (DiskMarks::of(state), state.clock.now());
        let hosts = host_views(state);
        let lines = hosts.iter().map(|host| host_lines::line(host, &tasks, marks, now)).collect();
        YardViews {
            state,
            tasks,
            catalog: state.actors.catalog_view.load(),
            removals: state.actors.remover_views.load(),
            beats: state.actors.heartbeat_view.load(),
            hosts,
            lines,
            marks,
            now,
        }
    }
}
