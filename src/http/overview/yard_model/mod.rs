//! The facts of the whole yard in one model: the first page of the console shows it, and the API answers from it.

pub mod copy_lines;
mod figures;
pub mod link_chart;
mod panels;
pub mod reasons;
pub mod recent;
mod traffic;

use std::sync::Arc;

use reelyard_console::Viewer;
use reelyard_console::pages::yard::YardPageModel;
use reelyard_shares::share_expiry::UsesNeeded;

use super::look::verdict;
use super::{PlacedFiles, ShareCounts, YardViews, host_lines};
use crate::http::node_state::NodeHttpState;

/// The most recent copies and removals in the model.
const RECENT: usize = 8;

/// The facts of the whole yard, for the first page and the API.
pub fn yard_model(state: &NodeHttpState, viewer: &Viewer) -> YardPageModel {
    let links = links(state);
    let views = YardViews::load(state);
    let placed = PlacedFiles::new(&views.tasks, &views.beats);
    let verdict = verdict(&views);
    let copies = panels::copies(&views);
    YardPageModel {
        verdict,
        figures: figures::figures(&views, &placed, &links),
        copies,
        waits: panels::waits(&views.tasks),
        hot: panels::hot(&views, &placed),
        hosts: host_lines::totals(&views.lines),
        disks: panels::disks(&views),
        traffic: traffic::figure(&views, viewer),
        traffic_as_table: false,
        recent: recent::lines(state, None, RECENT),
        due: panels::due(state, &links),
        links: links.working,
        has_no_root: state.live.now().config.share.rules.roots.0.is_empty(),
        pools: panels::pools(state),
    }
}

/// The links by their ends.
fn links(state: &NodeHttpState) -> Arc<ShareCounts> {
    let index = state.actors.share_views.index(UsesNeeded::Any, state.clock.timer());
    state.share_counts.counts(&index, state.share_time())
}
