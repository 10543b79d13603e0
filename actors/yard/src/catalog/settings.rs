//! Settings of the Catalog.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::settings::YardConfig;
use crate::settings::popularity::{HalfLife, PopularityConfig, PopularityMode};
use crate::settings::ranking::{EventLogConfig, WatchMode};
use crate::settings::watched_servers::WatchedServers;

/// The inputs of a Catalog and the intervals of its checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogSettings {
    /// grade.info. Without one the ranking is empty and hitcount.history is not read.
    pub grade_info_file: Option<PathBuf>,
    /// hitcount.history. Without one, sizes and listings are simply not known; a
    /// configured one must have been read once before there is a ranking.
    pub hitcount_history_file: Option<PathBuf>,
    /// Directories of masters, in the order of the search. They are text, because a task contains the
    /// directory of its master.
    pub source_dirs: Vec<Arc<str>>,
    /// Whether kernel notifications are used if possible. Then changes are noticed at once.
    pub watch: WatchMode,
    /// How often the inputs are checked, whether changes are reported or not. A check of unchanged
    /// inputs costs a few `stat`s each.
    pub poll_interval: Duration,
    /// How long a file must be unchanged before it is read, so that no half-written file is read. A
    /// file that was renamed into place is read at once.
    pub settle: Duration,
    /// A file that keeps changing is read in any case after this time.
    pub settle_limit: Duration,
    /// How often the source directories are listed even if they look unchanged: a mount may not
    /// renew the times of its directories.
    pub relist_interval: Duration,
    /// Only these addresses in hitcount.history count.
    pub destination_ips: BTreeSet<IpAddr>,
    /// The load balancer's event log. Without one no file becomes hot.
    pub event_log: Option<EventLogSettings>,
}

impl CatalogSettings {
    /// hitcount.history, unless there are no grades to which it could apply.
    pub(super) fn history_in_use(&self) -> Option<&PathBuf> {
        self.grade_info_file.as_ref().and(self.hitcount_history_file.as_ref())
    }
}

/// How often the source directories are listed even if they look unchanged.
const RELIST_INTERVAL: Duration = Duration::from_secs(600);

impl CatalogSettings {
    /// The settings of an operator. The configuration refuses source directories that are not UTF-8.
    pub fn of(config: &YardConfig, source_dirs: &[PathBuf]) -> Self {
        let catalog = &config.catalog;
        CatalogSettings {
            grade_info_file: catalog.grade_info_file.clone(),
            hitcount_history_file: catalog.hitcount_history_file.clone(),
            source_dirs: source_dirs.iter().map(|dir| Arc::from(dir.to_string_lossy())).collect(),
            watch: catalog.watch,
            poll_interval: catalog.poll_interval,
            settle: catalog.settle,
            settle_limit: catalog.settle_limit,
            relist_interval: RELIST_INTERVAL,
            destination_ips: config.hosts.destinations.iter().map(|host| host.ip()).collect(),
            event_log: EventLogSettings::of(&config.event_log, &config.popularity),
        }
    }
}

impl Default for CatalogSettings {
    fn default() -> Self {
        CatalogSettings::of(&YardConfig::default(), &[])
    }
}

/// The place of the event log, and the hits that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLogSettings {
    /// The directory of the files `EventLog[YYYYMMDD].log`.
    pub dir: PathBuf,
    /// The servers whose selection is a hit; none counts every selection.
    pub watch_address: Option<WatchedServers>,
    /// How long a hit counts.
    pub window: Duration,
    /// The number of hits in the window that make a file hot.
    pub hit_base: u32,
    /// The time zone in which the load balancer begins a new file at midnight.
    pub time_zone: TimeZone,
    /// The use of remembered demand.
    pub popularity: PopularityMode,
    /// The half-life of requests.
    pub half_life: HalfLife,
}

impl EventLogSettings {
    /// The settings of an operator; none without a log.
    pub fn of(config: &EventLogConfig, popularity: &PopularityConfig) -> Option<Self> {
        Some(EventLogSettings {
            dir: config.dir.clone()?,
            watch_address: config.watch_address.clone(),
            window: config.window,
            hit_base: config.hit_base.get(),
            time_zone: config.time_zone.zone().clone(),
            popularity: popularity.mode,
            half_life: popularity.half_life,
        })
    }

    /// The log in `dir` with the defaults, but days of UTC: tests must not depend on the zone of their
    /// machine.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        let config = EventLogConfig::default();
        let popularity = PopularityConfig::default();
        EventLogSettings {
            dir: dir.into(),
            watch_address: None,
            window: config.window,
            hit_base: config.hit_base.get(),
            time_zone: TimeZone::UTC,
            popularity: popularity.mode,
            half_life: popularity.half_life,
        }
    }
}
