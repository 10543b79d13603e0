//! Reloads the configuration of a running node. Settings that can change at once do, and the others
//! are named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reelyard_access::audit::{AuditRecord, AuditRecorder};
use reelyard_api::{Change, ChangeEvent, ConfigurationChange};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::clock::Clock;
use reelyard_core::settings::{ConfigFault, Gathered, SettingOrigin, SettingsGroup};
use reelyard_settings::cluster_settings::SettingsText;
use reelyard_shares::share_files;
use reelyard_shares::webhook::{HookConfig, WebhookName};
use tokio::sync::{Mutex, watch};

use super::actors::Wiring;
use super::cluster::ClusterLink;
use super::live_config::{ActiveConfig, LiveConfig};
use super::settings;
use super::share_links::ShareLinks;
use crate::config::reading::recorded::{self, RecordedSettings};
use crate::config::{self, ConfigFaults, Difference, EffectiveSetting, Layers, NodeConfig};
use crate::logging;
use crate::reloading::{ReloadRefused, Reloaded, keep_the_rest, read_again};

/// The configuration of a node with its sources.
pub type LoadedNodeConfig = crate::reloading::LoadedConfig<NodeConfig>;

/// Reloads the configuration of a node.
pub struct NodeReloader {
    live: LiveConfig,
    actors: Arc<Wiring>,
    share_links: Arc<ShareLinks>,
    cluster: Arc<ClusterLink>,
    audit: AuditRecorder,
    clock: Clock,
    /// How often the sources were read again.
    reloads: watch::Sender<u64>,
    /// Locked during a reload.
    running: Mutex<RunningSettings>,
}

/// The settings in force, and their sources.
pub(crate) struct RunningSettings {
    pub(crate) effective: Vec<EffectiveSetting>,
    pub(crate) layers: Layers,
    /// The settings that the sources set when they were last read.
    pub(crate) own: Gathered,
    /// The settings on record in force. None if the node runs with its own ones.
    pub(crate) record: Option<RecordedSettings>,
}

impl RunningSettings {
    /// Makes the cluster's page and warnings say how the node runs with the settings on record.
    pub(crate) fn show_in(&self, config: &NodeConfig, cluster: &ClusterLink) {
        let differing = self.record.as_ref().map(|record| record.differing(&self.own));
        let keys = differing.unwrap_or_default().into_iter().map(|difference| difference.key);
        let silent = config.share.webhooks.webhooks.without_secret();
        let silent = silent.map(|(name, _)| name.to_string()).collect();
        cluster.set_record(self.record.is_some(), keys.collect(), silent);
    }
}

/// Settings that may take the place of those in force.
struct NextSettings {
    config: NodeConfig,
    settings: RunningSettings,
    /// Settings of the cluster that the sources set to other values than the record.
    not_as_recorded: Vec<Difference>,
}

/// Reads the configuration of a node from its own settings and those on record, off the threads of its actors.
async fn next(
    layers: Layers,
    own: Gathered,
    record: Option<RecordedSettings>,
) -> Result<NextSettings, ReloadRefused> {
    let reading = tokio::task::spawn_blocking(move || {
        let merged = match &record {
            Some(record) => record.with_node_part(&own)?,
            None => own.clone(),
        };
        let (config, effective) = config::resolve::<NodeConfig>(merged)?;
        let differing = record.as_ref().map(|record| record.differing(&own));
        let settings = RunningSettings { effective, layers, own, record };
        Ok(NextSettings { config, settings, not_as_recorded: differing.unwrap_or_default() })
    });
    let read: Result<NextSettings, ConfigFaults> = reading.await.map_err(anyhow::Error::from)?;
    Ok(read?)
}

/// The webhooks that are not so before, and whose secrets cannot be read on this node.
fn unreadable_secrets(before: &NodeConfig, after: &NodeConfig) -> ConfigFaults {
    let known = &before.share.webhooks.webhooks.0;
    let new = after.share.webhooks.webhooks.without_secret();
    let new = new.filter(|(name, hook)| known.get(*name) != Some(*hook));
    let fault = |(name, hook): (&WebhookName, &HookConfig)| {
        let file = hook.secret_file.as_deref().unwrap_or(Path::new("")).display();
        let key = Some("share.webhooks".to_owned());
        let what = format!(
            "{name}: secret_file: {file} is missing, cannot be read, or has no valid secret on this node"
        );
        ConfigFault { origin: SettingOrigin::Default, key, what }
    };
    ConfigFaults(new.map(fault).collect())
}

impl NodeReloader {
    /// For a node that runs with `live` and the settings `running`.
    pub(crate) fn new(
        running: RunningSettings,
        (live, actors, share_links, cluster): (
            LiveConfig,
            Arc<Wiring>,
            Arc<ShareLinks>,
            Arc<ClusterLink>,
        ),
        (audit, clock): (AuditRecorder, Clock),
    ) -> Self {
        let (running, reloads) = (Mutex::new(running), watch::Sender::new(0));
        NodeReloader { live, actors, share_links, cluster, audit, clock, reloads, running }
    }

    /// How often the sources were read again, as a channel to watch.
    pub(crate) fn reloads(&self) -> watch::Receiver<u64> {
        self.reloads.subscribe()
    }

    /// The text of a next version of the settings in force, if the sources of this node set other values.
    pub(crate) async fn own_changes(&self) -> Option<SettingsText> {
        let running = self.running.lock().await;
        running.record.as_ref()?.changed_by(&running.own)
    }

    /// Path of the configuration file, if there is one.
    pub async fn file(&self) -> Option<PathBuf> {
        self.running.lock().await.layers.file.clone()
    }

    /// The settings in force, each with its origin.
    pub async fn running(&self) -> Vec<EffectiveSetting> {
        self.running.lock().await.effective.clone()
    }

    /// The settings on record with which the node runs. None if it runs with its own.
    pub async fn recorded(&self) -> Option<RecordedSettings> {
        self.running.lock().await.record.clone()
    }

    /// The settings of the cluster with which this node runs without a record, as the text of a record.
    pub async fn cluster_part(&self) -> SettingsText {
        let running = self.running.lock().await;
        recorded::cluster_part(&running.own, &running.effective)
    }

    /// The changes on this node from one record to another. Without a first one, from the settings in force.
    ///
    /// # Errors
    /// The other record has faults, or does not go with the settings of this node. The file of a new webhook must be
    /// here: probably its path is wrong.
    pub async fn changes(
        &self,
        from: Option<RecordedSettings>,
        to: RecordedSettings,
    ) -> Result<Reloaded, ReloadRefused> {
        let (layers, own, in_force) = {
            let running = self.running.lock().await;
            (running.layers.clone(), running.own.clone(), running.record.clone())
        };
        let before = next(layers.clone(), own.clone(), from.or(in_force)).await?;
        let after = next(layers, own, Some(to)).await?;
        let faults = unreadable_secrets(&before.config, &after.config);
        if !faults.0.is_empty() {
            return Err(faults.into());
        }
        Ok(Reloaded::between(
            (&before.config, before.settings.effective.as_slice()),
            (&after.config, after.settings.effective.as_slice()),
        ))
    }

    /// Applies settings on record, or the own ones again. If they are refused, the former ones stay in force. The
    /// sources are not read again.
    ///
    /// # Errors
    /// They do not go with the settings of this node.
    pub async fn follow(
        &self,
        record: Option<RecordedSettings>,
    ) -> Result<Reloaded, ReloadRefused> {
        let mut running = self.running.lock().await;
        let next = next(running.layers.clone(), running.own.clone(), record).await?;
        self.apply(&mut running, next, false).await
    }

    /// Reloads the configuration and applies it; an invalid one is refused as a whole. A `dry` run
    /// only returns the changes.
    pub async fn reload(&self, dry: bool) -> Result<Reloaded, ReloadRefused> {
        let mut running = self.running.lock().await;
        let LoadedNodeConfig { given, layers, .. } = read_again(running.layers.clone()).await?;
        let next = next(layers, given, running.record.clone()).await?;
        let mut reloaded = self.apply(&mut running, next, dry).await?;
        if !self.cluster.has_other_members() {
            // They are put on record, and take effect then.
            reloaded.applied.append(&mut reloaded.not_as_recorded);
        }
        if !dry {
            self.reloads.send_modify(|count| *count += 1);
        }
        Ok(reloaded)
    }

    async fn apply(
        &self,
        running: &mut RunningSettings,
        next: NextSettings,
        dry: bool,
    ) -> Result<Reloaded, ReloadRefused> {
        let NextSettings { mut config, mut settings, not_as_recorded } = next;
        let before = self.live.now();
        let changes = Reloaded::between(
            (&before.config, running.effective.as_slice()),
            (&config, settings.effective.as_slice()),
        );
        let reloaded = Reloaded { not_as_recorded, ..changes };
        if !dry {
            config.keep_until_restart(&before.config);
            let listener = self.share_links.prepare(&config).await.map_err(anyhow::Error::from)?;
            let shared = self.cluster.apply_config(&config, &settings.effective).await;
            shared.map_err(anyhow::Error::from)?;
            let version = settings.record.as_ref().map(|record| record.version);
            let after = self.live.set(config, version).map_err(anyhow::Error::from)?;
            // Before the owner of shares gets new roots, because it must find them open.
            self.share_links.apply_config(&after.config, listener).await;
            self.actors.apply_config(&before, &after);
            let limits = settings::audit(&after.config);
            if limits != settings::audit(&before.config) {
                self.audit.change_settings(limits);
            }
            logging::change_level(&after.config.log.level);
            keep_the_rest(&mut running.effective, std::mem::take(&mut settings.effective));
            settings.effective = std::mem::take(&mut running.effective);
            *running = settings;
            running.show_in(&after.config, &self.cluster);
            self.actors.publish_reload(&reloaded);
        }
        Ok(reloaded)
    }

    /// Reloads after a signal, and logs the result.
    pub async fn reload_and_log(&self) {
        match self.reload(false).await {
            Ok(reloaded) => {
                reloaded.log();
                let after = Some(reloaded.summary());
                let record = AuditRecord::of_node(self.clock.now(), "node.reloaded");
                self.audit.record(AuditRecord { after, ..record });
            }
            Err(refused) => refused.log(),
        }
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
        let of_both = (settings::catalog(before), settings::catalog(after));
        ChangeSettings::send(&self.catalog, of_both);
        let of_both = (settings::heartbeat(before), settings::heartbeat(after));
        ChangeSettings::send(&self.heartbeat, of_both);
        let (old, new) = (settings::calls(before), settings::calls(after));
        if old != new {
            for host in self.hosts.present().values() {
                host.worker.addr().do_send(ChangeSettings((new.clone(), http.clone())));
            }
        }
        ChangeSettings::send(&self.remover, (settings::remover(before), settings::remover(after)));
        ChangeSettings::send(&self.access, (settings::access(before), settings::access(after)));
        ChangeSettings::send(
            &self.share_expiry,
            (settings::shares(before), settings::shares(after)),
        );
        self.hooks.apply_config(in_force);
        let of_both = (before.share.files.clone(), after.share.files.clone());
        ChangeSettings::send(&self.share_files, of_both);
        // The operator may have mounted a root just before the reload.
        self.share_files.addr().do_send(share_files::CheckRoots);
        self.boxes.apply_config(before, in_force);
        let of_tasks = |config| (settings::tasks(config), settings::hosts(config));
        ChangeSettings::send(&self.task_manager, (of_tasks(before), of_tasks(after)));
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::settings::{DescribedSetting, Presence, TakesEffect, sections};

    use super::*;
    use crate::config::Difference;
    use crate::guide::{GuideLanguage, chapter};
    use crate::reloading::keys_with_restart;

    fn configured(set: &[&str]) -> LoadedNodeConfig {
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        LoadedNodeConfig::read(Layers { set, ..Layers::default() }).unwrap()
    }

    fn between(before: &LoadedNodeConfig, after: &LoadedNodeConfig) -> (Vec<String>, Vec<String>) {
        let reloaded = Reloaded::between(
            (&before.config, before.effective.as_slice()),
            (&after.config, after.effective.as_slice()),
        );
        let message_of = |differences: Vec<Difference>| {
            differences.iter().map(Difference::to_string).collect::<Vec<_>>()
        };
        (message_of(reloaded.applied), message_of(reloaded.needs_restart))
    }

    #[test]
    fn the_guide_names_the_settings_that_need_a_restart() {
        let keys = keys_with_restart::<NodeConfig>();
        let chapter = chapter("configuration").unwrap().text(GuideLanguage::English);
        assert!(chapter.contains(&format!("| Node | {} |", keys.join(", "))), "{keys:?}");
    }

    /// The settings that a reload hands to actors, to the links and to the log.
    fn handed_over(config: &NodeConfig) -> String {
        format!(
            "{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}",
            settings::catalog(config),
            settings::heartbeat(config),
            settings::calls(config),
            settings::remover(config),
            settings::tasks(config),
            settings::hosts(config),
            settings::shares(config),
            settings::hooks(config),
            settings::share_server(config),
            settings::box_link(config),
            settings::access(config),
            (settings::audit(config), config.share.links.access_log_settings()),
            (&config.compat, &config.metrics, &config.cluster),
            (&config.share.files, &config.share.rules.roots, &config.share.links.drain_timeout),
            config.share.links.tls.certificate.as_ref().zip(config.share.links.tls.key.as_ref()),
            (&config.r#box.pools, &config.r#box.memory),
            (&config.tls.certificate, &config.tls.key),
            config.token.as_ref().map(|token| token.reveal().to_owned()),
            config.log.level,
        )
    }

    /// Another value than the default, as a `--set` argument.
    fn another_value(setting: &DescribedSetting) -> String {
        let value = &setting.value;
        match setting.key.as_str() {
            "task.mode" | "remover.mode" | "popularity.mode" => "off",
            "popularity.half_life" => "7d",
            "popularity.keep" => "2.5",
            "popularity.daily_budget" => "1TiB",
            "task.placement" => "ring",
            "remover.keep" => "cfm",
            "catalog.watch" => "poll",
            "share.at_limit" => "least-used",
            "bandwidth.time_zone" | "event_log.time_zone" => "Asia/Seoul",
            "placement.weights" => "{ room = 1, traffic = 1 }",
            "bandwidth.sources" | "bandwidth.destinations" => "{ default = \"1Gbit/s\" }",
            "hosts.node_exporters" => "{ \"10.0.0.21:8888\" = \"http://10.0.0.21:9100/metrics\" }",
            "hosts.sources" | "hosts.destinations" | "calls.tls" => "10.0.0.21:8888",
            "ignore.prefixes" => "MN1",
            "source_dirs" => "/masters",
            "share.roots" => "{ movies = \"/data/movies\" }",
            "share.trusted_proxies" => "10.0.0.1",
            "share.listen" => "127.0.0.1:8082",
            "share.webhooks" => "{ b = { url = \"http://a/x\", secret = \"0123456789abcdef\" } }",
            "box.pools" => "{ a = { size = 1 } }",
            "log.level" => "debug",
            "share.access_log_address" => "full",
            "audit.max_size" => "2GiB",
            // Their examples equal the values that follow from other settings.
            "storage.low_water_percent" => "80",
            "remover.make_room_hits" => "7",
            "heartbeat.suspect_after" => "2",
            "heartbeat.jitter" => "0.2",
            "storage.limit_percent" => "91",
            // Lower than its default in file descriptors, so that the limit of the process is no reason.
            "share.connections" => "64",
            _ if setting.presence != Presence::Default => value,
            _ if value == "false" => "true",
            _ if value == "true" => "false",
            _ => return another_number(value),
        }
        .to_owned()
    }

    /// A count one higher, a duration a second longer.
    fn another_number(value: &str) -> String {
        match value.parse::<u64>() {
            Ok(number) => (number + 1).to_string(),
            Err(_) => format!("{} 1ms", value.trim_matches('"')),
        }
    }

    #[test]
    fn every_changed_setting_reaches_an_actor_or_needs_a_restart() {
        // Other tests read these from files.
        let read_from_files = [
            "token_file",
            "share.tls.certificate",
            "share.tls.key",
            "tls.certificate",
            "tls.key",
            "calls.ca_file",
            "cluster.tls.ca_file",
            "cluster.tls.cert_file",
            "cluster.tls.key_file",
        ];
        // These have an effect only together with another setting.
        let with_others: &[(&str, &[&str])] = &[
            ("event_log.", &["event_log.dir=/var/log/glb"]),
            ("cluster.address", &["cluster.listen=127.0.0.1:8082"]),
            ("event_log.dir", &[]),
            ("event_log.hit_base", &[]),
            ("popularity.mode", &["event_log.dir=/var/log/glb"]),
            ("popularity.half_life", &["event_log.dir=/var/log/glb"]),
            ("share.allow_never", &[]),
            ("share.max_ttl", &[]),
        ];
        let mut needs_restart = 0;
        for setting in sections::<NodeConfig>().iter().flat_map(|section| &section.settings) {
            let key = setting.key.as_str();
            if read_from_files.contains(&key) {
                continue;
            }
            let others = with_others.iter().rev().find(|(start, _)| key.starts_with(start));
            let mut set = others.map(|(_, set)| set.to_vec()).unwrap_or_default();
            let before = configured(&set);
            if setting.applies.effect == TakesEffect::Restart {
                needs_restart += 1;
                continue;
            }
            let argument = format!("{key}={}", another_value(setting));
            set.push(&argument);
            let after = configured(&set);
            let (applied, restart) = between(&before, &after);
            assert!(applied.iter().any(|one| one.starts_with(key)), "{argument}: {applied:?}");
            assert_eq!(restart, [""; 0], "{argument}");
            let differs = handed_over(&before.config) != handed_over(&after.config);
            assert!(differs, "{key} takes effect at once, but a reload hands it to nobody");
        }
        assert!(needs_restart > 0);
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
        keep_the_rest(&mut effective, new().effective);
        let mut config = new().config;
        config.keep_until_restart(&running.config);
        assert_eq!(config.data_dir, running.config.data_dir);
        assert_eq!(config.yard.task.timeout, new().config.yard.task.timeout);
        let layers = Layers::default();
        let now = LoadedNodeConfig { config, effective, layers, given: Gathered::default() };
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
