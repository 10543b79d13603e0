//! What the public links are run with.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

/// Settings of the public links. `Default` is what is right for most yards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareServerSettings {
    /// Where they listen. Nothing else is reachable there.
    pub listen: SocketAddr,
    /// What people reach it by, such as `https://share.example.net`, without a `/` at its end; the
    /// page shows links that begin with it. A path in it is put before all that pages lead to, and
    /// requests come without it. None: whatever the browser asked for.
    pub public_url: Option<String>,
    /// Proxies in front of it. For a connection from one of these, the client is the last address
    /// of `X-Forwarded-For` that is not itself such a proxy, and no bound per address holds for
    /// the proxy.
    pub trusted_proxies: Vec<IpAddr>,
    /// Connections at once.
    pub connections: usize,
    /// Connections at once from one address.
    pub connections_per_address: usize,
    /// How long a client may take for a request, or between two.
    pub request_timeout: Duration,
    /// How long a client may take no byte of an answer.
    pub send_timeout: Duration,
    /// What a client must take at least, in bytes per second, averaged over `send_timeout`.
    pub least_pace: u64,
    /// Threads that send bytes. A thread waits while a cold disk reads, so there are more than
    /// processors.
    pub threads: usize,
    /// Whether a download that is running at the deadline is cut then. Otherwise it finishes; a
    /// hard revoke cuts it in any case.
    pub cut_at_deadline: bool,
    /// How many unknown links an address may ask for in one go before it is told to slow down.
    pub guesses: NonZeroU32,
    /// After how long it may ask for one more.
    pub guess_every: Duration,
    /// How many passwords may be tried in one go, at one link and by one address.
    pub password_tries: NonZeroU32,
    /// After how long one more may be tried.
    pub password_every: Duration,
    /// Passwords checked at once: each takes a processor and 19 MiB for some 20 ms.
    pub password_checks: usize,
    /// Archives made at once: each takes a thread that mostly waits, and some memory.
    pub archives: usize,
    /// Archives made at once for one address.
    pub archives_per_address: usize,
    /// What cookies are signed with, the same on every node. None: a key of this process, so that
    /// people are asked for their password again after a restart and at another node.
    pub cookie_key: Option<[u8; 32]>,
}

impl ShareServerSettings {
    /// The path of `public_url`, without a `/` at its end: empty where it has none.
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
    fn the_path_of_a_url_is_what_is_behind_its_host() {
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
