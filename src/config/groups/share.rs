//! Settings of shares: roots, terms and the server of links.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use reelyard_shares::share_expiry::{AtLimit, Effort, RootName};
use toml::Value;

use super::hooks::Hooks;
use super::tls::ShareTlsConfig;
use crate::config::declare::settings;
use crate::config::reading::reader::SettingsReader;
use crate::config::values::value::{Read, SettingValue, Wrong, quoted, text, wrong};

settings! {
    /// Shares: links to files and directories that stop working at their deadlines.
    pub struct ShareConfig {
        /// Directories that may be shared, by name. Example: { movies = "/data/movies" }; a share
        /// then names its file as "movies/new/a.mpg". Without a root nothing is shared, and
        /// `share.listen` stays closed. If you remove a root, its shares end. A directory that is
        /// missing now, for example before it is mounted, is opened when it appears.
        roots: RootDirs = Default "{}",
        /// Address of the links. The API and the console are not reachable there.
        listen: SocketAddr = Default "127.0.0.1:8081",
        /// URL by which visitors reach `share.listen`; links begin with it. The default is
        /// `share.listen` itself, with TLS if share.tls is set. The URL may have a path, as in
        /// `https://example.net/files`. Then the proxy must remove that path from the requests.
        public_url: Option<PublicUrl> = Optional "https://share.example.net",
        /// Addresses of the proxies in front of `share.listen`. The node believes the client
        /// address that they report.
        trusted_proxies: Vec<IpAddr> = Default "[]",
        /// Lifetime of a share that sets none. A change does not move existing deadlines.
        default_ttl: Duration = Default "7d",
        /// Shortest lifetime of a share.
        min_ttl: Duration = Default "1s",
        /// Longest lifetime of a share. Without the setting there is no limit.
        max_ttl: Option<Duration> = Optional "30d",
        /// Whether a share may have no deadline.
        allow_never: bool = Default "false",
        /// A notice is sent this long before the deadline of a share. Without the setting none is
        /// sent. A share with a shorter lifetime sends none.
        notice_before: Option<Duration> = Optional "24h",
        /// A counted download may resume for this long without counting again. The node remembers
        /// the last 10,000 addresses of each link.
        resume_within: Duration = Default "24h",
        /// A wall clock that jumped forward by more than an hour must hold for this long to be
        /// confirmed. Until then links are refused by the new time, but none is reclaimed. If the
        /// clock is corrected, they work again.
        clock_confirm_after: Duration = Default "15m",
        /// Whether a running download is cut at the deadline. Otherwise it finishes.
        cut_at_deadline: bool = Default "false",
        /// Running downloads may continue for this long when the node stops. No new one starts. A
        /// second signal ends them at once.
        drain_timeout: Duration = Default "30s",
        /// Largest number of shares. Without the setting there is no limit. A share without
        /// downloads left counts until it can no longer be resumed. The same applies to
        /// max_per_owner.
        max_shares: Option<NonZeroU64> = Optional "1000000",
        /// Action at `max_shares`. "refuse" refuses new shares. "nearest-deadline",
        /// "least-recently-used" and "least-used" end the share of that kind. Use is known since
        /// the start of the node. With "least-used" fewer than five uses count as five, so that a
        /// new link is not the first to go.
        at_limit: AtLimit = Default "refuse",
        /// Largest number of shares of one owner. Without the setting there is no limit.
        max_per_owner: Option<NonZeroU64> = Optional "1000",
        /// Share of a processor for the reclaim of ended shares, from 1 to 10. Links are refused at
        /// their deadlines with any value.
        reclaim_effort: Effort = Default "5",
        /// An ended link says that it has ended for this long. Afterwards it is unknown.
        keep_ended: Duration = Default "7d",
        /// Largest number of ended links that the node remembers.
        keep_ended_most: NonZeroU64 = Default "100000",
        /// Webhooks by name. They are called when a share will soon end and when it has ended.
        /// Example: { billing = { url = "http://10.0.0.5:9000/shares", secret_file =
        /// "/etc/reelyard/billing" } }. Requests are signed with `secret` or the secret in
        /// `secret_file`. Optional: `kinds` (default: all), a list of "notice", "expired",
        /// "exhausted", "revoked", "removed", "root_gone" and "evicted"; `timeout` for an answer
        /// (default: "10s"). A new webhook gets the events from then on.
        webhooks: Hooks = Default "{}",
        /// Events for a webhook that does not answer are kept for this long. Older events are
        /// dropped.
        webhook_retention: Duration = Default "7d",
        /// Largest number of such events. The oldest is dropped first.
        webhook_retention_count: NonZeroU64 = Default "1000000",
        /// A share ends when its file has been missing for this long. A file that is replaced keeps
        /// its links.
        removed_after: Duration = Default "30s",
        /// Interval of the slow check that the files of all shares exist. A missing file is also
        /// noticed when its link is used.
        sweep_interval: Duration = Default "6h",
        /// Largest number of connections.
        connections: NonZeroU32 = Default "1024",
        /// Largest number of connections from one address.
        connections_per_address: NonZeroU32 = Default "128",
        /// Largest number of archives that are created at the same time. Each needs one thread and
        /// some memory.
        archives: NonZeroU32 = Default "32",
        /// Largest number of archives for one address at the same time.
        archives_per_address: NonZeroU32 = Default "4",
        /// Time limit for a request, and for the wait between two requests.
        request_timeout: Duration = Default "20s",
        /// A connection whose client takes no byte of an answer for this long is closed.
        send_timeout: Duration = Default "60s",
        /// Number of unknown links that one address may request at once. After that the address
        /// must wait, also for links that exist; otherwise an answer would confirm a guess.
        unknown_link_burst: NonZeroU32 = Default "30",
        /// One more guess is allowed after this time.
        unknown_link_interval: Duration = Default "2s",
        /// Number of passwords that one address may try at once on one link.
        password_burst: NonZeroU32 = Default "10",
        /// One more try is allowed after this time.
        password_interval: Duration = Default "6s",
    }
    groups {
        /// TLS.
        tls: ShareTlsConfig,
    }
}

impl ShareConfig {
    /// Reads secrets and certificates from files, and records contradictions.
    pub(in crate::config) fn settle(&mut self, reader: &mut SettingsReader) {
        self.webhooks.settle(reader);
        self.tls.settle(reader);
        let shown = humantime::format_duration;
        let mut ordered = |key: &str, value: Duration, above: &str, limit: Duration| {
            if value > limit {
                let what =
                    format!("must not be above {above}: {} > {}", shown(value), shown(limit));
                reader.fault(key, what);
            }
        };
        ordered("share.min_ttl", self.min_ttl, "share.default_ttl", self.default_ttl);
        if let Some(most) = self.max_ttl {
            ordered("share.default_ttl", self.default_ttl, "share.max_ttl", most);
        }
        if self.allow_never && self.max_ttl.is_some() {
            reader.fault("share.allow_never", "contradicts share.max_ttl");
        }
        for (name, dir) in &self.roots.0 {
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
        let missing = self.roots.0.iter().filter(|(_, dir)| !dir.is_dir());
        let wrongs = missing.map(|(name, dir)| {
            let (name, shown) = (name.as_str(), dir.display());
            format!(
                "share.roots: {name}: {shown} does not exist now; it is opened as soon as it exists"
            )
        });
        wrongs.collect()
    }
}

/// The share roots, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootDirs(pub BTreeMap<RootName, PathBuf>);

impl SettingValue for RootDirs {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(table) = value else {
            let shown = quoted(value);
            return wrong(format!(
                "expected a table such as {{ movies = \"/data/movies\" }}, not {shown}"
            ));
        };
        let (mut roots, mut wrongs) = (BTreeMap::new(), Vec::new());
        for (name, dir) in table {
            let named = RootName::new(name).or_else(|bad| wrong(bad.to_string()));
            let read = named.and_then(|name| Ok((name, PathBuf::from_toml(dir)?)));
            let about = |wrong: Wrong| Wrong { what: format!("{name}: {}", wrong.what), ..wrong };
            match read {
                Ok((name, dir)) => {
                    roots.insert(name, dir);
                }
                Err(bad) => wrongs.extend(bad.into_iter().map(about)),
            }
        }
        if wrongs.is_empty() { Ok(RootDirs(roots)) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let entry = |(name, dir): (&RootName, &PathBuf)| {
            (name.as_str().to_owned(), Value::String(dir.display().to_string()))
        };
        Some(Value::Table(self.0.iter().map(entry).collect()))
    }
}

/// Base URL of links: `http://` or `https://`, without a trailing `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SettingValue for PublicUrl {
    fn from_toml(value: &Value) -> Read<Self> {
        let given = text(value, "a URL such as \"https://share.example.net\"")?;
        let url = given.trim_end_matches('/');
        let read = reqwest::Url::parse(url);
        let fits = read.is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.host().is_some()
                && url.query().is_none()
                && url.fragment().is_none()
        });
        if fits {
            Ok(PublicUrl(url.to_owned()))
        } else {
            wrong(format!(
                "\"{given}\" is not a base URL for links: expected one such as \"https://share.example.net\""
            ))
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

impl SettingValue for AtLimit {
    fn from_toml(value: &Value) -> Read<Self> {
        let all = [
            AtLimit::Refuse,
            AtLimit::NearestDeadline,
            AtLimit::LeastRecentlyUsed,
            AtLimit::LeastUsed,
        ];
        let named =
            value.as_str().and_then(|word| all.into_iter().find(|one| one.to_string() == word));
        named.map_or_else(
            || wrong(format!("expected \"refuse\", \"nearest-deadline\", \"least-recently-used\" or \"least-used\", not {}", quoted(value))),
            Ok,
        )
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl SettingValue for Effort {
    fn from_toml(value: &Value) -> Read<Self> {
        let number = value.as_integer().and_then(|number| u8::try_from(number).ok());
        let effort = number.and_then(|number| Effort::try_from(number).ok());
        effort.map_or_else(
            || wrong(format!("expected a number from 1 to 10, not {}", quoted(value))),
            Ok,
        )
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::Integer(self.get().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<T: SettingValue>(text: &str) -> Result<String, String> {
        let read = T::from_text(text);
        let read = read.map(|value| value.to_toml().map(|value| value.to_string()).unwrap());
        read.map_err(|wrongs| wrongs.into_iter().map(|wrong| wrong.what).collect())
    }

    #[test]
    fn roots_are_named_paths() {
        let roots = "{ movies = \"/data/movies\" }";
        assert_eq!(shown::<RootDirs>(roots).as_deref(), Ok(roots));
        for (bad, why) in [
            ("{ Movies = \"/data\" }", "Movies: the name of a root has"),
            ("{ movies = 7 }", "movies: "),
            ("\"/data\"", "expected a table"),
        ] {
            let error = shown::<RootDirs>(bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn links_begin_with_a_url() {
        assert_eq!(
            shown::<PublicUrl>("https://a.example/x/").as_deref(),
            Ok("\"https://a.example/x\"")
        );
        for bad in ["a.example", "ftp://a.example", "https://a.example/?q", "https://"] {
            assert!(shown::<PublicUrl>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_and_numbers() {
        assert_eq!(shown::<AtLimit>("least-used").as_deref(), Ok("\"least-used\""));
        assert!(shown::<AtLimit>("lru").is_err());
        assert_eq!(shown::<Effort>("10").as_deref(), Ok("10"));
        assert!(shown::<Effort>("0").is_err() && shown::<Effort>("11").is_err());
    }
}
