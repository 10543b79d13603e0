//! Settings of shares: what may be shared, on which terms, and where links are served.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use reelyard_actors::share_expiry::{AtLimit, Effort, RootName};
use toml::Value;

use super::declare::settings;
use super::hooks::Hooks;
use super::reader::Reader;
use super::tls::ShareTlsSettings;
use super::value::{Read, SettingValue, Wrong, quoted, text, wrong};

settings! {
    /// Shares: links to files and directories that stop working at their deadlines.
    pub struct ShareSettings {
        /// Directories that may be shared from, by name, as in { movies = "/data/movies" }; a share
        /// names what it is of by "movies/new/a.mpg". Without any, nothing is shared, and nothing
        /// listens on `share.listen`. Shares of a root that is taken away end. One whose directory is
        /// not there now, as before it is mounted, is opened once it is; so is another directory
        /// that takes its place.
        roots: RootDirs = Default "{}",
        /// Where links are served. Nothing of the API or the console is reachable there.
        listen: SocketAddr = Default "127.0.0.1:8081",
        /// What people reach that by; links begin with it. Without one, `http://`, or `https://`
        /// with `share.tls`, and `share.listen`. With a path in it, as in
        /// "https://example.net/files", a proxy passes on what it is asked for below that path,
        /// without the path.
        public_url: Option<PublicUrl> = Optional "https://share.example.net",
        /// Proxies in front of `share.listen`: whoever they say a request is from, it is from.
        trusted_proxies: Vec<IpAddr> = Default "[]",
        /// How long a share lasts that does not say. Changing it moves no deadline that is set.
        default_ttl: Duration = Default "7d",
        /// The shortest that a share may last.
        min_ttl: Duration = Default "1s",
        /// The longest. Not set: any time.
        max_ttl: Option<Duration> = Optional "30d",
        /// Whether a share may last for ever.
        allow_never: bool = Default "false",
        /// How long before its deadline it is told that a share will end. Not set: it is not. Nor is it
        /// of a deadline that is nearer than that from the beginning.
        notice_before: Option<Duration> = Optional "24h",
        /// How long a download that counted may be resumed without counting again: of one link, by
        /// the last 10,000 who have taken one.
        resume_within: Duration = Default "24h",
        /// How long a wall clock that is more than an hour ahead must hold until it is confirmed.
        /// Links are refused by it at once; nothing is reclaimed before, so that a clock that is
        /// corrected brings them back.
        clock_hold: Duration = Default "15m",
        /// Whether a download that is running at the deadline is cut. Otherwise it finishes.
        cut_at_deadline: bool = Default "false",
        /// How long downloads that are running may go on when the node is stopped. No new ones begin,
        /// and a second signal ends it at once.
        drain: Duration = Default "30s",
        /// How many shares there may be. Not set: any number. One of which all downloads were taken
        /// counts until it can be resumed no more, for this and for its owner.
        max_shares: Option<NonZeroU64> = Optional "1000000",
        /// What happens at `max_shares`: "refuse" new ones, or end the one with the
        /// "nearest-deadline", the "least-recently-used" or the "least-used" one. What was used is
        /// known since the node started. By "least-used", fewer than five uses count as five, so that
        /// a new link is not the first to go.
        at_limit: AtLimit = Default "refuse",
        /// How many shares one owner may have. Not set: any number.
        max_per_owner: Option<NonZeroU64> = Optional "1000",
        /// How much of a processor the reclaim of ended shares may take, from 1 to 10. They are
        /// refused at their deadlines whatever it is.
        effort: Effort = Default "5",
        /// How long a link that has ended says so, rather than that there is none.
        keep_ended: Duration = Default "7d",
        /// Of how many ended links that is remembered at most.
        keep_ended_most: NonZeroU64 = Default "100000",
        /// Webhooks, by name: who is told outside that a share will end soon or has ended, as in
        /// { billing = { url = "http://10.0.0.5:9000/shares", secret_file = "/etc/reelyard/billing" } }.
        /// Requests are signed with the `secret`, or that in the `secret_file`. What else a hook may
        /// have: kinds = ["notice", "expired", "exhausted", "revoked", "removed", "root_gone",
        /// "evicted"], all of them by default, and the timeout = "10s" for an answer. A new one is
        /// told what happens from then on.
        hooks: Hooks = Default "{}",
        /// How long what happened is kept for a webhook that cannot be told. What is older is
        /// dropped.
        keep_untold: Duration = Default "7d",
        /// How much of it at most. The oldest is dropped first.
        keep_untold_most: NonZeroU64 = Default "1000000",
        /// How long what a share stands for has to be missing before the share ends: a file that is
        /// replaced by another one keeps its links.
        removed_after: Duration = Default "30s",
        /// How often it is looked whether what all shares stand for is there, slowly. What a link
        /// does not find is noticed at once.
        sweep_every: Duration = Default "6h",
        /// Connections at once.
        connections: NonZeroU32 = Default "1024",
        /// Connections at once from one address.
        connections_per_address: NonZeroU32 = Default "128",
        /// Archives made at once: each takes a thread that mostly waits, and some memory.
        archives: NonZeroU32 = Default "32",
        /// Archives made at once for one address.
        archives_per_address: NonZeroU32 = Default "4",
        /// How long a client may take for a request, or between two.
        request_timeout: Duration = Default "20s",
        /// How long a client may take no byte of an answer.
        send_timeout: Duration = Default "60s",
        /// How many unknown links an address may ask for in one go before it is told to wait,
        /// whatever it asks for (or a hit would tell as much as a guess that is answered), and
        guesses: NonZeroU32 = Default "30",
        /// after how long it may ask for one more.
        guess_every: Duration = Default "2s",
        /// How many passwords may be tried in one go, at one link and by one address, and
        password_tries: NonZeroU32 = Default "10",
        /// after how long one more may be tried.
        password_every: Duration = Default "6s",
    }
    groups {
        /// TLS.
        tls: ShareTlsSettings,
    }
}

impl ShareSettings {
    /// Reads the secrets and certificates that are in files, and finds what contradicts itself.
    pub(super) fn settle(&mut self, reader: &mut Reader) {
        self.hooks.settle(reader);
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

    /// The roots that are not there now (a file system that is not mounted yet), which is no fault:
    /// each is opened once it is.
    pub(super) fn not_there(&self) -> Vec<String> {
        let missing = self.roots.0.iter().filter(|(_, dir)| !dir.is_dir());
        let told = missing.map(|(name, dir)| {
            let (name, shown) = (name.as_str(), dir.display());
            format!("share.roots: {name}: {shown} is not there now; it is opened once it is")
        });
        told.collect()
    }
}

/// Directories by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootDirs(pub BTreeMap<RootName, PathBuf>);

impl SettingValue for RootDirs {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(table) = value else {
            let shown = quoted(value);
            return wrong(format!(
                "a table is wanted, as in {{ movies = \"/data/movies\" }}, not {shown}"
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

/// What links begin with: `http://` or `https://`, without a `/` at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SettingValue for PublicUrl {
    fn from_toml(value: &Value) -> Read<Self> {
        let told = text(value, "a URL, as in \"https://share.example.net\",")?;
        let url = told.trim_end_matches('/');
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
                "\"{told}\" is no URL that links could begin with, as in \"https://share.example.net\""
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
            || wrong(format!("\"refuse\", \"nearest-deadline\", \"least-recently-used\" or \"least-used\" is wanted, not {}", quoted(value))),
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
            || wrong(format!("a number from 1 to 10 is wanted, not {}", quoted(value))),
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
            ("{ Movies = \"/data\" }", "Movies: a root is named by"),
            ("{ movies = 7 }", "movies: "),
            ("\"/data\"", "a table is wanted"),
        ] {
            let told = shown::<RootDirs>(bad).unwrap_err();
            assert!(told.contains(why), "{bad}: {told}");
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
