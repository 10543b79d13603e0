//! The facts of the page Plan.

use crate::format::FileText;
use crate::pages::why::PassedReason;
use crate::parts::table::RowPage;
use crate::viewer::Moment;

/// A copy of the round.
#[derive(Clone, Debug, Default)]
pub struct PlanLine {
    /// Name of the file.
    pub name: FileText,
    /// Place in the ranking, from 1; `None` for a file that is not ranked.
    pub rank: Option<u64>,
    /// Hits in the last 10 minutes; not 0 for a hot file.
    pub hits: u64,
    /// Address and port of the host that serves the file.
    pub source: String,
    /// Address and port of the host that gets the file.
    pub destination: String,
    /// Size in bytes.
    pub size: u64,
    /// Why this destination got it.
    pub why_there: DestinationReason,
    /// When it was planned.
    pub planned: Moment,
    /// How far it is.
    pub progress: CopyProgress,
}

/// Whether removals are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemoverMode {
    /// They are.
    #[default]
    On,
    /// They are only decided and shown.
    DryRun,
    /// None are decided.
    Off,
}

impl RemoverMode {
    /// The word of the setting.
    pub const fn word(self) -> &'static str {
        match self {
            RemoverMode::On => "on",
            RemoverMode::DryRun => "dry-run",
            RemoverMode::Off => "off",
        }
    }
}

/// Why the planner, or a person, chose a destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DestinationReason {
    /// The destination is gone or its disk is not known any more.
    #[default]
    NotKnown,
    /// A person or program chose it.
    Asked(String),
    /// It was next in turn.
    NextInTurn,
    /// Room was made there for this file.
    RoomMade,
    /// It tries one copy at a time after failures.
    OnTrial,
    /// It had the best mix of room and free link; this is its room in bytes.
    MostRoom(u64),
}

/// How far a planned copy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyProgress {
    /// The destination has not begun.
    #[default]
    Ready,
    /// Bytes arrive. The end is an estimate from the rate.
    Working {
        /// Bytes that have arrived.
        copied: u64,
        /// Seconds that are left, if the rate is known.
        left: Option<u64>,
    },
}

/// A copy that the round removes from a host.
#[derive(Clone, Debug, Default)]
pub struct RemovalLine {
    /// Name of the file.
    pub name: FileText,
    /// Address and port of the host that loses the copy.
    pub host: String,
    /// Size in bytes, if known.
    pub size: Option<u64>,
    /// Why, in the words of the node.
    pub reason: String,
    /// The host that keeps a copy, if one does.
    pub keeper: Option<String>,
    /// The person who asked for it, if one did.
    pub asked_by: Option<String>,
}

/// Copies that stay for the same reason.
#[derive(Clone, Debug, Default)]
pub struct SparedLine {
    /// Why, in the words of the node.
    pub reason: String,
    /// Number of copies that stay.
    pub copies: u64,
}

/// A file for which room was sought.
#[derive(Clone, Debug, Default)]
pub struct ExchangeLine {
    /// Name of the file.
    pub name: FileText,
    /// Size in bytes.
    pub size: u64,
    /// Hits in the last 10 minutes.
    pub hits: u64,
    /// The host that makes room for it, if one does.
    pub host: Option<String>,
    /// The copies that go for it, at most five.
    pub goes: Vec<GoingCopy>,
    /// Further copies that go for it.
    pub more_go: u64,
    /// The result in the words of the node.
    pub verdict: String,
}

/// A copy that goes for a better file.
#[derive(Clone, Debug, Default)]
pub struct GoingCopy {
    /// Name of the file.
    pub name: FileText,
    /// Place in the ranking, from 1; `None` for a file that is not ranked.
    pub rank: Option<u64>,
    /// Size in bytes, if known.
    pub size: Option<u64>,
}

/// Files that were passed over for the same reason.
#[derive(Clone, Debug)]
pub struct PassedLine {
    /// The obstacle that these files have in common.
    pub reason: PassedReason,
    /// Number of files that the planner passed over.
    pub files: u64,
    /// The first of them.
    pub first: Option<String>,
}

/// A pause after failures.
#[derive(Clone, Debug, Default)]
pub struct BackOffLine {
    /// The source, if it is blamed.
    pub source: Option<String>,
    /// The destination, if it is blamed.
    pub destination: Option<String>,
    /// The file, if it is blamed.
    pub file: Option<FileText>,
    /// End of the pause.
    pub until: Moment,
    /// Failures in a row.
    pub failures: u64,
    /// The last failure in the words of the node.
    pub reason: String,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct PlanPageModel {
    /// When the last round was.
    pub at: Option<Moment>,
    /// How long it took, in microseconds.
    pub took: u64,
    /// The end of the next pause after a failure. Without a change the next round is then.
    pub next_at: Option<Moment>,
    /// Why nothing is planned.
    pub blocked: Option<String>,
    /// Hosts that were not listed.
    pub unlisted: Vec<String>,
    /// Files that wait for a later round.
    pub waiting: u64,
    /// Copies of the round.
    pub copies: Vec<PlanLine>,
    /// All copies of the round.
    pub copies_total: u64,
    /// Mode of the remover: `on`, `dry-run` or `off`.
    pub remover_mode: RemoverMode,
    /// Open and decided removals.
    pub removals: Vec<RemovalLine>,
    /// Number of removals of the round; `removals` may have fewer.
    pub removals_total: u64,
    /// Room that the removals make; files of unknown size are left out.
    pub removal_bytes: u64,
    /// Hosts with removals.
    pub removal_hosts: u64,
    /// Copies that stay, by reason.
    pub spared: Vec<SparedLine>,
    /// Files for which room was sought.
    pub exchanges: Vec<ExchangeLine>,
    /// Number of these files; `exchanges` may have fewer.
    pub exchanges_total: u64,
    /// Files that were passed over, by reason.
    pub passed: Vec<PassedLine>,
    /// Pauses after failures.
    pub back_offs: Vec<BackOffLine>,
    /// Number of all pauses; `back_offs` may have fewer.
    pub back_offs_total: u64,
    /// Position within the list that is shown alone.
    pub page: RowPage,
}
