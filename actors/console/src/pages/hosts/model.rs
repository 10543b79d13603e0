//! The facts of the table of hosts.

use crate::pages::why::{HostObstacle, ObstacleFact};
use crate::parts::bars::DiskLevel;
use crate::parts::dialog::AskDialog;
use crate::parts::icon::Glyph;
use crate::parts::mark::{StateMark, Tone};
use crate::parts::table::RowPage;
use crate::text::{Text, states};
use crate::viewer::Moment;

/// The health of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostCondition {
    /// It answers.
    Up,
    /// It answers slowly or not always.
    Suspect,
    /// It does not answer.
    Down,
    /// It is presumed lost.
    Lost,
    /// It answers again, and gets one copy at a time.
    Probation,
    /// It is in maintenance and not asked.
    NotAsked,
    /// It was not asked yet.
    #[default]
    Unknown,
}

impl HostCondition {
    /// Shape, colour and word.
    pub const fn mark(self) -> StateMark {
        match self {
            HostCondition::Up => StateMark::new(Glyph::Up, Tone::Ok, states::UP),
            HostCondition::Suspect => StateMark::new(Glyph::Warn, Tone::Warn, states::SUSPECT),
            HostCondition::Down => StateMark::new(Glyph::Down, Tone::Bad, states::DOWN),
            HostCondition::Lost => StateMark::new(Glyph::Down, Tone::Bad, states::LOST),
            HostCondition::Probation => {
                StateMark::new(Glyph::Probation, Tone::Warn, states::ON_PROBATION)
            }
            HostCondition::NotAsked => StateMark::new(Glyph::Unknown, Tone::Off, states::NOT_ASKED),
            HostCondition::Unknown => StateMark::new(Glyph::Unknown, Tone::Off, states::UNKNOWN),
        }
    }
}

/// The side of copies on which a host is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostRoleWord {
    /// It serves masters.
    Source,
    /// It takes copies.
    #[default]
    Destination,
    /// It serves masters and takes copies.
    Both,
}

impl HostRoleWord {
    /// The word.
    pub const fn words(self) -> Text {
        match self {
            HostRoleWord::Source => states::SOURCE,
            HostRoleWord::Destination => states::DESTINATION,
            HostRoleWord::Both => states::BOTH_ROLES,
        }
    }

    /// It takes copies.
    pub const fn is_destination(self) -> bool {
        matches!(self, HostRoleWord::Destination | HostRoleWord::Both)
    }

    /// It serves masters.
    pub const fn is_source(self) -> bool {
        matches!(self, HostRoleWord::Source | HostRoleWord::Both)
    }
}

/// The use of a host that a person has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostModeWord {
    /// In operation.
    #[default]
    Active,
    /// Being drained.
    Draining,
    /// Neither asked nor used.
    Maintenance,
}

impl HostModeWord {
    /// The word of the API and of addresses.
    pub const fn word(self) -> &'static str {
        match self {
            HostModeWord::Active => "active",
            HostModeWord::Draining => "draining",
            HostModeWord::Maintenance => "maintenance",
        }
    }

    /// The mark, if the mode differs from the usual one.
    pub const fn mark(self) -> Option<StateMark> {
        match self {
            HostModeWord::Active => None,
            HostModeWord::Draining => {
                Some(StateMark::new(Glyph::Drain, Tone::Hold, states::DRAINING))
            }
            HostModeWord::Maintenance => {
                Some(StateMark::new(Glyph::Maintenance, Tone::Hold, states::MAINTENANCE))
            }
        }
    }
}

/// The use of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkShare {
    /// Sent, in percent of the speed.
    pub out: f64,
    /// Received, in percent of the speed.
    pub inward: f64,
    /// Speed in bits a second.
    pub speed: u64,
}

/// A row of the table.
#[derive(Clone, Debug, Default)]
pub struct HostLine {
    /// Address and port.
    pub host: String,
    /// Health.
    pub condition: HostCondition,
    /// Since when.
    pub since: Option<Moment>,
    /// It serves masters, or takes copies.
    pub role: HostRoleWord,
    /// The use that a person has set.
    pub mode: HostModeWord,
    /// Disk, if known.
    pub disk: Option<DiskLevel>,
    /// Room to the limit in bytes, if known.
    pub room: Option<u64>,
    /// Files that it holds, if listed.
    pub files: Option<u64>,
    /// Use of the link, if its worker reports it.
    pub link: Option<LinkShare>,
    /// Copies that it receives.
    pub copies_in: u64,
    /// Copies that it serves.
    pub copies_out: u64,
    /// Why nothing goes there; `None` for a host that takes copies, and for a source.
    pub obstacle: Option<HostObstacle>,
    /// Another manager commands it.
    pub is_contested: bool,
}

/// Hosts by state, for the sentence and the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTotals {
    /// Hosts that serve masters.
    pub sources: u64,
    /// Hosts that take copies.
    pub destinations: u64,
    /// Hosts that answer, including those on probation.
    pub up: u64,
    /// Hosts that answer slowly or not always.
    pub suspect: u64,
    /// Hosts that do not answer, including those presumed lost.
    pub down: u64,
    /// Not asked, or not yet.
    pub unknown: u64,
    /// Hosts with a disk fuller than its limit.
    pub over_limit: u64,
    /// On probation.
    pub probation: u64,
    /// Being drained.
    pub draining: u64,
    /// Hosts that are neither asked nor used.
    pub maintenance: u64,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct HostsPageModel {
    /// All hosts by state.
    pub totals: HostTotals,
    /// Hosts that match the filter.
    pub matching: u64,
    /// Rows of this page.
    pub rows: Vec<HostLine>,
    /// Position of the page.
    pub page: RowPage,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
    /// The host of the panel "Why?", with what is in its way, worst first.
    pub why: Option<(HostLine, Vec<ObstacleFact>)>,
}
