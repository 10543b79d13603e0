//! The facts of the page of a host.

use crate::format::FileText;
use crate::pages::files::FileCondition;
use crate::pages::hosts::HostLine;
use crate::pages::why::ObstacleFact;
use crate::pages::yard::{EndedTrouble, RecentLine};
use crate::parts::chart::ChartFigure;
use crate::parts::dialog::AskDialog;
use crate::parts::spark::HealthSpan;
use crate::viewer::Moment;

/// Everything that the page of a host shows.
#[derive(Clone, Debug, Default)]
pub struct HostPageModel {
    /// The facts of its row in the table.
    pub line: HostLine,
    /// The program at its address, such as "reelyard 0.1.0"; empty if not known.
    pub program: String,
    /// It is named in the configuration; otherwise a call added it.
    pub is_configured: bool,
    /// Latency of the last probe in milliseconds.
    pub latency: Option<u64>,
    /// The failure of the last probe.
    pub failure: Option<String>,
    /// Why its token is not valid.
    pub token_trouble: Option<String>,
    /// Why its worker does not report.
    pub agent_failure: Option<String>,
    /// Another manager that commands it.
    pub other_manager: Option<OtherManager>,
    /// When its files were listed.
    pub listed: Option<Moment>,
    /// Files that no other host holds, if known.
    pub only_here: Option<u64>,
    /// Copies to it that failed in the last hour.
    pub failed_copies: u64,
    /// The instant from which it is presumed lost, while it does not answer.
    pub lost_at: Option<Moment>,
    /// Progress of a drain.
    pub drain: Option<DrainFacts>,
    /// The worst health of each half hour, oldest first; empty if the node has no series.
    pub health: Vec<HealthSpan>,
    /// Obstacles to copies to it, or to copies from a source, in the order in which they would be met.
    pub obstacles: Vec<ObstacleFact>,
    /// Back-offs and circuit breakers.
    pub breakers: Vec<Breaker>,
    /// Files that no other host holds, most hits first, at most five.
    pub only_files: Vec<OnlyHereFile>,
    /// Size of the disk in bytes.
    pub disk_size: Option<u64>,
    /// Used bytes of the disk.
    pub disk_used: Option<u64>,
    /// Traffic of the link.
    pub traffic: Option<HostTraffic>,
    /// Traffic of the link in the last hour, if the node has the series.
    pub traffic_hour: Option<ChartFigure>,
    /// The page shows that traffic as a table.
    pub traffic_as_table: bool,
    /// Rate of copies that it may send, in bits a second.
    pub sends_below: Option<u64>,
    /// Rate of copies that it may receive, in bits a second.
    pub receives_below: Option<u64>,
    /// The last copies and removals, newest first.
    pub recent: Vec<RecentLine>,
    /// Troubles of this host that are over, newest first.
    pub ended: Vec<EndedTrouble>,
    /// Since when the node remembers ended troubles, if it remembers one.
    pub ended_since: Option<Moment>,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
}

/// Another manager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherManager {
    /// Its name or address.
    pub name: String,
    /// Since when its commands are seen.
    pub since: Moment,
}

/// Progress of a drain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainFacts {
    /// Files left.
    pub left: u64,
    /// Files that no other host holds.
    pub only_here: u64,
    /// Files that stay: begins with an ignored prefix.
    pub stays_ignored: u64,
    /// Files that stay: no master.
    pub stays_no_master: u64,
    /// Files that stay: pinned.
    pub stays_pinned: u64,
}

/// The side of a host that is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerRole {
    /// As source.
    Source,
    /// As destination.
    Destination,
    /// Requests of the node, such as lists of files.
    Calls,
}

/// A pause after failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// The side that is paused.
    pub of: BreakerRole,
    /// One copy at a time is tried.
    pub is_probation: bool,
    /// End of the pause.
    pub until: Moment,
    /// Failures in a row.
    pub failures: u64,
    /// The last failure in the words of the node.
    pub reason: String,
}

/// A file that no other host holds.
#[derive(Clone, Debug)]
pub struct OnlyHereFile {
    /// As the API writes it, with control characters.
    pub name: FileText,
    /// Place in the ranking, from 1; `None` for a file that is not ranked.
    pub rank: Option<u64>,
    /// Hits in the last 10 minutes.
    pub hits: u64,
    /// Size in bytes.
    pub size: Option<u64>,
    /// State.
    pub condition: FileCondition,
}

/// Traffic of a link, in bits a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTraffic {
    /// Name of the network device that the worker measures.
    pub interface: String,
    /// Speed, if known.
    pub speed: Option<u64>,
    /// Sent.
    pub out: u64,
    /// Received.
    pub inward: u64,
    /// Sent by copies, if known.
    pub copies_out: Option<u64>,
    /// Received by copies, if known.
    pub copies_in: Option<u64>,
    /// When it was measured.
    pub at: Option<Moment>,
}
