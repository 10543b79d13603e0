//! Follows the settings on record: a node that applied another version reloads with it. A leader with other members
//! puts its own settings on record if there are none.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::event::RequestId;
use reelyard_core::secret_id::IdSource;
use reelyard_replication::Member;
use reelyard_settings::cluster_settings::{ClusterSettingsView, RecordSettings, SettingsVersion};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::cluster_link::ClusterLink;
use super::settings_cache;
use crate::config::RecordedSettings;
use crate::node::actors::Wiring;
use crate::node::reload::NodeReloader;

/// Pause after settings that could not be applied or recorded.
const RETRY: Duration = Duration::from_secs(5);

/// The first format level with settings on record.
const LEVEL_WITH_RECORD: u16 = 2;

/// The caller of the first version.
const BY_THE_NODE: &str = "the node";

/// Why the first version is recorded.
const FIRST_REASON: &str = "the first settings on record: those of the node that led";

/// Follows the settings on record of one node.
pub struct SettingsFollower {
    keeper: RecordKeeper,
    /// Woken when a node joins.
    joined: Arc<Notify>,
    /// The directory of the cache.
    data_dir: PathBuf,
}

/// Puts settings on record.
#[derive(Clone)]
pub struct RecordKeeper {
    /// The owner of the settings on record, and its view.
    pub actors: Arc<Wiring>,
    /// Knows the own settings, and applies others.
    pub reloader: Arc<NodeReloader>,
    /// Knows the members.
    pub cluster: Arc<ClusterLink>,
}

impl SettingsFollower {
    /// Follows by `keeper`. `joined` is notified when a node joins.
    pub fn new(keeper: RecordKeeper, joined: Arc<Notify>, data_dir: PathBuf) -> Self {
        SettingsFollower { keeper, joined, data_dir }
    }

    /// Runs until the node stops.
    pub async fn run(self) {
        let mut news = self.keeper.actors.settings_views.news();
        loop {
            news.borrow_and_update();
            let view = self.keeper.actors.settings_views.load();
            let is_done = !view.is_ready || self.is_followed(&view).await;
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                () = self.joined.notified() => {}
                () = sleep(RETRY), if !is_done => {}
            }
        }
    }

    /// Whether this node runs with the newest settings on record. Tries to bring that about.
    async fn is_followed(&self, view: &ClusterSettingsView) -> bool {
        match view.book.newest() {
            Some(newest) => self.applies(newest).await,
            None if view.epoch.is_some() && self.keeper.cluster.has_other_members() => {
                self.begins_the_record().await
            }
            None => true,
        }
    }

    async fn applies(&self, newest: &SettingsVersion) -> bool {
        let SettingsVersion { number: version, text, .. } = newest;
        if self.keeper.reloader.recorded_version().await == Some(*version) {
            return true;
        }
        let settings = RecordedSettings { version: *version, text: text.clone() };
        let (dir, to_write) = (self.data_dir.clone(), settings.clone());
        let writing =
            tokio::task::spawn_blocking(move || settings_cache::write(&dir, &to_write)).await;
        if let Err(error) = writing.map_err(std::io::Error::other).flatten() {
            tracing::error!(
                version, %error,
                "the settings on record cannot be written to the data directory"
            );
            return false;
        }
        match self.keeper.reloader.follow(settings).await {
            Ok(reloaded) => {
                let (by, why) = (&newest.by, &newest.why);
                tracing::info!(version, by, why, "settings on record take effect");
                reloaded.log();
                true
            }
            Err(refused) => {
                tracing::error!(version, "settings on record do not take effect here: {refused:#}");
                false
            }
        }
    }

    /// Puts the settings of this node on record as the first version. Answers whether they are.
    async fn begins_the_record(&self) -> bool {
        if let Some(older) = self.keeper.cluster.older_member() {
            tracing::warn!(
                node = older,
                "settings come on record once this node has a version of reelyard that knows them"
            );
            return false;
        }
        let text = match self.keeper.reloader.cluster_part().await {
            Ok(text) => text,
            Err(faults) => {
                tracing::error!("the settings of this node cannot be put on record: {faults:#}");
                return false;
            }
        };
        let asked = RecordSettings {
            text,
            follows: 0,
            by: BY_THE_NODE.to_owned(),
            why: FIRST_REASON.to_owned(),
            request: RequestId::draw(&mut IdSource::system()),
        };
        match self.keeper.actors.settings.ask(asked).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the settings of this node are not on record yet");
                false
            }
            Err(error) => {
                tracing::warn!(%error, "the settings of this node are not on record yet");
                false
            }
        }
    }
}

impl ClusterLink {
    /// Whether the cluster has other members.
    fn has_other_members(&self) -> bool {
        self.journal().is_some_and(|journal| journal.members().len() > 1)
    }

    /// The number of a member whose program does not know settings on record. None if every program does.
    pub fn older_member(&self) -> Option<u64> {
        let journal = self.journal()?;
        let peers = self.peers();
        let level = |member: &Member| {
            let peer = peers.iter().find(|peer| peer.number == member.number);
            let seen = peer.and_then(|peer| peer.levels).map_or(0, |levels| levels.max);
            seen.max(member.record.format_level)
        };
        let own = journal.identity().number;
        let others = journal.members().into_iter().filter(|member| member.number != own);
        others.filter(|member| level(member) < LEVEL_WITH_RECORD).map(|older| older.number).next()
    }
}
