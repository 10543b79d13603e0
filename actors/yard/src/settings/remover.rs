//! The table `[remover]`.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_core::settings::Percent;
use reelyard_core::{setting_words, settings};
use serde::{Deserialize, Serialize};

settings! {
    /// The removal of copies: surplus copies, copies on hosts that are drained, and the worst
    /// copies of a destination over its limit.
    pub struct RemoverConfig {
        /// "on", "dry-run" or "off". With "dry-run" the node decides and logs removals, but removes
        /// nothing.
        mode: RemovalMode = Default "on",
        /// Interval between two looks at all copies.
        interval: Duration = Default "10s",
        /// The surplus copy that is kept. "room" keeps the one on the host with the most free room.
        /// "cfm" keeps the one whose host address comes first as text.
        keep: KeptBy = Default "room",
        /// Whether the node makes room for a file that becomes hot and fits on no destination. It
        /// removes the copies with the least demand from the destination that loses the least
        /// demand. If popularity.mode is not "on", it removes cold files from the destination where it
        /// must remove the fewest bytes.
        make_room: bool = Default "true",
        /// Number of rising hits from which the node makes room. Without the setting it is twice
        /// event_log.hit_base; then the new file is at least twice as hot as the removed ones.
        make_room_hits: Option<NonZeroU32> = Optional "6",
        /// Largest part of a destination's disk that the node frees for one file, in percent. The
        /// maximum is 50.
        make_room_percent: Percent = Default "10",
        /// A copy that was made because its file was hot is safe from the next hot file for this
        /// long. In this time a new grade.info should include it. The node remembers history.keep
        /// of these copies.
        spare_hot_within: Duration = Default "24h",
    }
}

/// Whether copies are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RemovalMode {
    /// Copies are removed.
    On,
    /// Everything is decided and reported, but no copy is removed.
    DryRun,
    /// Nothing is decided.
    Off,
}

impl Default for RemovalMode {
    fn default() -> Self {
        RemoverConfig::default().mode
    }
}

impl fmt::Display for RemovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RemovalMode::On => "on",
            RemovalMode::DryRun => "dry-run",
            RemovalMode::Off => "off",
        })
    }
}

setting_words!(RemovalMode: "on" => On, "dry-run" => DryRun, "off" => Off);

/// The rule that selects the copies to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeptBy {
    /// Those on the hosts with the most free room.
    Room,
    /// As in cfm: the copies whose host addresses come first as text.
    Cfm,
}

setting_words!(KeptBy: "room" => Room, "cfm" => Cfm);
