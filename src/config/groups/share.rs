//! The table `[share]` of a node: the settings of several actors.

use std::time::Duration;

use reelyard_core::settings;
use reelyard_core::settings::SettingsReader;
use reelyard_links::LinksConfig;
use reelyard_shares::share_expiry::ShareRulesConfig;
use reelyard_shares::share_files::ShareFilesSettings;
use reelyard_shares::webhook::WebhookConfig;

settings! {
    /// Shares: links to files and directories that stop working at their deadlines.
    pub struct ShareConfig {}
    parts {
        /// How long links last, and how many there may be.
        rules: ShareRulesConfig,
        /// Missing files.
        files: ShareFilesSettings,
        /// Receivers of events.
        webhooks: WebhookConfig,
        /// The server of links.
        links: LinksConfig,
    }
}

impl ShareConfig {
    /// Reads secrets and certificates from files, and records contradictions.
    pub(in crate::config) fn resolve(&mut self, reader: &mut SettingsReader) {
        self.webhooks.webhooks.resolve(reader);
        self.links.tls.resolve(reader);
        let shown = humantime::format_duration;
        let mut ordered = |key: &str, value: Duration, above: &str, limit: Duration| {
            if value > limit {
                let what =
                    format!("must not be above {above}: {} > {}", shown(value), shown(limit));
                reader.fault(key, what);
            }
        };
        ordered("share.min_ttl", self.rules.min_ttl, "share.default_ttl", self.rules.default_ttl);
        if let Some(most) = self.rules.max_ttl {
            ordered("share.default_ttl", self.rules.default_ttl, "share.max_ttl", most);
        }
        if self.rules.allow_never && self.rules.max_ttl.is_some() {
            reader.fault("share.allow_never", "contradicts share.max_ttl");
        }
        for (name, dir) in &self.rules.roots.0 {
            let (name, shown) = (name.as_str(), dir.display());
            if !dir.is_absolute() {
                reader.fault("share.roots", format!("{name}: {shown} is not an absolute path"));
            } else if dir.exists() && !dir.is_dir() {
                reader.fault("share.roots", format!("{name}: {shown} is not a directory"));
            }
        }
    }

    /// Warnings about roots that do not exist now, for example before they are mounted. This is not
    /// a fault: each is opened as soon as it exists.
    pub(in crate::config) fn not_there(&self) -> Vec<String> {
        let missing = self.rules.roots.0.iter().filter(|(_, dir)| !dir.is_dir());
        let warnings = missing.map(|(name, dir)| {
            let (name, shown) = (name.as_str(), dir.display());
            format!(
                "share.roots: {name}: {shown} does not exist now; it is opened as soon as it exists"
            )
        });
        warnings.collect()
    }
}

#[cfg(test)]
mod tests {
    use reelyard_shares::webhook::WebhookSecret;

    use crate::config::{Layers, NodeConfig, load};

    const SECRET: &str = "opensesame-0123456789";

    #[test]
    fn a_secret_can_be_in_a_file() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("secret");
        let load = || {
            let table = format!("url = \"http://a/x\", secret_file = \"{}\"", file.display());
            let set = vec![format!("share.webhooks={{ b = {{ {table} }} }}")];
            load::<NodeConfig>(&Layers { set, ..Layers::default() })
        };
        let refused = load().unwrap_err().to_string();
        assert!(
            refused.contains("share.webhooks: b: secret_file: ")
                && refused.contains("cannot be read")
        );
        std::fs::write(&file, format!("{SECRET}\n")).unwrap();
        let (config, effective) = load().unwrap();
        let hook = config.share.webhooks.webhooks.0.values().next().unwrap();
        assert_eq!(hook.secret, WebhookSecret::new(SECRET).ok());
        assert!(!format!("{effective:?}").contains(SECRET));
    }
}
