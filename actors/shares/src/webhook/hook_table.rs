//! Settings of webhooks, which receive the events of shares.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::settings;
use reelyard_core::settings::toml::{Table, Value};
use reelyard_core::settings::{Read, SettingValue, SettingsReader, Wrong, quoted, text, wrong};

use super::settings::{WebhookName, WebhookSettings, WebhookUrl};
use super::signature::WebhookSecret;
use crate::share_expiry::ShareNotificationKind;

settings! {
    /// The webhooks of the events of shares.
    pub struct WebhookConfig {
        /// Webhooks by name. They are called when a share will soon end and when it has ended.
        /// Example: { billing = { url = "http://10.0.0.5:9000/shares", secret_file =
        /// "/etc/reelyard/billing" } }. Requests are signed with `secret` or the secret in
        /// `secret_file`. Optional: `kinds` (default: all), a list of "notice", "expired",
        /// "exhausted", "revoked", "removed", "root_gone" and "evicted"; `timeout` for an answer
        /// (default: "10s"). A new webhook gets the events from then on.
        webhooks: Hooks = Default "{}",
    }
}

/// The configured webhooks, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks(pub BTreeMap<WebhookName, HookConfig>);

/// A webhook of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookConfig {
    /// URL of the receiver.
    pub url: WebhookUrl,
    /// Secret that signs requests, from the setting or the file. None only if the file cannot be
    /// read.
    pub secret: Option<WebhookSecret>,
    /// A file with the secret.
    pub secret_file: Option<PathBuf>,
    /// Kinds of events that are sent. None sends all.
    pub kinds: Option<Vec<ShareNotificationKind>>,
    /// Time limit for an answer of the receiver.
    pub timeout: Option<Duration>,
}

impl HookConfig {
    /// The settings of its actor; none while its secret cannot be read.
    pub fn settings(&self, age_limit: Duration) -> Option<WebhookSettings> {
        Some(WebhookSettings {
            url: self.url.clone(),
            secret: self.secret.clone()?,
            kinds: self.kinds.clone().unwrap_or_else(|| ShareNotificationKind::all().collect()),
            timeout: self.timeout.unwrap_or(WebhookSettings::TIMEOUT),
            cool_down: WebhookSettings::COOL_DOWN,
            age_limit,
        })
    }
}

/// The key of the setting.
const KEY: &str = "share.webhooks";

/// The allowed keys of a webhook.
const KNOWN: [&str; 5] = ["url", "secret", "secret_file", "kinds", "timeout"];

impl SettingValue for Hooks {
    fn from_toml(value: &Value) -> Read<Self> {
        // The fault does not quote the value, because it may contain a secret.
        let Value::Table(table) = value else {
            return wrong(
                "expected a table such as { billing = { url = \"http://10.0.0.5:9000/shares\", \
                 secret_file = \"/etc/reelyard/billing\" } }",
            );
        };
        let (mut hooks, mut wrongs) = (BTreeMap::new(), Vec::new());
        for (name, entry) in table {
            let named = WebhookName::new(name).or_else(|bad| wrong(bad.to_string()));
            let about = |wrong: Wrong| Wrong { what: format!("{name}: {}", wrong.what), ..wrong };
            match named.and_then(|name| Ok((name, hook(entry)?))) {
                Ok((name, hook)) => {
                    hooks.insert(name, hook);
                }
                Err(bad) => wrongs.extend(bad.into_iter().map(about)),
            }
        }
        if wrongs.is_empty() { Ok(Hooks(hooks)) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let hooks = self.0.iter().map(|(name, hook)| (name.to_string(), redacted(hook)));
        Some(Value::Table(hooks.collect()))
    }
}

fn hook(value: &Value) -> Read<HookConfig> {
    let Value::Table(table) = value else {
        return wrong(format!("expected a table, with {}", KNOWN.join(", ")));
    };
    if let Some(other) = table.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return wrong(format!("unknown key {other}: expected {}", KNOWN.join(", ")));
    }
    let Some(url) = table.get("url") else { return wrong("url is missing") };
    let url = text(url, "a URL such as \"http://10.0.0.5:9000/shares\",")?;
    let url = url.parse().or_else(|bad| wrong(format!("url: {bad}")))?;
    let (secret, secret_file) = (table.get("secret"), table.get("secret_file"));
    if secret.is_some() == secret_file.is_some() {
        return wrong("secret or secret_file: expected one of the two");
    }
    let secret = secret.map(|secret| match secret {
        Value::String(secret) => {
            WebhookSecret::new(secret).or_else(|bad| wrong(format!("secret: {bad}")))
        }
        _ => wrong("secret: expected a text in quotes"),
    });
    Ok(HookConfig {
        url,
        secret: secret.transpose()?,
        secret_file: secret_file.map(PathBuf::from_toml).transpose()?,
        kinds: table.get("kinds").map(kinds).transpose()?,
        timeout: table.get("timeout").map(Duration::from_toml).transpose()?,
    })
}

fn kinds(value: &Value) -> Read<Vec<ShareNotificationKind>> {
    let named =
        |word: &Value| ShareNotificationKind::all().find(|what| word.as_str() == Some(what.word()));
    let read: Option<Vec<ShareNotificationKind>> =
        value.as_array().and_then(|words| words.iter().map(named).collect());
    match read {
        Some(kinds) if !kinds.is_empty() => Ok(kinds),
        _ => {
            let known: Vec<&str> =
                ShareNotificationKind::all().map(ShareNotificationKind::word).collect();
            wrong(format!(
                "kinds: expected a list of some of {}, such as [\"expired\"], not {}",
                known.join(", "),
                quoted(value)
            ))
        }
    }
}

/// A webhook for display, without its secret.
fn redacted(hook: &HookConfig) -> Value {
    let words = |kinds: &Vec<ShareNotificationKind>| {
        Value::Array(kinds.iter().map(|what| Value::String(what.word().to_owned())).collect())
    };
    let is_here = hook.secret_file.is_none();
    let parts = [
        ("url", Some(Value::String(hook.url.to_string()))),
        ("secret", is_here.then(|| Value::String("***".to_owned()))),
        ("secret_file", hook.secret_file.as_ref().and_then(SettingValue::to_toml)),
        ("kinds", hook.kinds.as_ref().map(words)),
        ("timeout", hook.timeout.as_ref().and_then(SettingValue::to_toml)),
    ];
    let given = parts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Table(given.collect::<Table>())
}

impl Hooks {
    /// The names of those whose secrets could not be read, with the files.
    pub fn without_secret(&self) -> impl Iterator<Item = (&WebhookName, &HookConfig)> {
        self.0.iter().filter(|(_, hook)| hook.secret.is_none())
    }

    /// Reads the secrets from files. A missing file is no fault of settings on record: it is missing on this node only.
    pub fn resolve(&mut self, reader: &mut SettingsReader) {
        for (name, hook) in &mut self.0 {
            let Some(file) = &hook.secret_file else { continue };
            let redacted = file.display();
            let read = bounded_read::read_text(file, InputSource::File);
            let secret = match read {
                Ok(text) => WebhookSecret::new(text.trim()).map_err(|bad| bad.to_string()),
                Err(error) => Err(format!("cannot be read: {error}")),
            };
            match secret {
                Ok(secret) => hook.secret = Some(secret),
                Err(_) if reader.is_recorded(KEY) => {}
                Err(why) => {
                    reader.fault(KEY, format!("{name}: secret_file: {redacted}: {why}"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "opensesame-0123456789";

    fn read(text: &str) -> Result<Hooks, String> {
        let redacted = |wrongs: Vec<Wrong>| wrongs.into_iter().map(|wrong| wrong.what).collect();
        Hooks::from_text(text).map_err(redacted)
    }

    #[test]
    fn a_hook_is_a_table_of_which_the_secret_is_never_shown() {
        let hooks = read(&format!(
            "{{ billing = {{ url = \"http://10.0.0.5:9000/x\", secret = \"{SECRET}\", kinds = [\"expired\", \"notice\"], timeout = \"3s\" }} }}"
        ));
        let hooks = hooks.unwrap();
        let redacted = hooks.to_toml().unwrap().to_string();
        assert!(
            redacted.contains("\"***\"") && redacted.contains("kinds = [\"expired\", \"notice\"]")
        );
        assert!(!redacted.contains(SECRET) && !format!("{hooks:?}").contains(SECRET), "{redacted}");
    }

    #[test]
    fn faults_of_webhooks_do_not_show_the_secret() {
        let with = |more: &str| {
            format!("{{ billing = {{ url = \"http://a/x\", secret = \"{SECRET}\"{more} }} }}")
        };
        for (bad, why) in [
            (
                with(", kinds = [\"lost\"]"),
                "billing: kinds: expected a list of some of notice, expired",
            ),
            (with(", kinds = []"), "kinds: expected a list of some of"),
            (with(", secret_file = \"/x\""), "expected one of the two"),
            (with(", sekret = 1"), "unknown key sekret: expected"),
            (format!("{{ b = {{ secret = \"{SECRET}\" }} }}"), "url is missing"),
            ("{ b = { url = \"http://a/x\" } }".to_owned(), "secret or secret_file"),
            ("{ b = { url = \"http://a/x\", secret = \"short\" } }".to_owned(), "16 to 1024"),
            ("{ B = {} }".to_owned(), "B: the name of a webhook has"),
            (format!("{SECRET} = "), "expected a table"),
            (format!("{{ b = \"{SECRET}\" }}"), "expected a table"),
        ] {
            let error = read(&bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
            assert!(!error.contains(SECRET), "{error}");
        }
    }
}
