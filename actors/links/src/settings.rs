//! Settings of the public links.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

/// Settings of the public links. `Default` suits most yards.
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
    /// Slowest accepted pace of a client in bytes per second, averaged over `send_timeout`.
    pub least_pace: u64,
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
    pub(super) fn public_path(&self) -> &str {
        let url = self.public_url.as_deref().unwrap_or_default();
        let behind_scheme = url.split_once("://").map_or("", |(_, rest)| rest);
        let path = behind_scheme.find('/').map_or("", |slash| &behind_scheme[slash..]);
        path.trim_end_matches('/')
    }
}

impl Default for ShareServerSettings {
    fn default() -> Self {
        ShareServerSettings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8081)),
            public_url: None,
            trusted_proxies: Vec::new(),
            connections: 1024,
            connections_per_address: 128,
            request_timeout: Duration::from_secs(20),
            send_timeout: Duration::from_secs(60),
            least_pace: 256,
            threads: 8,
            cut_at_deadline: false,
            guesses: NonZeroU32::MIN.saturating_add(29),
            guess_every: Duration::from_secs(2),
            password_tries: NonZeroU32::MIN.saturating_add(9),
            password_every: Duration::from_secs(6),
            password_checks: 2,
            archives: 32,
            archives_per_address: 4,
            cookie_key: None,
        }
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
}
