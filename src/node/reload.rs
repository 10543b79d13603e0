//! Reloads the configuration of a running node. Settings that can change at once do, and the others
//! are named.

use std::sync::Arc;

use reelyard_api::{Change, ChangeEvent, ConfigurationChange};
use reelyard_core::clock::Clock;
use reelyard_shares::{share_expiry, share_files};
use reelyard_yard::{catalog, cfw_worker, heartbeat, remover, task_manager};
use tokio::sync::Mutex;

use super::live_config::{ActiveConfig, LiveConfig};
use super::share_links::ShareLinks;
use super::{Wiring, settings};
use crate::config::{Difference, EffectiveSetting, Layers, LogSettings, NodeConfig};
use crate::logging;
use crate::reloading::{HotReloadKeys, ReloadRefused, Reloaded, read_again};

/// The configuration of a node with its sources.
pub type LoadedNodeConfig = crate::reloading::LoadedConfig<NodeConfig>;

/// Settings that change at once.
const AT_ONCE: HotReloadKeys = HotReloadKeys(&[
    "token",
    "token_file",
    "source_dirs",
    "hosts.",
    "ignore.",
    "catalog.",
    "event_log.",
    "heartbeat.",
    "calls.",
    "task.",
    "placement.",
    "bandwidth.",
    "storage.",
    "copies.",
    "remover.",
    "share.",
    "box.",
    "history.",
    "log.level",
]);

/// Reloads the configuration of a node.
pub struct NodeReloader {
    layers: Layers,
    live: LiveConfig,
    actors: Arc<Wiring>,
    share_links: Arc<ShareLinks>,
    /// The running settings; locked during a reload.
    running: Mutex<Vec<EffectiveSetting>>,
}

impl NodeReloader {
    /// For a node that runs with `live` and the settings `running`.
    pub(super) fn new(
        layers: Layers,
        running: Vec<EffectiveSetting>,
        (live, actors, share_links): (LiveConfig, Arc<Wiring>, Arc<ShareLinks>),
    ) -> Self {
        NodeReloader { layers, live, actors, share_links, running: Mutex::new(running) }
    }

    /// Reloads the configuration and applies it; an invalid one is refused as a whole. A `dry` run
    /// only returns the changes.
    pub async fn reload(&self, dry: bool) -> Result<Reloaded, ReloadRefused> {
        let mut running = self.running.lock().await;
        let LoadedNodeConfig { config, effective, .. } = read_again(self.layers.clone()).await?;
        let before = self.live.now();
        let reloaded = Reloaded::between(
            (&before.config, running.as_slice()),
            (&config, effective.as_slice()),
            AT_ONCE,
        );
        if !dry {
            let config = usable_now(config, &before.config);
            let listener = self.share_links.prepare(&config).await.map_err(anyhow::Error::from)?;
            let after = self.live.set(config).map_err(anyhow::Error::from)?;
            // Before the owner of shares learns of new roots, because it must find them open.
            self.share_links.apply_config(&after.config, listener).await;
            self.actors.apply_config(&before, &after);
            logging::change_level(&after.config.log.level);
            AT_ONCE.keep_the_rest(&mut running, effective);
            self.actors.publish_reload(&reloaded);
        }
        Ok(reloaded)
    }

    /// Reloads after a signal, and logs the result.
    pub async fn reload_and_log(&self) {
        match self.reload(false).await {
            Ok(reloaded) => reloaded.log(),
            Err(refused) => refused.log(),
        }
    }
}

/// The new configuration with the old values of settings that need a restart.
fn usable_now(new: NodeConfig, running: &NodeConfig) -> NodeConfig {
    let old = running.clone();
    NodeConfig {
        listen: old.listen,
        data_dir: old.data_dir,
        node_id: old.node_id,
        journal: old.journal,
        http: old.http,
        log: LogSettings { format: old.log.format, ..new.log },
        ..new
    }
}

impl Wiring {
    /// Publishes the changes of the configuration.
    fn publish_reload(&self, reloaded: &Reloaded) {
        let keys = |differences: &[Difference]| {
            differences.iter().map(|difference| difference.key.clone()).collect()
        };
        let change = ConfigurationChange {
            applied: keys(&reloaded.applied),
            needs_restart: keys(&reloaded.needs_restart),
        };
        if !change.applied.is_empty() || !change.needs_restart.is_empty() {
            let now = Clock::system().now();
            let change = Change::Configuration(change);
            self.changes.publish(ChangeEvent { time: now, change });
        }
    }

    /// Sends new settings to every actor whose settings changed.
    fn apply_config(&self, before: &ActiveConfig, after: &ActiveConfig) {
        let in_force = after;
        let (before, after, http) = (&before.config, &after.config, &after.calls);
        let (old, new) = (settings::catalog(before), settings::catalog(after));
        if old != new {
            self.catalog.addr().do_send(catalog::ChangeCatalogSettings(new));
        }
        let (old, new) = (settings::heartbeat(before), settings::heartbeat(after));
        if old != new {
            self.heartbeat.addr().do_send(heartbeat::ChangeHeartbeatSettings(new));
        }
        let (old, new) = (settings::calls(before), settings::calls(after));
        if old != new {
            for host in self.hosts.present().values() {
                let (settings, http) = (new.clone(), http.clone());
                host.worker.addr().do_send(cfw_worker::ChangeCfwWorkerSettings { settings, http });
            }
        }
        let (old, new) = (settings::remover(before), settings::remover(after));
        if old != new {
            self.remover.addr().do_send(remover::ChangeRemoverSettings(new));
        }
        let (old, new) = (settings::shares(before), settings::shares(after));
        if old != new {
            self.share_expiry.addr().do_send(share_expiry::ChangeShareSettings(new));
        }
        self.hooks.apply_config(in_force);
        let (old, new) = (settings::share_files(before), settings::share_files(after));
        if old != new {
            self.share_files.addr().do_send(share_files::ChangeShareFilesSettings(new));
        }
        // The operator may have mounted a root just before the reload.
        self.share_files.addr().do_send(share_files::CheckRoots);
        self.boxes.apply_config(before, after);
        let of_tasks = |config| (settings::tasks(config), settings::hosts(config));
        let (old, new) = (of_tasks(before), of_tasks(after));
        if old != new {
            let (settings, hosts) = new;
            self.task_manager.addr().do_send(task_manager::ChangeTaskSettings { settings, hosts });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Difference;
    use crate::guide::{GuideLanguage, chapter};
    use crate::reloading::assert_each_is_decided;

    /// Settings that need a restart. Every setting must be in one of the two lists.
    const WITH_RESTART: [&str; 6] =
        ["listen", "data_dir", "node_id", "journal.", "http.", "log.format"];

    fn configured(set: &[&str]) -> LoadedNodeConfig {
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        LoadedNodeConfig::read(Layers { set, ..Layers::default() }).unwrap()
    }

    fn between(before: &LoadedNodeConfig, after: &LoadedNodeConfig) -> (Vec<String>, Vec<String>) {
        let reloaded = Reloaded::between(
            (&before.config, before.effective.as_slice()),
            (&after.config, after.effective.as_slice()),
            AT_ONCE,
        );
        let message_of = |differences: Vec<Difference>| {
            differences.iter().map(Difference::to_string).collect::<Vec<_>>()
        };
        (message_of(reloaded.applied), message_of(reloaded.needs_restart))
    }

    #[test]
    fn the_guide_names_the_settings_that_need_a_restart() {
        let keys = WITH_RESTART.map(|key| match key.strip_suffix('.') {
            Some(section) => format!("`{section}.*`"),
            None => format!("`{key}`"),
        });
        let chapter = chapter("configuration").unwrap().text(GuideLanguage::English);
        assert!(chapter.contains(&format!("| Node | {} |", keys.join(", "))), "{keys:?}");
    }

    #[test]
    fn every_setting_changes_at_once_or_takes_a_restart() {
        let settings = configured(&[]).effective;
        assert_each_is_decided(&settings, AT_ONCE, &WITH_RESTART, "node/reload.rs");
    }

    #[test]
    fn changes_that_need_a_restart_are_reported_each_time() {
        let running = configured(&["http.threads=1", "task.timeout=5m"]);
        let new = || configured(&["http.threads=2", "task.timeout=6m", "data_dir=elsewhere"]);
        let (applied, needs_restart) = between(&running, &new());
        assert_eq!(applied, ["task.timeout: \"5m\" -> \"6m\""]);
        let restart = ["data_dir: \"reelyard-data\" -> \"elsewhere\"", "http.threads: 1 -> 2"];
        assert_eq!(needs_restart, restart);
        let mut effective = running.effective.clone();
        AT_ONCE.keep_the_rest(&mut effective, new().effective);
        let config = usable_now(new().config, &running.config);
        assert_eq!(config.data_dir, running.config.data_dir);
        assert_eq!(config.task.timeout, new().config.task.timeout);
        let layers = Layers::default();
        let now = LoadedNodeConfig { config, effective, layers };
        assert_eq!(between(&now, &new()), (vec![], restart.map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_changed_token_is_reported_without_its_value() {
        let tokens = ["token=0123456789abcdef", "token=fedcba9876543210"];
        let [one, other] = tokens.map(|token| configured(&[token]));
        assert_eq!(between(&one, &other), (vec!["token: changed".to_owned()], vec![]));
        assert_eq!(between(&one, &configured(&[])).0, ["token: changed"]);
        assert_eq!(between(&one, &one), (vec![], vec![]));
        let hooked = |url: &str, secret: &str| {
            configured(&[&format!(
                "share.webhooks={{ b = {{ url = \"{url}\", secret = \"{secret}\" }} }}"
            )])
        };
        let secrets = ["0123456789abcdef", "fedcba9876543210"];
        let [one, other] = secrets.map(|secret| hooked("http://a/x", secret));
        assert_eq!(between(&one, &other), (vec!["share.webhooks: changed".to_owned()], vec![]));
        let elsewhere = between(&one, &hooked("http://b/x", secrets[1])).0.join("\n");
        assert!(elsewhere.contains("http://b/x") && !elsewhere.contains(secrets[1]), "{elsewhere}");
    }
}
