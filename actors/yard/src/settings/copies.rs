//! The tables about copies: `[task]`, `[ignore]`, `[storage]`, `[copies]` and `[history]`.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use reelyard_core::settings::{NamePrefix, Percent};
use reelyard_core::{setting_words, settings};

use super::placement::PlacementPolicy;
use crate::bandwidth::Timetable;

settings! {
    /// The life of a copy.
    pub struct TaskConfig {
        /// "on" or "off". With "off" the node plans no new copies. Running copies continue, and an
        /// operator can still order a copy by name.
        mode: PlanningMode = Default "on",
        /// Whether a new leader compares its inputs with those of the last leader. If they are
        /// missing, older, or smaller by more than a tenth, it plans and removes nothing.
        check_inputs: bool = Default "true",
        /// Number of copies that one source serves at the same time.
        copies_per_source: NonZeroU32 = Default "1",
        /// Rule that chooses among free destinations with enough room. "room" takes the one with
        /// the most room, or weighs room and load by placement.weights. "ring" takes each in turn,
        /// as cfm does.
        placement: PlacementPolicy = Default "room",
        /// A copy without a sign of progress fails after this time. Workers report progress every
        /// few seconds. Old cfws report none; for them it is the least time that a copy gets.
        timeout: Duration = Default "1h",
        /// A planned copy fails if its destination does not start it within this time.
        pickup_timeout: Duration = Default "2m",
        /// Highest rate of one copy: "80Mbit/s", "10MiB/s", or "10M" (MiB/s) as in rclone. A
        /// timetable in rclone's form also works, in the time zone bandwidth.time_zone: "08:00,512k
        /// 18:00,10M 23:00,off", "Sat-10:00,off". Without the setting workers copy at full speed.
        copy_speed: Option<Timetable> = Optional "80Mbit/s",
        /// Backoff after a failed copy for the host or file that caused it. It doubles with each
        /// failure. A host is then on probation: one copy at a time, until enough copies succeed.
        back_off_base: Duration = Default "10s",
        /// Longest backoff.
        back_off_cap: Duration = Default "30m",
        /// Ended tasks stay visible for this long.
        keep_ended: Duration = Default "1h",
    }
}

settings! {
    /// Files that are never copied and never removed.
    pub struct IgnoreConfig {
        /// Beginnings of their names. Example for advertisements: ["M64", "MN1"].
        prefixes: Vec<NamePrefix> = Default "[]",
    }
}

settings! {
    /// The disks of the destinations.
    pub struct StorageConfig {
        /// Highest fill level of a destination, in percent of the space for ordinary users.
        limit_percent: Percent = Default "90",
        /// A destination over its limit is emptied down to this level, worst files first. Files
        /// that are not hot are placed only up to this level, so that removed files do not come
        /// back at once. Without the setting it is 5 below the limit.
        low_water_percent: Option<Percent> = Optional "85",
        /// A copy is safe from this removal for this long after its arrival.
        spare_copied_within: Duration = Default "10m",
    }
}

settings! {
    /// The number of copies of a file: one, or the number in grade.info.
    pub struct CopyConfig {
        /// Whether grade.info decides (its seventh column, `TargetCopyCount`).
        by_grade_info: bool = Default "false",
        /// Largest number that grade.info may set.
        most: NonZeroU32 = Default "3",
    }
}

settings! {
    /// The memory of ended copies and removals.
    pub struct HistoryConfig {
        /// Number of ended copies, and number of ended removals, that the node remembers.
        keep: NonZeroU64 = Default "10000",
    }
}

/// Whether new copies are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanningMode {
    /// Copies are planned and carried out.
    On,
    /// No copies are planned. Running copies continue, and an operator can still request a copy.
    Off,
}

setting_words!(PlanningMode: "on" => On, "off" => Off);

/// How many copies of a file there should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiesWanted {
    /// Whether grade.info sets the numbers (`TargetCopyCount`); otherwise each file has one
    /// copy.
    pub by_grade_info: bool,
    /// The largest number; at least 1.
    pub most: u32,
}

impl CopiesWanted {
    /// Whether more than one copy of some file may be wanted.
    pub fn are_several(self) -> bool {
        self.by_grade_info && self.most > 1
    }
}
