//! The facts of the first screen.

use super::trouble::Trouble;
use crate::format::FileText;
use crate::pages::files::FileCondition;
use crate::pages::hosts::HostTotals;
use crate::pages::why::PassedReason;
use crate::parts::boxes::BoxCondition;
use crate::parts::chart::ChartFigure;
use crate::parts::disks::DiskOfHost;
use crate::viewer::Moment;

/// Everything that the first screen shows.
#[derive(Clone, Debug, Default)]
pub struct YardPageModel {
    /// Facts of the verdict.
    pub verdict: VerdictFacts,
    /// The strip of figures.
    pub figures: YardFigures,
    /// Copies under way, at most nine.
    pub copies: Vec<CopyLine>,
    /// Files that wait, by reason, most files first.
    pub waits: Vec<WaitLine>,
    /// Hot files, hottest first, at most five.
    pub hot: Vec<HotLine>,
    /// Hosts by state.
    pub hosts: HostTotals,
    /// Disks of the destinations.
    pub disks: DiskSummary,
    /// Link traffic of the last hour, if the node has the series.
    pub traffic: Option<ChartFigure>,
    /// The page shows link traffic as a table.
    pub traffic_as_table: bool,
    /// The last copies and removals, newest first.
    pub recent: Vec<RecentLine>,
    /// Links that end next.
    pub due: Vec<DueLink>,
    /// Working links.
    pub links: u64,
    /// No directory is named that links could give out.
    pub has_no_root: bool,
    /// Box pools.
    pub pools: Vec<PoolSummary>,
}

/// The facts from which the sentence at the top is made.
#[derive(Clone, Debug, Default)]
pub struct VerdictFacts {
    /// Troubles in any order. Hosts in maintenance are not among them.
    pub troubles: Vec<Trouble>,
    /// Since when nothing is wrong, if known.
    pub fine_since: Option<Moment>,
    /// Share of requests that no copy served in the last hour and in the last day, in percent.
    pub not_served: Option<(f64, Option<f64>)>,
    /// Troubles of the last 24 hours that ended by themselves, if known.
    pub cleared: Option<u64>,
    /// Hosts in maintenance.
    pub maintenance: Vec<String>,
    /// Hosts that were asked.
    pub hosts: u64,
    /// Inputs that were read.
    pub inputs: u64,
    /// Every trouble has a row.
    pub shows_all: bool,
}

impl VerdictFacts {
    /// Whether the node has neither hosts nor inputs: then "nothing is wrong" would say nothing.
    pub fn is_bare(&self) -> bool {
        self.hosts == 0 && self.inputs == 0
    }
}

/// The strip of figures.
#[derive(Clone, Debug, Default)]
pub struct YardFigures {
    /// Copies under way.
    pub running: u64,
    /// Copies that the sources may serve at once, if known.
    pub may_run: Option<u64>,
    /// Rate of all copies in bits a second, if known.
    pub copy_rate: Option<u64>,
    /// Files that wait.
    pub waiting: u64,
    /// The instant since which the first one waits, if known.
    pub oldest_wait: Option<Moment>,
    /// Wanted files that a host holds that answers.
    pub placed: u64,
    /// Files that should be placed.
    pub wanted: u64,
    /// Files whose only copies are on hosts that are down.
    pub out_of_reach: Option<u64>,
    /// Share of requests that copies served, in percent, if requests are counted.
    pub served: Option<f64>,
    /// The usual share in percent, if known.
    pub served_usual: Option<f64>,
    /// The share over time, oldest first; empty if the node has no series.
    pub served_curve: Vec<f32>,
    /// Hot files.
    pub hot: u64,
    /// Hot files without a copy.
    pub hot_unplaced: u64,
    /// Hot files whose only copies are on hosts that are down.
    pub hot_out_of_reach: u64,
    /// Links that end within 24 hours.
    pub due: u64,
    /// The next end of a link.
    pub next_due: Option<Moment>,
}

/// A copy under way.
#[derive(Clone, Debug, Default)]
pub struct CopyLine {
    /// Name of the file.
    pub name: FileText,
    /// The file is hot.
    pub is_hot: bool,
    /// Address and port of the host that serves the file.
    pub source: String,
    /// Address and port of the host that gets the file.
    pub destination: String,
    /// Size in bytes.
    pub size: u64,
    /// Bytes copied, if the worker reported them.
    pub copied: Option<u64>,
    /// Rate in bytes a second, if known.
    pub rate: Option<u64>,
    /// Seconds without a byte, if there are more than 30.
    pub stalled: Option<u64>,
}

impl CopyLine {
    /// Progress in percent, if known.
    pub fn percent(&self) -> Option<u64> {
        let copied = u128::from(self.copied?);
        let percent = if self.size == 0 { 100 } else { copied * 100 / u128::from(self.size) };
        Some(u64::try_from(percent).unwrap_or(100).min(100))
    }

    /// Seconds that the rest needs at the present rate.
    pub fn seconds_left(&self) -> Option<u64> {
        let rest = self.size.saturating_sub(self.copied?);
        self.rate.filter(|rate| *rate > 0).map(|rate| rest.div_ceil(rate))
    }
}

/// Files that wait for the same reason.
#[derive(Clone, Debug)]
pub struct WaitLine {
    /// The obstacle that these files have in common.
    pub reason: PassedReason,
    /// Number of waiting files.
    pub files: u64,
}

/// A hot file.
#[derive(Clone, Debug)]
pub struct HotLine {
    /// As the API writes it, with control characters.
    pub name: FileText,
    /// Hits in the last 10 minutes.
    pub hits: u64,
    /// Hits over time, oldest first; empty if the node has no series.
    pub curve: Vec<f32>,
    /// State.
    pub condition: FileCondition,
    /// Hosts with a copy, or the host to which it is copied.
    pub hosts: Vec<String>,
}

/// Disks of all destinations.
#[derive(Clone, Debug, Default)]
pub struct DiskSummary {
    /// Destinations, also those whose disks are not known.
    pub destinations: u64,
    /// The known disks in the order of the hosts.
    pub disks: Vec<DiskOfHost>,
    /// Size of all disks in bytes.
    pub size: u64,
    /// Used part of all disks in percent.
    pub used: f64,
    /// The limit of the setting in percent.
    pub limit: f64,
    /// The low-water mark of the setting in percent.
    pub low_water: f64,
}

/// The end of a copy, or a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecentStep {
    /// It was copied.
    Copied,
    /// A copy failed.
    Failed,
    /// A copy was removed.
    Removed,
    /// A copy was cancelled.
    Cancelled,
}

/// A copy or removal of the last minutes.
#[derive(Clone, Debug)]
pub struct RecentLine {
    /// The end of a copy, or a removal.
    pub step: RecentStep,
    /// Name of the file.
    pub name: FileText,
    /// The destination of the copy, or the host of the removal.
    pub host: String,
    /// When.
    pub at: Moment,
}

/// A link that ends soon.
#[derive(Clone, Debug, Default)]
pub struct DueLink {
    /// Path of the share.
    pub path: String,
    /// Downloads so far.
    pub downloads: u64,
    /// Downloads at most.
    pub most: Option<u64>,
    /// End.
    pub ends: Moment,
}

/// A box pool in short.
#[derive(Clone, Debug, Default)]
pub struct PoolSummary {
    /// As the configuration has it.
    pub name: String,
    /// Boxes by state.
    pub counts: Vec<(BoxCondition, u64)>,
    /// Waiting requests.
    pub queue: u64,
}

impl PoolSummary {
    /// Boxes in a state.
    pub fn boxes(&self, condition: BoxCondition) -> u64 {
        self.counts.iter().filter(|pair| pair.0 == condition).map(|pair| pair.1).sum()
    }

    /// All boxes.
    pub fn size(&self) -> u64 {
        self.counts.iter().map(|pair| pair.1).sum()
    }
}
