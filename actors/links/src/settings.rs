//! Settings of the public links.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, text, wrong};
use reelyard_core::token::SharedToken;
use reelyard_core::{open_files, settings};

use crate::access_log::{AccessLogPlace, AccessLogSettings, LoggedAddress};
use crate::tls_settings::ShareTlsConfig;

settings! {
    /// The server of links.
    pub struct LinksConfig {
        /// Address of the links. The API is not reachable there.
        listen: SocketAddr = Default "127.0.0.1:8081" [node],
        /// URL by which visitors reach `share.listen`; links begin with it. The default is
        /// `share.listen` itself, with TLS if share.tls is set. The URL may have a path, as in
        /// `https://example.net/files`. Then the proxy must remove that path from the requests.
        public_url: Option<PublicUrl> = Optional "https://share.example.net" [node],
        /// Addresses of the proxies in front of `share.listen`. The node believes the client
        /// address that they report.
        trusted_proxies: Vec<IpAddr> = Default "[]" [node],
        /// Whether a running download is cut at the deadline. Otherwise it finishes.
        cut_at_deadline: bool = Default "false",
        /// Running downloads may continue for this long when the node stops. No new one starts. A
        /// second signal ends them at once.
        drain_timeout: Duration = Default "30s" [node],
        /// Largest number of connections.
        connections: NonZeroU32 = Default "1024" [node],
        /// Largest number of connections from one address.
        connections_per_address: NonZeroU32 = Default "128" [node],
        /// Largest number of archives that are created at the same time. Each needs one thread and
        /// some memory.
        archives: NonZeroU32 = Default "32" [node],
        /// Largest number of archives for one address at the same time.
        archives_per_address: NonZeroU32 = Default "4" [node],
        /// Time limit for a request, and for the wait between two requests.
        request_timeout: Duration = Default "20s" [node],
        /// A connection whose client takes no byte of an answer for this long is closed.
        send_timeout: Duration = Default "60s" [node],
        /// Log of downloads: off, the time for which this node keeps it, or the path of a file with lines
        /// of JSON. After a rotation of the file, reload the node. A log of the node has at most 256 MiB.
        access_log: AccessLogPlace = Default "30d" [node],
        /// The logged part of addresses: full, or network (24 bits of IPv4, 48 bits of IPv6).
        access_log_address: LoggedAddress = Default "network" [node],
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
        /// Encryption of the links.
        tls: ShareTlsConfig,
    }
}

impl LinksConfig {
    /// Where downloads are logged, and how much of an address.
    pub fn access_log_settings(&self) -> AccessLogSettings {
        AccessLogSettings { place: self.access_log.clone(), address: self.access_log_address }
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

/// Settings of the public links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareServerSettings {
    /// Address of the listener. Only public links are reachable there.
    pub listen: SocketAddr,
    /// Public base URL such as `https://share.example.net`, without a trailing `/`. Links on pages
    /// begin with it. If it has a path, pages add that path to their URLs, and requests arrive
    /// without it. None: the host that the browser used.
    pub public_url: Option<String>,
    /// Proxies in front of the listener. For a connection from a proxy, the client is the last
    /// address of `X-Forwarded-For` that is not a trusted proxy. The proxy itself has no limit per
    /// address.
    pub trusted_proxies: Vec<IpAddr>,
    /// Largest number of connections.
    pub connections: usize,
    /// Largest number of connections from one address.
    pub connections_per_address: usize,
    /// Time limit for a request, and for the wait between two.
    pub request_timeout: Duration,
    /// Time limit for a client that takes no byte of an answer.
    pub send_timeout: Duration,
    /// Slowest accepted rate of a client in bytes per second, averaged over `send_timeout`.
    pub minimum_rate: u64,
    /// Number of threads that send bytes. There are more than processors, because a thread waits
    /// while a slow disk reads.
    pub threads: usize,
    /// Whether a running download is cut at the deadline; otherwise it finishes. A hard revoke cuts
    /// it in any case.
    pub cut_at_deadline: bool,
    /// Number of unknown links that an address may request at once before it is throttled.
    pub guesses: NonZeroU32,
    /// Pause after which one more guess is allowed.
    pub guess_every: Duration,
    /// Number of passwords that an address may try at once on one link.
    pub password_tries: NonZeroU32,
    /// Pause after which one more password may be tried.
    pub password_every: Duration,
    /// Largest number of concurrent password checks. Each needs a processor and 19 MiB for about 20
    /// ms.
    pub password_checks: usize,
    /// Largest number of concurrent archives. Each needs a thread, which mostly waits, and some
    /// memory.
    pub archives: usize,
    /// Largest number of concurrent archives for one address.
    pub archives_per_address: usize,
    /// Key that signs cookies, the same on every node. None: a random key of this process. Visitors
    /// must then enter the password again after a restart, and on another node.
    pub cookie_key: Option<[u8; 32]>,
}

impl ShareServerSettings {
    /// The path of `public_url` without a trailing `/`; empty without a path.
    pub(crate) fn public_path(&self) -> &str {
        let url = self.public_url.as_deref().unwrap_or_default();
        let behind_scheme = url.split_once("://").map_or("", |(_, rest)| rest);
        let path = behind_scheme.find('/').map_or("", |slash| &behind_scheme[slash..]);
        path.trim_end_matches('/')
    }
}

/// Slowest accepted rate of a client, in bytes per second.
const MINIMUM_RATE: u64 = 256;

/// Threads that send bytes, and password checks at the same time.
const THREADS: usize = 8;
const PASSWORD_CHECKS: usize = 2;

/// Percentage of the file descriptors of the process for connections of visitors. The process itself needs
/// some of the others.
const CONNECTIONS_PERCENT: u64 = 35;

impl ShareServerSettings {
    /// The settings of an operator. The token gives the key that signs cookies.
    pub fn of(config: &LinksConfig, token: Option<&SharedToken>) -> Self {
        let count = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
        ShareServerSettings {
            listen: config.listen,
            public_url: config.public_url.as_ref().map(|url| url.as_str().to_owned()),
            trusted_proxies: config.trusted_proxies.clone(),
            connections: open_files::at_most(count(config.connections), CONNECTIONS_PERCENT),
            connections_per_address: count(config.connections_per_address),
            request_timeout: config.request_timeout,
            send_timeout: config.send_timeout,
            minimum_rate: MINIMUM_RATE,
            threads: THREADS,
            cut_at_deadline: config.cut_at_deadline,
            guesses: config.unknown_link_burst,
            guess_every: config.unknown_link_interval,
            password_tries: config.password_burst,
            password_every: config.password_interval,
            password_checks: PASSWORD_CHECKS,
            archives: count(config.archives),
            archives_per_address: count(config.archives_per_address),
            cookie_key: token.map(cookie_key),
        }
    }
}

/// Key that signs cookies of links. It is the same on every node with the same token, and does not
/// help to guess the token.
fn cookie_key(token: &SharedToken) -> [u8; 32] {
    blake3::derive_key("reelyard 2026 cookies of share links", token.reveal().as_bytes())
}

impl Default for ShareServerSettings {
    fn default() -> Self {
        ShareServerSettings::of(&LinksConfig::default(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_path_follows_the_host_of_the_url() {
        let path = |url: Option<&str>| {
            let public_url = url.map(str::to_owned);
            let settings = ShareServerSettings { public_url, ..ShareServerSettings::default() };
            settings.public_path().to_owned()
        };
        assert_eq!(path(None), "");
        for without in ["https://share.example.net", "https://share.example.net/", "http://[::1]:1"]
        {
            assert_eq!(path(Some(without)), "", "{without}");
        }
        assert_eq!(path(Some("https://share.example.net/dl/here/")), "/dl/here");
    }

    #[test]
    fn links_begin_with_a_url() {
        assert_eq!(
            PublicUrl::from_text("https://a.example/x/").unwrap().as_str(),
            "https://a.example/x"
        );
        for bad in ["a.example", "ftp://a.example", "https://a.example/?q", "https://"] {
            assert!(PublicUrl::from_text(bad).is_err(), "{bad}");
        }
    }
}
