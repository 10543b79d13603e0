//! The settings of a node.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::token::SharedToken;
use reelyard_yard::bandwidth::{HostLimits, Timetable};
use reelyard_yard::catalog::{WatchMode, WatchedServers};
use reelyard_yard::cfw_worker::Agents;
use reelyard_yard::remover::{KeptBy, RemovalMode};
use reelyard_yard::task_manager::{PlacementPolicy, PlanningMode, Weights};

use super::declare::settings;
use super::{LogSettings, RoleConfig};
use crate::config::groups::boxes::BoxConfig;
use crate::config::groups::share::ShareConfig;
use crate::config::reading::inputs::{missing_dir, missing_file};
use crate::config::reading::reader::SettingsReader;
use crate::config::values::source_dirs::check_source_dirs;
use crate::config::values::token_file::settle_token;
use crate::config::values::units::{Fraction, NamePrefix, Percent};
use crate::config::values::zone::Zone;

settings! {
    /// A Reelyard node: the control plane.
    pub struct NodeConfig {
        /// Address of the API, the console and cfm's wire protocol.
        listen: SocketAddr = Default "127.0.0.1:8080",
        /// Directory of all durable data. The node creates it if it is missing.
        data_dir: PathBuf = Default "reelyard-data",
        /// The number of this node in its cluster. Never change it.
        node_id: NonZeroU64 = Default "1",
        /// Secret that the node shares with its workers and with the users of the API. Without a
        /// token, everybody who reaches `listen` may do everything. Old cfws do not know a token;
        /// the node calls them without one.
        token: Option<SharedToken> = Optional "a-long-random-text",
        /// File that holds the token. Use it instead of `token`. Spaces and line ends around the
        /// token are ignored.
        token_file: Option<PathBuf> = Optional "/etc/reelyard/token",
        /// Absolute paths of the directories with the masters. They are the same on this node and
        /// on every source. If two directories hold the same name, the first directory wins.
        source_dirs: Vec<PathBuf> = Default "[]",
    }
    groups {
        /// The hosts of the yard.
        hosts: HostConfig,
        /// Files that are never touched.
        ignore: IgnoreConfig,
        /// The ranking of the files.
        catalog: CatalogConfig,
        /// The log of the load balancer.
        event_log: EventLogConfig,
        /// Probes of the hosts.
        heartbeat: HeartbeatConfig,
        /// Calls to the hosts.
        calls: CallConfig,
        /// The life of a copy.
        task: TaskConfig,
        /// The hosts that copies come from and go to.
        placement: PlacementConfig,
        /// Rate limits of the hosts.
        bandwidth: BandwidthConfig,
        /// The disks of the destinations.
        storage: StorageConfig,
        /// The number of copies of a file.
        copies: CopyConfig,
        /// The removal of copies.
        remover: RemoverConfig,
        /// Links with deadlines.
        share: ShareConfig,
        /// Numbered boxes.
        r#box: BoxConfig,
        /// The memory of ended copies and removals.
        history: HistoryConfig,
        /// The replicated log.
        journal: JournalConfig,
        /// The HTTP server.
        http: HttpConfig,
        /// Logging.
        log: LogSettings,
    }
}

settings! {
    /// The hosts of the yard. Each host is named by the ip:port of its worker or old cfw; this
    /// address is its identity. A host in both lists is source and destination, but never
    /// copies from itself.
    pub struct HostConfig {
        /// Hosts that serve masters. Example: ["10.0.0.11:8888", "10.0.0.12:8888"].
        sources: Vec<HostAddr> = Default "[]",
        /// Hosts that take copies.
        destinations: Vec<HostAddr> = Default "[]",
        /// URL of node_exporter per host. The node reads the network load of hosts there that do
        /// not run a Reelyard worker; workers report their own load. Example: { "10.0.0.21:8888" =
        /// "http://10.0.0.21:9100/metrics" }. A table sets more: { url = "http://...", device =
        /// "eth0", link_speed = "10Gbit/s" }. Without `device` the busiest interface counts.
        /// Without `link_speed` the speed that node_exporter reports counts.
        node_exporters: Agents = Default "{}",
        /// A host that is silent for this long is presumed lost. Its copies no longer count, and
        /// the node makes new ones on other hosts. If the host comes back, its copies are
        /// duplicates. For "never", set some years.
        presumed_lost_after: Duration = Default "3d",
        /// Largest number of files in the list of one host, with names of 48 bytes on average.
        /// In one hour a host may also list at most this number of names that are new to the node. A
        /// longer list is refused as a whole: the last good list stays, and the circuit breaker of
        /// the host opens.
        max_files: NonZeroU64 = Default "200000",
    }
}

settings! {
    /// Files that are never copied and never removed.
    pub struct IgnoreConfig {
        /// Beginnings of their names. Example for advertisements: ["M64", "MN1"].
        prefixes: Vec<NamePrefix> = Default "[]",
    }
}

settings! {
    /// The ranking of the files.
    pub struct CatalogConfig {
        /// Path of grade.info. Without it there is no ranking.
        grade_info_file: Option<PathBuf> = Optional "/data/.grade.info",
        /// Path of hitcount.history. It holds sizes and the hosts of each file.
        hitcount_history_file: Option<PathBuf> = Optional "/data/.hitcount.history",
        /// How the node notices changes of these files, of `source_dirs` and of the event log.
        /// "auto" uses notifications of the kernel where they work; they do not work on NFS. "poll"
        /// only looks every `poll_interval`.
        watch: WatchMode = Default "auto",
        /// Interval between two looks at these files and at `source_dirs`. It also applies with
        /// "auto".
        poll_interval: Duration = Default "2s",
        /// A changed file is read after it has been unchanged for this long, so that no
        /// half-written file is read. A file that arrives by rename is read at once.
        settle: Duration = Default "1s",
        /// A file that never stops changing is read after this time.
        settle_limit: Duration = Default "30s",
        /// Whether the node copies hot files that grade.info does not name.
        ungraded_hot: bool = Default "false",
    }
}

settings! {
    /// The log of the load balancer, `EventLog[YYYYMMDD].log`. A file becomes hot when no
    /// destination could serve its requests. Hot files are copied first.
    pub struct EventLogConfig {
        /// Directory of the log. Without it no file becomes hot.
        dir: Option<PathBuf> = Optional "/var/log/glb",
        /// Address of the centre's server. It gets the requests that no destination could serve.
        /// Allowed are one address, a list, or a pattern: { pattern = '125\.159\.40\.(3|4)' }. A
        /// pattern is a regular expression for the whole address; this one does not match
        /// 125.159.40.35. Without the setting every request counts.
        watch_address: Option<WatchedServers> = Optional "125.159.40.3",
        /// A request counts for this long.
        window: Duration = Default "10m",
        /// Number of requests within the window that make a file hot.
        hit_base: NonZeroU32 = Default "3",
        /// Time zone whose midnight starts a new log file: "system" or an IANA name such as
        /// "Asia/Seoul".
        time_zone: Zone = Default "system",
    }
}

settings! {
    /// Probes that find out which hosts are up.
    pub struct HeartbeatConfig {
        /// Interval between two probes of a host.
        interval: Duration = Default "5s",
        /// A probe without an answer fails after this time.
        timeout: Duration = Default "2s",
        /// Part of the interval that varies at random, so that probes do not come in bursts.
        jitter: Fraction = Default "0.1",
        /// After this number of failed probes in a row a host gets no new copies.
        suspect_after: NonZeroU32 = Default "1",
        /// After this number of failed probes in a row the node gives up the host's running copies.
        down_after: NonZeroU32 = Default "3",
        /// After this number of good probes in a row the host is up again.
        up_after: NonZeroU32 = Default "1",
    }
}

settings! {
    /// Calls to hosts, except probes.
    pub struct CallConfig {
        /// Time limit for a connection.
        connect_timeout: Duration = Default "2s",
        /// Time limit for a call.
        timeout: Duration = Default "5s",
        /// Time limit for the list of a host's files.
        list_timeout: Duration = Default "30s",
        /// Interval between two file lists of a host that cannot report changes, such as an old
        /// cfw.
        inventory_interval: Duration = Default "1m",
        /// Interval between two requests for the changes on a worker. A worker answers from memory.
        changes_interval: Duration = Default "10s",
        /// Interval between two full file lists of a worker. The node also asks for a full list
        /// after the worker restarted or was out of reach.
        full_inventory_interval: Duration = Default "30m",
        /// Interval between two looks at a host's disk.
        disk_interval: Duration = Default "30s",
        /// Interval between two requests for the network load of a host. A value older than four
        /// intervals is ignored.
        traffic_interval: Duration = Default "10s",
        /// The circuit breaker of a host opens after this number of failures in a row of one kind
        /// of call: information, files, disk or deletion. While it is open, the host gets only
        /// probes and no new copies.
        breaker_after: NonZeroU32 = Default "3",
        /// The circuit breaker stays open for this long. Then the host is on probation with one
        /// call and one copy at a time. A failure opens the breaker again for twice the time;
        /// successes end the probation step by step.
        breaker_base: Duration = Default "10s",
        /// Longest time that the circuit breaker stays open.
        breaker_cap: Duration = Default "5m",
    }
}

settings! {
    /// The life of a copy.
    pub struct TaskConfig {
        /// "on" or "off". With "off" the node plans no new copies. Running copies continue, and an
        /// operator can still order a copy by name.
        mode: PlanningMode = Default "on",
        /// Number of copies that one source serves at the same time.
        copies_per_source: NonZeroU32 = Default "1",
        /// Rule that chooses among free destinations with enough room. "room" takes the one with
        /// the most room, or weighs room and load by placement.weights. "ring" takes each in turn,
        /// as cfm does.
        placement: PlacementPolicy = Default "room",
        /// A copy without a sign of progress fails after this time. Workers report progress every
        /// few seconds. Old cfws report none; for them it is the least time that a copy gets.
        timeout: Duration = Default "1h",
        /// A planned copy fails if its destination does not start it within this time.
        pickup_timeout: Duration = Default "2m",
        /// Highest rate of one copy: "80Mbit/s", "10MiB/s", or "10M" (MiB/s) as in rclone. A
        /// timetable in rclone's form also works, in the time zone bandwidth.time_zone: "08:00,512k
        /// 18:00,10M 23:00,off", "Sat-10:00,off". Without the setting workers copy at full speed.
        copy_speed: Option<Timetable> = Optional "80Mbit/s",
        /// Backoff after a failed copy for the host or file that caused it. It doubles with each
        /// failure. A host is then on probation: one copy at a time, until enough copies succeed.
        back_off_base: Duration = Default "10s",
        /// Longest backoff.
        back_off_cap: Duration = Default "30m",
        /// Ended tasks stay visible for this long.
        keep_ended: Duration = Default "1h",
    }
}

settings! {
    /// Choice of hosts by room and network load. Workers measure the load of their link
    /// (`[network]` of their configuration); for other hosts hosts.node_exporters is used. Copies of this
    /// yard do not count as load. A host without a known load or link speed counts like the
    /// average host, and no limit applies to it.
    pub struct PlacementConfig {
        /// With task.placement = "room": the weight of free room and the weight of the free part of
        /// the link. Example: { room = 2, traffic = 1 }.
        weights: Weights = Default "{ room = 1, traffic = 0 }",
        /// A source whose link sends more than this percentage starts no new copies until the load
        /// falls. Without the setting there is no limit.
        source_traffic_mark_percent: Option<Percent> = Optional "80",
        /// A destination whose link carries more than this percentage in its busier direction gets
        /// no new copies until the load falls. Without the setting there is no limit.
        destination_traffic_mark_percent: Option<Percent> = Optional "80",
    }
}

settings! {
    /// Rate limits of each host for all its copies together, by direction. A limit is a rate or
    /// a timetable, as in task.copy_speed. The copies of a host share its limit evenly. Workers
    /// get a changed limit at once, also during a copy. Old cfws, and copies from them, get
    /// their rate when the copy is planned.
    pub struct BandwidthConfig {
        /// Limits of sources by address; "default" applies to all others. Example: { default =
        /// "1Gbit/s", "10.0.0.11:8888" = "08:00,200Mbit/s 23:00,off" }.
        sources: HostLimits = Default "{}",
        /// Limits of destinations, in the same form.
        destinations: HostLimits = Default "{}",
        /// Time zone of all timetables: "system" or an IANA name such as "Asia/Seoul".
        time_zone: Zone = Default "system",
    }
}

settings! {
    /// The disks of the destinations.
    pub struct StorageConfig {
        /// Highest fill level of a destination, in percent of the space for ordinary users.
        limit_percent: Percent = Default "90",
        /// A destination over its limit is emptied down to this level, worst files first. Files
        /// that are not hot are placed only up to this level, so that removed files do not come
        /// back at once. Without the setting it is 5 below the limit.
        low_water_percent: Option<Percent> = Optional "85",
        /// A copy is safe from this removal for this long after its arrival.
        spare_copied_within: Duration = Default "10m",
    }
}

settings! {
    /// The number of copies of a file: one, or the number in grade.info.
    pub struct CopyConfig {
        /// Whether grade.info decides (its seventh column, `TargetCopyCount`).
        by_grade_info: bool = Default "false",
        /// Largest number that grade.info may set.
        most: NonZeroU32 = Default "3",
    }
}

settings! {
    /// The removal of copies: surplus copies, copies on hosts that are drained, and the worst
    /// copies of a destination over its limit.
    pub struct RemoverConfig {
        /// "on", "dry-run" or "off". With "dry-run" the node decides and logs removals, but removes
        /// nothing.
        mode: RemovalMode = Default "on",
        /// Interval between two looks at all copies.
        interval: Duration = Default "10s",
        /// Which surplus copy is kept. "room" keeps the one on the host with the most free room.
        /// "cfm" keeps the one whose host address comes first as text.
        keep: KeptBy = Default "room",
        /// Whether the node makes room for a file that becomes hot and fits on no destination. It
        /// removes cold files from the destination where the least must go.
        make_room: bool = Default "true",
        /// Number of rising hits from which the node makes room. Without the setting it is twice
        /// event_log.hit_base; then the new file is at least twice as hot as the removed ones.
        make_room_hits: Option<NonZeroU32> = Optional "6",
        /// Largest part of a destination's disk that is given up for one file, in percent. The
        /// maximum is 50.
        make_room_percent: Percent = Default "10",
        /// A copy that was made because its file was hot is safe from the next hot file for this
        /// long. In this time a new grade.info should include it. The node remembers history.keep
        /// of these copies.
        spare_hot_within: Duration = Default "24h",
    }
}

settings! {
    /// The memory of ended copies and removals.
    pub struct HistoryConfig {
        /// Number of ended copies, and number of ended removals, that the node remembers.
        keep: NonZeroU64 = Default "10000",
    }
}

settings! {
    /// The replicated log. Every durable change is written here before it is answered.
    pub struct JournalConfig {
        /// A commit that takes longer is answered as "outcome unknown".
        commit_timeout: Duration = Default "5s",
        /// Interval between two heartbeats of the leader.
        heartbeat: Duration = Default "150ms",
        /// Shortest time without a heartbeat before an election.
        election_min: Duration = Default "500ms",
        /// Longest time without a heartbeat before an election. Each node uses a random time
        /// between election_min and election_max.
        election_max: Duration = Default "1s",
        /// Size of the log that triggers a snapshot. In quiet times a snapshot is taken earlier.
        snapshot_log_bytes: ByteSize = Default "64MiB",
        /// Space of the disk under `data_dir` that is kept free. Below a quarter of it the node
        /// refuses changes; it uses the rest to finish running work.
        reserve: ByteSize = Default "64MiB",
    }
}

settings! {
    /// The HTTP server.
    pub struct HttpConfig {
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
    }
}

impl Default for NodeConfig {
    /// The default configuration, in which no setting is set.
    fn default() -> Self {
        super::defaults()
    }
}

impl NodeConfig {
    /// Every host with its role, sorted by address.
    pub fn yard(&self) -> Vec<(HostAddr, HostRole)> {
        let sources = self.hosts.sources.iter().map(|host| (*host, HostRole::Source));
        let destinations =
            self.hosts.destinations.iter().map(|host| (*host, HostRole::Destination));
        let mut yard = BTreeMap::new();
        for (host, role) in sources.chain(destinations) {
            let stored = yard.entry(host).or_insert(role);
            if *stored != role {
                *stored = HostRole::Both;
            }
        }
        yard.into_iter().collect()
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
        let certificate = share.tls.certificate() != then.tls.certificate();
        let differ = [
            (share.webhooks != then.webhooks, "share.webhooks"),
            (certificate, "share.tls.certificate"),
        ];
        differ.into_iter().filter(|(differs, _)| *differs).map(|(_, key)| key).collect()
    }

    fn not_there(&self) -> Vec<String> {
        let (catalog, log) = (&self.catalog, self.event_log.dir.as_deref());
        let files = [
            ("catalog.grade_info_file", catalog.grade_info_file.as_deref()),
            ("catalog.hitcount_history_file", catalog.hitcount_history_file.as_deref()),
        ];
        let files = files.into_iter().filter_map(|(key, path)| missing_file(key, path?));
        let log = log.and_then(|dir| missing_dir("event_log.dir", dir));
        let masters = self.source_dirs.iter().filter_map(|dir| missing_dir("source_dirs", dir));
        files.chain(log).chain(masters).chain(self.share.not_there()).collect()
    }

    fn settle(&mut self, reader: &mut SettingsReader) {
        self.token = settle_token(self.token.take(), self.token_file.as_deref(), reader);
        if self.data_dir.exists() && !self.data_dir.is_dir() {
            reader.fault("data_dir", format!("{} is not a directory", self.data_dir.display()));
        }
        check_source_dirs(&self.source_dirs, reader);
        reader.distinct("hosts.sources", &self.hosts.sources);
        reader.distinct("hosts.destinations", &self.hosts.destinations);
        let prefixes: Vec<_> = self.ignore.prefixes.iter().map(NamePrefix::as_str).collect();
        reader.distinct("ignore.prefixes", &prefixes);
        self.check_order(reader);
        self.share.settle(reader);
        let (hosts, bandwidth) = (&self.hosts, &self.bandwidth);
        check_limits("sources", &bandwidth.sources, &hosts.sources, reader);
        check_limits("destinations", &bandwidth.destinations, &hosts.destinations, reader);
        if self.event_log.watch_address.is_some() && self.event_log.dir.is_none() {
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
