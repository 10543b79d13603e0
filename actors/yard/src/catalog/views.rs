//! The published state of a Catalog: the state of each input, and whether the Catalog is ready.

use std::io;
use std::path::Path;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;
use serde::Serialize;

use super::ranking::Ranking;
use super::settings::CatalogSettings;
use crate::catalog::files::rows::RowTally;
use crate::catalog::load_balancer::rising::{HitCurves, RisingHits};
use crate::catalog::popularity::popularity_order::PopularityOrder;
use crate::catalog::popularity::served_requests::ServedShares;
use crate::catalog::sources::master_sizes::MasterSizes;
use crate::catalog::sources::masters::Masters;

/// The state of an input at the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CatalogInputState {
    /// The input was not checked yet.
    #[default]
    NotRead,
    /// The content in use is the content of the file.
    Ok,
    /// It is being written, and will be read when it no longer changes.
    Changing,
    /// It does not exist.
    Missing,
    /// It exists but could not be read.
    Unreadable {
        /// The error of the operating system.
        why: String,
    },
}

impl CatalogInputState {
    /// The state of an input that failed with `error`.
    pub fn of_error(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => CatalogInputState::Missing,
            _ => CatalogInputState::Unreadable { why: error.to_string() },
        }
    }

    /// The problem of the input, if there is one.
    pub fn problem(&self) -> Option<String> {
        match self {
            CatalogInputState::NotRead | CatalogInputState::Ok | CatalogInputState::Changing => {
                None
            }
            CatalogInputState::Missing => Some("does not exist".to_owned()),
            CatalogInputState::Unreadable { why } => Some(format!("cannot be read: {why}")),
        }
    }
}

/// How changes of an input are noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum NoticedBy {
    /// The kernel reports changes at once. The input is still checked at its interval.
    Events,
    /// Only by checks at intervals.
    Polling {
        /// Why the kernel reports no changes.
        why: String,
    },
}

/// One input: a file, or one day's event log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CatalogInputView {
    /// Its path, as configured.
    pub path: String,
    /// Its state at the last look.
    #[serde(flatten)]
    pub state: CatalogInputState,
    /// When the content in use was read.
    pub read_at: Option<Millis>,
    /// When the content in use was last found equal to the file.
    pub good_at: Option<Millis>,
    /// When the file had been written that was read then.
    pub modified: Option<Millis>,
    /// How changes of it are noticed; none before the first look.
    pub noticed_by: Option<NoticedBy>,
    /// Its rows at that reading.
    #[serde(flatten)]
    pub tally: RowTally,
}

impl CatalogInputView {
    /// An input that was not checked yet.
    pub fn of(path: &Path) -> Self {
        CatalogInputView { path: path.display().to_string(), ..CatalogInputView::default() }
    }

    fn problem(&self) -> Option<String> {
        self.state.problem().map(|problem| format!("{} {problem}", self.path))
    }
}

/// One day's event log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventLogFileView {
    /// The file; its tally counts since this process began to follow it.
    #[serde(flatten)]
    pub input: CatalogInputView,
    /// The read position in the file, in bytes.
    pub offset: u64,
    /// The latest time in a selection, of any address. A time far from now means that the log has
    /// stopped, or that a clock is wrong.
    pub newest: Option<Millis>,
    /// Selections of the watched address in the window when they were read.
    pub hits: u64,
    /// Selections of other addresses.
    pub selections_elsewhere: u64,
    /// Selections that were older than the window when they were read.
    pub too_old: u64,
    /// "File Not Found" rows.
    pub not_found: u64,
    /// Rows of other events.
    pub other: u64,
}

/// State of the event log, as the status shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EventLogView {
    /// The days whose files are followed, oldest first.
    pub files: Vec<EventLogFileView>,
    /// Hits of all files within the watch window.
    pub hits_in_window: usize,
    /// Files that are hot.
    pub hot: usize,
    /// The hits of the hot files over the window.
    #[serde(skip)]
    pub curves: Arc<HitCurves>,
    /// Requests that were counted as demand since the start, those of earlier days included.
    pub requests_counted: u64,
    /// The share of requests that a destination served. Without a watched address it is unknown.
    pub served: ServedShares,
    /// The same share in each of the last 24 hours, oldest first, without hours that had no request.
    #[serde(skip)]
    pub served_by_hour: Vec<f64>,
}

impl EventLogView {
    /// One readable file of a day is enough, because at midnight the new file may not exist yet.
    fn problem(&self) -> Option<String> {
        let problems: Option<Vec<String>> =
            self.files.iter().map(|file| file.input.problem()).collect();
        problems?.pop().filter(|_| self.missing().is_none())
    }

    /// The message that the load balancer has not written any of the files yet. No file is hot then, and
    /// everything else works.
    fn missing(&self) -> Option<String> {
        let newest = self.files.last()?;
        let is_missing = |file: &EventLogFileView| file.input.state == CatalogInputState::Missing;
        self.files.iter().all(is_missing).then(|| {
            format!(
                "There is no event log yet, so no file becomes hot: {} does not exist.",
                newest.input.path
            )
        })
    }
}

/// The source directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceDirsView {
    /// The directories, in the order in which they are searched.
    pub dirs: Vec<SourceDirView>,
    /// Different names in all of them.
    pub masters: u64,
}

/// One source directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceDirView {
    /// Its path, as configured.
    pub path: String,
    /// Its state at the last look.
    #[serde(flatten)]
    pub state: CatalogInputState,
    /// When it was last listed.
    pub listed_at: Option<Millis>,
    /// When the content in use was last found equal to the directories.
    pub good_at: Option<Millis>,
    /// Names found then.
    pub files: u64,
    /// How changes of it are noticed; none before the first look.
    pub noticed_by: Option<NoticedBy>,
}

/// The observable state of a Catalog. Cheap to clone.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CatalogView {
    /// Whether every input was read and could be used at the last look.
    pub ready: bool,
    /// Problems of the inputs, one sentence each. The last good state of each input stays in use.
    pub problems: Vec<String>,
    /// Other problems, although all required inputs can be used.
    pub warnings: Vec<String>,
    /// When the last check of any input ended.
    pub looked_at: Option<Millis>,
    /// How often the kernel dropped change notifications; then every input was checked.
    pub overflows: u64,
    /// Files in the ranking.
    pub graded: usize,
    /// grade.info, if one is configured.
    pub grade_info: Option<CatalogInputView>,
    /// hitcount.history, if one is configured.
    pub hitcount_history: Option<CatalogInputView>,
    /// Rows of hitcount.history whose names are not graded.
    pub ungraded_history_rows: u64,
    /// The source directories.
    pub source_dirs: SourceDirsView,
    /// The event log, if one is configured.
    pub event_log: Option<EventLogView>,
    /// The ranking in use; none before the first one.
    #[serde(skip)]
    pub ranking: Option<Arc<Ranking>>,
    /// The demand for the files; none before the first request, or if it is not measured.
    #[serde(skip)]
    pub demand: Option<Arc<PopularityOrder>>,
    /// The files whose hits rise now.
    #[serde(skip)]
    pub rising: Arc<RisingHits>,
    /// The sizes of masters that were looked up.
    #[serde(skip)]
    pub master_sizes: MasterSizes,
    /// The masters; none before the first listing.
    #[serde(skip)]
    pub masters: Option<Arc<Masters>>,
}

impl CatalogView {
    /// The view of a Catalog that has not looked yet.
    pub(super) fn of(settings: &CatalogSettings) -> Self {
        let dir = |path: &Arc<str>| SourceDirView { path: path.to_string(), ..Default::default() };
        CatalogView {
            grade_info: settings.grade_info_file.as_deref().map(CatalogInputView::of),
            hitcount_history: settings.history_in_use().map(|path| CatalogInputView::of(path)),
            source_dirs: SourceDirsView {
                dirs: settings.source_dirs.iter().map(dir).collect(),
                masters: 0,
            },
            event_log: settings.event_log.as_ref().map(|_| EventLogView::default()),
            ..CatalogView::default()
        }
    }

    /// The hits of a hot file over the window, oldest first. Empty for other files.
    pub fn hit_curve(&self, file: FileId) -> &[u32] {
        let curve = self.event_log.as_ref().and_then(|log| log.curves.of(file));
        curve.map_or(&[], |curve| curve)
    }

    /// Updates the derived values: `ready`, `problems` and the counts. `stuck` are looks that do not
    /// end.
    pub(super) fn sum_up(&mut self, stuck: impl IntoIterator<Item = String>) {
        let inputs = self.grade_info.iter().chain(&self.hitcount_history);
        let inputs = inputs.filter_map(CatalogInputView::problem);
        let dirs = self.source_dirs.dirs.iter();
        let dirs = dirs.filter_map(|dir| Some(format!("{} {}", dir.path, dir.state.problem()?)));
        let log = self.event_log.as_ref().and_then(EventLogView::problem);
        self.problems = inputs.chain(dirs).chain(log).chain(stuck).collect();
        self.warnings = self.event_log.iter().filter_map(EventLogView::missing).collect();
        self.ready = self.problems.is_empty() && self.is_read();
        self.graded = self.ranking.as_ref().map_or(0, |ranking| ranking.len());
    }

    /// How changes of each input are noticed, if that is known.
    pub(super) fn noticed_by(&self) -> impl Iterator<Item = (&str, &NoticedBy)> {
        let files = self.grade_info.iter().chain(&self.hitcount_history);
        let days = self.event_log.iter().flat_map(|log| &log.files).map(|day| &day.input);
        let files = files.chain(days).map(|input| (&input.path, &input.noticed_by));
        let dirs = self.source_dirs.dirs.iter().map(|dir| (&dir.path, &dir.noticed_by));
        files.chain(dirs).filter_map(|(path, by)| Some((path.as_str(), by.as_ref()?)))
    }

    /// Whether the first check of every input is over.
    fn is_read(&self) -> bool {
        self.ranking.is_some()
            && self.masters.is_some()
            && self.event_log.as_ref().is_none_or(|log| !log.files.is_empty())
    }
}
