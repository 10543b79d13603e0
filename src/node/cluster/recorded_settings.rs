//! Follows the settings on record: a node that applied another version reloads with it. A leader with other members
//! puts its own settings on record if there are none.
//!
//! **Invariant:** owners make no decisions of their own before the node runs with the newest settings that it has
//! applied. Old settings could end shares, and forget hosts and pools.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reelyard_access::audit::{AuditRecord, AuditRecorder};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::Clock;
use reelyard_core::event::RequestId;
use reelyard_core::secret_id::IdSource;
use reelyard_journal::Journal;
use reelyard_replication::Member;
use reelyard_settings::cluster_settings::{ClusterSettingsView, RecordSettings, SettingsText};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::cluster_link::ClusterLink;
use super::settings_cache;
use crate::config::reading::recorded::RecordedSettings;
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

/// Why a node without other members records a version.
const ALONE_REASON: &str = "the file of the node, which is the only member";

/// Follows the settings on record of one node.
pub struct SettingsFollower {
    /// The owner of the settings on record, and its view.
    pub actors: Arc<Wiring>,
    /// Knows the own settings, and applies others.
    pub reloader: Arc<NodeReloader>,
    /// Knows the members, and warns.
    pub cluster: Arc<ClusterLink>,
    /// Holds the decisions of owners.
    pub journal: Journal,
    /// Woken when a node joins.
    pub joined: Arc<Notify>,
    /// The directory of the cache.
    pub data_dir: PathBuf,
    /// Records each version that takes effect here.
    pub audit: AuditRecorder,
    /// The time of these rows.
    pub clock: Clock,
}

/// Lets owners decide as soon as it is known that this node runs with the newest settings. If it does not, the
/// [`SettingsFollower`] does that later.
pub async fn allow_if_current(
    journal: Journal,
    views: ViewHandle<ClusterSettingsView>,
    in_force: Option<RecordedSettings>,
) {
    let mut news = views.news();
    loop {
        news.borrow_and_update();
        let view = views.load();
        if view.is_ready {
            if view.book.newest().map(|newest| RecordedSettings::from(&**newest)) == in_force {
                journal.allow_decisions(true);
            }
            return;
        }
        if news.changed().await.is_err() {
            return;
        }
    }
}

impl SettingsFollower {
    /// Runs until the node stops.
    pub async fn run(self) {
        let mut news = self.actors.settings_views.news();
        let mut reloads = self.reloader.reloads();
        let (mut is_cached, mut is_reloaded) = (false, false);
        loop {
            news.borrow_and_update();
            let view = self.actors.settings_views.load();
            let is_done = !view.is_ready
                || (self.is_followed(&view, &mut is_cached).await
                    && self.takes_own_file(&view, &mut is_reloaded).await);
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                changed = reloads.changed() => match changed {
                    Ok(()) => is_reloaded = true,
                    Err(_) => return,
                },
                () = self.joined.notified() => {}
                () = sleep(RETRY), if !is_done => {}
            }
        }
    }

    /// Whether nothing is left to do. Tries to bring that about.
    async fn is_followed(&self, view: &ClusterSettingsView, is_cached: &mut bool) -> bool {
        let newest = view.book.newest().map(|newest| RecordedSettings::from(&**newest));
        if self.reloader.recorded().await != newest {
            *is_cached = false;
            if !self.follow(newest.clone(), view).await {
                return false;
            }
        }
        self.journal.allow_decisions(true);
        if !*is_cached {
            *is_cached = self.cache(newest.clone()).await;
        }
        let begins = newest.is_none() && view.epoch.is_some() && self.cluster.has_other_members();
        *is_cached && (!begins || self.begins_the_record().await)
    }

    /// Applies settings on record, or the own ones again if there are none.
    async fn follow(&self, settings: Option<RecordedSettings>, view: &ClusterSettingsView) -> bool {
        let version = settings.as_ref().map(|settings| settings.version);
        match self.reloader.follow(settings).await {
            Ok(reloaded) => {
                tracing::info!(version, "settings on record take effect");
                reloaded.log();
                let record = AuditRecord::of_node(self.clock.now(), "node.followedSettings");
                let after = serde_json::json!({ "version": version });
                self.audit.record(AuditRecord { after: Some(after), ..record });
                self.cluster.set_not_followed(None);
                true
            }
            Err(refused) => {
                self.journal.allow_decisions(false);
                let why = format!("{refused:#}");
                if self.cluster.set_not_followed(Some(why.clone())) {
                    tracing::error!(version, why, "settings on record do not take effect here");
                }
                if view.epoch.is_some()
                    && let Err(error) = self.journal.hand_over(None).await
                {
                    tracing::debug!(%error, "no other node can lead with the settings on record");
                }
                false
            }
        }
    }

    /// Writes the settings for the next start. Answers whether it did.
    async fn cache(&self, settings: Option<RecordedSettings>) -> bool {
        let (dir, cluster) = (self.data_dir.clone(), self.journal.identity().cluster);
        let writing = tokio::task::spawn_blocking(move || {
            settings_cache::write(&dir, cluster, settings.as_ref())
        });
        let written = writing.await.map_err(io::Error::other).flatten();
        if let Err(error) = &written {
            tracing::warn!(%error, "the settings on record cannot be written to the data directory");
        }
        written.is_ok()
    }

    /// Puts the settings of this node on record as the first version. Answers whether they are.
    async fn begins_the_record(&self) -> bool {
        if let Some(older) = self.cluster.older_member() {
            tracing::debug!(node = older, "settings wait for a later version of this node");
            return false;
        }
        self.record(self.reloader.cluster_part().await, 0, FIRST_REASON).await
    }

    /// After a reload, puts the other settings of the cluster in the file of this node on record, if it is the only
    /// member. Answers whether nothing is left to do. Without a reload the file may be an old one.
    async fn takes_own_file(&self, view: &ClusterSettingsView, is_reloaded: &mut bool) -> bool {
        let is_alone = view.epoch.is_some() && !self.cluster.has_other_members();
        let newest = view.book.newest().filter(|_| is_alone && *is_reloaded);
        let version = newest.map(|newest| newest.number);
        *is_reloaded = match version.zip(self.reloader.own_changes().await) {
            Some((version, text)) => !self.record(text, version, ALONE_REASON).await,
            None => false,
        };
        !*is_reloaded
    }

    /// Puts settings on record after version `follows`. Answers whether they are.
    async fn record(&self, text: SettingsText, follows: u64, why: &str) -> bool {
        let next = RecordedSettings { version: follows + 1, text: text.clone() };
        if let Err(refused) = self.reloader.changes(None, next).await {
            tracing::error!("the settings of this node cannot be put on record: {refused:#}");
            return false;
        }
        let asked = RecordSettings {
            text,
            follows,
            by: BY_THE_NODE.to_owned(),
            why: why.to_owned(),
            request: RequestId::draw(&mut IdSource::system()),
        };
        let error = match self.actors.settings.ask(asked).await {
            Ok(Ok(_)) => {
                let record = AuditRecord::of_node(self.clock.now(), "node.recordedSettings");
                self.audit.record(record);
                return true;
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(error, "the settings of this node are not on record yet");
        false
    }
}

impl ClusterLink {
    /// Whether the cluster has other members.
    pub fn has_other_members(&self) -> bool {
        self.journal().is_some_and(|journal| journal.members().len() > 1)
    }

    /// The number of a member whose program is not known to read settings on record. None if every program does.
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
