//! The read view: the recorded versions.

use reelyard_core::event::Epoch;

use crate::cluster_settings::state::settings_book::SettingsBook;

/// The settings on record, as this node has applied them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSettingsView {
    /// The versions.
    pub book: SettingsBook,
    /// Whether the book holds everything that this node had recorded when it started.
    pub is_ready: bool,
    /// The epoch in which this node leads. None on a follower.
    pub epoch: Option<Epoch>,
}
