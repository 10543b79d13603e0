//! The settings of a node.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use reelyard_access::access::{AccountLockConfig, SessionConfig};
use reelyard_access::audit::AuditConfig;
use reelyard_cluster::ClusterConfig;
use reelyard_core::address_range::AddressRange;
use reelyard_core::host::HostAddr;
use reelyard_core::settings;
use reelyard_core::settings::{HostName, NamePrefix, SettingsReader};
use reelyard_core::token::SharedToken;
use reelyard_journal::JournalConfig;
use reelyard_links::ApiTlsConfig;
use reelyard_yard::bandwidth::HostLimits;
use reelyard_yard::settings::YardConfig;

use super::{LogSettings, RoleConfig};
use crate::config::groups::boxes::BoxConfig;
use crate::config::groups::share::ShareConfig;
use crate::config::reading::inputs::{missing_dir, missing_file};
use crate::config::values::source_dirs::check_source_dirs;
use crate::config::values::token_file::resolve_token;

settings! {
    /// A Reelyard node: the control plane.
    pub struct NodeConfig {
        /// Address of the API and of cfm's wire protocol.
        listen: SocketAddr = Default "127.0.0.1:8080" [restart, node],
        /// Accepts a `listen` that other hosts can reach although it has no TLS. Tokens, passwords and
        /// sessions are then readable in the network.
        insecure: bool = Default "false" [restart, node],
        /// Directory of all durable data. The node creates it if it is missing.
        data_dir: PathBuf = Default "reelyard-data" [restart, node],
        /// The number of this node in its cluster. The cluster gives it; the setting is only checked. A
        /// node that founds a cluster has number 1.
        node_id: Option<NonZeroU64> = Optional "1" [restart, node],
        /// Secret that the node shares with its workers. As the token `legacy` it also has the rights of
        /// an administrator. People and programs need tokens of their own: reelyard token create. Old
        /// cfws do not know a token; the node calls them without one.
        token: Option<SharedToken> = Optional "a-long-random-text" [node],
        /// File that holds the token. Use it instead of `token`. Spaces and line ends around the
        /// token are ignored.
        token_file: Option<PathBuf> = Optional "/etc/reelyard/token" [node],
        /// Absolute paths of the directories with the masters. They are the same on this node and
        /// on every source. If two directories hold the same name, the first directory wins.
        source_dirs: Vec<PathBuf> = Default "[]",
    }
    parts {
        /// Files, hosts and copies.
        yard: YardConfig,
    }
    groups {
        /// Links with deadlines.
        share: ShareConfig,
        /// Numbered boxes.
        r#box: BoxConfig,
        /// The replicated log.
        journal: JournalConfig,
        /// The network between the nodes of a cluster.
        cluster: ClusterConfig,
        /// Encryption of the API.
        tls: ApiTlsConfig,
        /// Sessions of users.
        session: SessionConfig,
        /// Locks of accounts after wrong passwords.
        access: AccountLockConfig,
        /// Changes and refused calls.
        audit: AuditConfig,
        /// The interface of cfm, for old programs.
        compat: CompatConfig,
        /// The metrics for Prometheus.
        metrics: MetricsConfig,
        /// The HTTP server.
        http: HttpConfig,
        /// The pages for operators.
        console: ConsoleConfig,
        /// Logging.
        log: LogSettings,
    }
}

settings! {
    /// The interface of cfm, for old programs. They have no token.
    pub struct CompatConfig [node] {
        /// Addresses and networks that may use it. Without the setting, this host and the hosts of the
        /// yard may use it. An empty list closes it.
        allow: Option<Vec<AddressRange>> = Optional "[\"10.0.0.0/8\"]",
    }
}

settings! {
    /// The metrics for Prometheus.
    pub struct MetricsConfig [node] {
        /// Addresses and networks that may read `/metrics` without a token. Without the setting, this host
        /// and the hosts of the yard may. Other callers need a token with `metrics:read`.
        allow: Option<Vec<AddressRange>> = Optional "[\"10.0.0.7\"]",
    }
}

settings! {
    /// The pages for operators.
    pub struct ConsoleConfig [restart, node] {
        /// Whether the node serves `/console` and `/login`. Without them it keeps nothing ready for pages.
        enabled: bool = Default "true",
    }
}

settings! {
    /// The HTTP server.
    pub struct HttpConfig [restart, node] {
        /// Number of threads that serve requests. Without the setting, one per processor.
        threads: Option<NonZeroUsize> = Optional "2",
        /// Largest body of a request.
        body_limit: ByteSize = Default "1MiB",
        /// Time limit for the body of a request.
        request_timeout: Duration = Default "30s",
        /// Largest number of connections, at most 40% of the file descriptors of the process. At
        /// the limit, an idle or stuck connection is closed for a new one. With more than 1,500
        /// hosts the limit is two per host and 1,024 for others.
        connections: NonZeroU32 = Default "4096",
        /// Largest number of connections from one address, in addition to two per configured host,
        /// because all workers may share the address of a gateway. A proxy in front of the API needs
        /// a high number.
        connections_per_address: NonZeroU32 = Default "512",
        /// Names by which clients call this node. Its addresses, `localhost` and the host name of the
        /// system need no entry. A request with another name in `Host` is refused, because a page of
        /// another site may have sent it.
        names: Vec<HostName> = Default "[]",
    }
}

impl RoleConfig for NodeConfig {
    const NAME: &'static str = "node";

    fn token(&self) -> (Option<&SharedToken>, &'static str) {
        let key = if self.token_file.is_some() { "token_file" } else { "token" };
        (self.token.as_ref(), key)
    }

    fn differs_unseen(&self, after: &Self) -> Vec<&'static str> {
        let (share, then) = (&self.share, &after.share);
        let certificate = share.links.tls.certificate() != then.links.tls.certificate();
        let differ = [
            (share.webhooks.webhooks != then.webhooks.webhooks, "share.webhooks"),
            (certificate, "share.tls.certificate"),
            (self.tls.certificate() != after.tls.certificate(), "tls.certificate"),
            (self.cluster.tls != after.cluster.tls, "cluster.tls.cert_file"),
            (self.yard.calls.ca_file != after.yard.calls.ca_file, "calls.ca_file"),
        ];
        differ.into_iter().filter(|(differs, _)| *differs).map(|(_, key)| key).collect()
    }

    fn weaknesses(&self) -> Vec<String> {
        let (token, key) = RoleConfig::token(self);
        let shared = token.map(|_| {
            format!(
                "{key} is one secret for everybody: it is the token legacy, an administrator. To retire it, give each \
                 worker its own by \"reelyard token create --worker\", and each person and program another one. Then \
                 remove {key} and reload."
            )
        });
        let is_open = self.insecure && !self.listen.ip().is_loopback() && !self.tls.is_on();
        let open = is_open.then(|| {
            format!(
                "insecure is true: everybody in the network of {} can read tokens and passwords. Set tls.certificate \
                 and tls.key.",
                self.listen
            )
        });
        shared.into_iter().chain(open).collect()
    }

    fn not_there(&self) -> Vec<String> {
        let (catalog, log) = (&self.yard.catalog, self.yard.event_log.dir.as_deref());
        let files = [
            ("catalog.grade_info_file", catalog.grade_info_file.as_deref()),
            ("catalog.hitcount_history_file", catalog.hitcount_history_file.as_deref()),
        ];
        let files = files.into_iter().filter_map(|(key, path)| missing_file(key, path?));
        let log = log.and_then(|dir| missing_dir("event_log.dir", dir));
        let masters = self.source_dirs.iter().filter_map(|dir| missing_dir("source_dirs", dir));
        files.chain(log).chain(masters).chain(self.share.not_there()).collect()
    }

    fn resolve(&mut self, reader: &mut SettingsReader) {
        self.token = resolve_token(self.token.take(), self.token_file.as_deref(), reader);
        if self.data_dir.exists() && !self.data_dir.is_dir() {
            reader.fault("data_dir", format!("{} is not a directory", self.data_dir.display()));
        }
        check_source_dirs(&self.source_dirs, reader);
        reader.distinct("hosts.sources", &self.yard.hosts.sources);
        reader.distinct("hosts.destinations", &self.yard.hosts.destinations);
        let prefixes: Vec<_> = self.yard.ignore.prefixes.iter().map(NamePrefix::as_str).collect();
        reader.distinct("ignore.prefixes", &prefixes);
        self.check_order(reader);
        self.tls.resolve(reader);
        self.yard.calls.resolve(reader);
        self.cluster.resolve(reader);
        if !self.listen.ip().is_loopback() && !self.tls.is_on() && !self.insecure {
            let what = format!(
                "other hosts can reach {}, and tokens would cross the network unencrypted. Set tls.certificate and \
                 tls.key (\"reelyard certs\" makes them), or insecure = true to accept that",
                self.listen
            );
            reader.fault("listen", what);
        }
        self.share.resolve(reader);
        let (hosts, bandwidth) = (&self.yard.hosts, &self.yard.bandwidth);
        check_limits("sources", &bandwidth.sources, &hosts.sources, reader);
        check_limits("destinations", &bandwidth.destinations, &hosts.destinations, reader);
        if self.yard.event_log.watch_address.is_some() && self.yard.event_log.dir.is_none() {
            reader.fault(
                "event_log.watch_address",
                "has no effect without event_log.dir: set that too",
            );
        }
    }
}

/// A limit for a host that is not configured would have no effect.
fn check_limits(side: &str, limits: &HostLimits, hosts: &[HostAddr], reader: &mut SettingsReader) {
    for host in limits.by_host.keys().filter(|host| !hosts.contains(host)) {
        reader.fault(&format!("bandwidth.{side}"), format!("{host} is not in hosts.{side}"));
    }
}
