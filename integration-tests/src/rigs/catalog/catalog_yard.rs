//! A Catalog over files in a temporary directory, with a manual clock and a probe.

use std::path::PathBuf;
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::names::{FileId, NameTable};
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::catalog::{
    Catalog, CatalogSettings, CheckInputsNow, EventLogSettings, LookUpMasters, MasterLook,
    WatchMode,
};

use crate::probes::catalog_probe::{CatalogNotifications, CatalogProbe, TakeNotifications};
use crate::rigs::catalog::catalog_input::MIDNIGHT_IN_SEOUL;

/// The address whose hits the event log counts.
pub const WATCHED: &str = "125.159.40.3";

/// A Catalog with its inputs, clock and probe.
pub struct CatalogYard {
    /// The directory of all inputs and sources.
    pub dir: tempfile::TempDir,
    /// The manual clock. It begins at midnight in Seoul.
    pub clock: Clock,
    /// The table that maps file ids to names.
    pub names: NameTable,
    /// The state that the Catalog publishes.
    pub view: ViewHandle<CatalogView>,
    /// The settings at the start.
    pub settings: CatalogSettings,
    catalog: Addr<Catalog>,
    probe: Addr<CatalogProbe>,
}

impl CatalogYard {
    /// Starts a Catalog that reads its inputs only on request. `prepare` may write inputs and change the
    /// settings first.
    ///
    /// # Panics
    /// Panics when the directory cannot be prepared.
    pub fn start(prepare: impl FnOnce(&std::path::Path, &mut CatalogSettings)) -> Self {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("no directory: {error}"));
        let mut settings = settings_in(dir.path());
        for source_dir in &settings.source_dirs {
            std::fs::create_dir(&**source_dir).unwrap_or_else(|error| panic!("{error}"));
        }
        prepare(dir.path(), &mut settings);
        let clock = Clock::manual(Millis::from_unix_seconds(MIDNIGHT_IN_SEOUL));
        let (names, probe) = (NameTable::new(), CatalogProbe::default().start());
        let subscribers = CatalogProbe::subscribers(&probe);
        let catalog = Catalog::new(settings.clone(), names.clone(), clock.clone(), subscribers);
        let view = catalog.view();
        CatalogYard { dir, clock, names, view, settings, catalog: catalog.start(), probe }
    }

    /// A path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The address of the Catalog actor, for messages of a test.
    pub fn catalog(&self) -> &Addr<Catalog> {
        &self.catalog
    }

    /// Makes the Catalog read all inputs. Returns the notifications since the last request.
    pub async fn look(&self) -> anyhow::Result<CatalogNotifications> {
        self.catalog.send(CheckInputsNow).await?;
        Ok(self.probe.send(TakeNotifications).await?)
    }

    /// The notifications since the last request.
    pub async fn take_notifications(&self) -> anyhow::Result<CatalogNotifications> {
        Ok(self.probe.send(TakeNotifications).await?)
    }

    /// Looks for one file in the source directories.
    pub async fn look_up(&self, name: &str) -> anyhow::Result<MasterLook> {
        let ids = self.names.intern_all([name.as_bytes()]);
        let files: Vec<FileId> = ids.into_iter().collect::<Result<_, _>>()?;
        let mut looks = self.catalog.send(LookUpMasters { files }).await?;
        looks.pop().map(|(_, look)| look).ok_or_else(|| anyhow::anyhow!("no answer"))
    }

    /// Readable names for file ids.
    pub fn names_of(&self, files: impl IntoIterator<Item = FileId>) -> Vec<String> {
        files.into_iter().map(|file| self.names.name(file).to_string()).collect()
    }

    /// The hot files in the published state, with their hits.
    pub fn hot(&self) -> Vec<(String, u32)> {
        let view = self.view.load();
        let hot = view.rising.hot().iter();
        hot.map(|&(file, hits)| (self.names.name(file).to_string(), hits)).collect()
    }
}

/// Inputs `grade.info` and `hitcount.history`, event logs in `logs/` with the time zone of Seoul, and the
/// sources `one/` and `two/`.
fn settings_in(dir: &std::path::Path) -> CatalogSettings {
    let text = |name: &str| dir.join(name).to_string_lossy().into();
    CatalogSettings {
        grade_info_file: Some(dir.join("grade.info")),
        hitcount_history_file: Some(dir.join("hitcount.history")),
        source_dirs: vec![text("one"), text("two")],
        watch: WatchMode::Poll,
        poll_interval: Duration::from_secs(24 * 3600),
        settle: Duration::ZERO,
        destination_ips: ["10.0.0.21", "10.0.0.22"].iter().flat_map(|ip| ip.parse()).collect(),
        event_log: Some(EventLogSettings {
            watch_address: WATCHED.parse().ok(),
            time_zone: jiff::tz::TimeZone::get("Asia/Seoul").unwrap_or(jiff::tz::TimeZone::UTC),
            ..EventLogSettings::new(dir.join("logs"))
        }),
        ..CatalogSettings::default()
    }
}
