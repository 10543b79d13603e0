//! Settings of the Catalog.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::catalog::load_balancer::watched_servers::WatchedServers;

/// How changes of the inputs are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// The kernel reports changes where it can. Elsewhere the inputs are only polled.
    #[default]
    Auto,
    /// The inputs are only polled.
    Poll,
}

/// The inputs of a Catalog and the intervals of its checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogSettings {
    /// grade.info. Without one the ranking is empty and hitcount.history is not read.
    pub grade_info_file: Option<PathBuf>,
    /// hitcount.history. Without one, sizes and listings are simply not known; a
    /// configured one must have been read once before there is a ranking.
    pub hitcount_history_file: Option<PathBuf>,
    /// Directories of masters, in the order in which they are searched. Text, because a task
    /// carries the directory of its master.
    pub source_dirs: Vec<Arc<str>>,
    /// Whether the kernel reports changes, where it can. Then they are noticed at once.
    pub watch: WatchMode,
    /// How often the inputs are checked, whether changes are reported or not. A check of unchanged
    /// inputs costs a few `stat`s each.
    pub poll_interval: Duration,
    /// How long a file must have kept still before it is read, so that one that is written in
    /// place is not read half way. One that was put into place by a rename is read at once.
    pub settle: Duration,
    /// A file that keeps changing is read in any case after this time.
    pub settle_limit: Duration,
    /// How often the source directories are listed even if they look unchanged: a mount may not
    /// renew the times of its directories.
    pub relist_interval: Duration,
    /// Only these addresses count among those that hitcount.history lists.
    pub destination_ips: BTreeSet<IpAddr>,
    /// The load balancer's event log. Without one nothing is ever hot.
    pub event_log: Option<EventLogSettings>,
}

impl CatalogSettings {
    /// hitcount.history, unless there are no grades to which it could apply.
    pub(super) fn history_in_use(&self) -> Option<&PathBuf> {
        self.grade_info_file.as_ref().and(self.hitcount_history_file.as_ref())
    }
}

impl Default for CatalogSettings {
    /// No inputs, and the usual intervals.
    fn default() -> Self {
        CatalogSettings {
            grade_info_file: None,
            hitcount_history_file: None,
            source_dirs: Vec::new(),
            watch: WatchMode::default(),
            poll_interval: Duration::from_secs(2),
            settle: Duration::from_secs(1),
            settle_limit: Duration::from_secs(30),
            relist_interval: Duration::from_secs(600),
            destination_ips: BTreeSet::new(),
            event_log: None,
        }
    }
}

/// Where the event log is and what counts in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLogSettings {
    /// The directory of the files `EventLog[YYYYMMDD].log`.
    pub dir: PathBuf,
    /// The servers whose selection is a hit; none counts every selection.
    pub watch_address: Option<WatchedServers>,
    /// How long a hit counts.
    pub window: Duration,
    /// From how many hits in the window on a file is hot.
    pub hit_base: u32,
    /// The time zone in which the load balancer begins a new file at midnight.
    pub time_zone: TimeZone,
}

impl EventLogSettings {
    /// The log in `dir` with cfm's defaults: every selection, ten minutes, three hits; days of UTC.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        EventLogSettings {
            dir: dir.into(),
            watch_address: None,
            window: Duration::from_secs(600),
            hit_base: 3,
            time_zone: TimeZone::UTC,
        }
    }
}
