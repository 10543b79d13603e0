//! The settings of a node.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use reelyard_actors::bandwidth::{HostLimits, Timetable};
use reelyard_actors::catalog::{WatchMode, WatchedServers};
use reelyard_actors::cfw_worker::Agents;
use reelyard_actors::host::{HostAddr, HostRole};
use reelyard_actors::remover::{KeptBy, RemovalMode};
use reelyard_actors::task_manager::{PlanningMode, Spread, Weights};
use reelyard_actors::token::SharedToken;

use super::boxes::BoxSettings;
use super::declare::settings;
use super::inputs::{missing_dir, missing_file};
use super::reader::Reader;
use super::share::ShareSettings;
use super::source_dirs::check_source_dirs;
use super::token_file::settle_token;
use super::units::{Fraction, NamePrefix, Percent};
use super::zone::Zone;
use super::{LogSettings, Role};

settings! {
    /// A node of Reelyard: the control plane.
    pub struct NodeConfig {
        /// Where the API, the console and cfm's wire are served.
        listen: SocketAddr = Default "127.0.0.1:8080",
        /// Directory of everything durable. Made when it is missing.
        data_dir: PathBuf = Default "reelyard-data",
        /// The number of this node in its cluster. Never changes.
        node_id: NonZeroU64 = Default "1",
        /// A token shared with the workers and with whoever uses the API. Without one, whoever
        /// reaches `listen` may do everything. Old cfws know no token: their calls go without.
        token: Option<SharedToken> = Optional "a-long-random-text",
        /// A file with the token, instead of `token`. Blanks around it are ignored.
        token_file: Option<PathBuf> = Optional "/etc/reelyard/token",
        /// Where the masters are, on this node and on every source alike: absolute paths. The
        /// first directory that has a name is the one it is copied from.
        source_dirs: Vec<PathBuf> = Default "[]",
    }
    groups {
        /// The hosts of the yard.
        hosts: HostSettings,
        /// What is never touched.
        ignore: IgnoreSettings,
        /// The ranking of the files.
        catalog: CatalogSettings,
        /// The load balancer's log.
        event_log: EventLogSettings,
        /// Probing of hosts.
        heartbeat: HeartbeatSettings,
        /// Calls to hosts.
        calls: CallSettings,
        /// The life of a copy.
        task: TaskSettings,
        /// Which hosts copies come from and go to.
        placement: PlacementSettings,
        /// What hosts may send and receive.
        bandwidth: BandwidthSettings,
        /// The destinations' disks.
        storage: StorageSettings,
        /// How many copies a file should have.
        copies: CopySettings,
        /// Removing copies.
        remover: RemoverSettings,
        /// Links with deadlines.
        share: ShareSettings,
        /// Numbered boxes.
        r#box: BoxSettings,
        /// What is remembered of copies and removals.
        history: HistorySettings,
        /// The replicated log.
        journal: JournalSettings,
        /// The HTTP server.
        http: HttpSettings,
        /// Logging.
        log: LogSettings,
    }
}

settings! {
    /// The hosts of the yard, each by the ip:port of its worker (or old cfw), which is its
    /// identity. A host in both lists is source and destination, but never copies from itself.
    pub struct HostSettings {
        /// Hosts that serve masters, as in ["10.0.0.11:8888", "10.0.0.12:8888"].
        sources: Vec<HostAddr> = Default "[]",
        /// Hosts that take copies.
        destinations: Vec<HostAddr> = Default "[]",
        /// Who tells what the links of hosts carry that run no Reelyard worker (those tell
        /// themselves): the page of Prometheus' node_exporter there, by the host's address, as in
        /// { "10.0.0.21:8888" = "http://10.0.0.21:9100/metrics" }. Instead of a URL a table can say
        /// more: { url = "http://...", device = "eth0", link_speed = "10Gbit/s" }. Without a device
        /// it is the one that carries the most, and without a link_speed what the agent tells.
        agents: Agents = Default "{}",
        /// After how long a silence a host is presumed lost: what it holds no longer counts, and is
        /// copied to others. What it brings back when it answers again are duplicates. For "never",
        /// set it to years.
        presumed_lost_after: Duration = Default "3d",
        /// How many files a host may list, with names of 48 bytes each on average, and how many names
        /// that nobody has met it may bring within an hour. A longer list is refused as a whole:
        /// what was known of the host stays, and calls to it are left alone for a while.
        max_files: NonZeroU64 = Default "500000",
    }
}

settings! {
    /// Files that are never copied and never removed.
    pub struct IgnoreSettings {
        /// What their names begin with, as in ["M64", "MN1"] for advertisements.
        prefixes: Vec<NamePrefix> = Default "[]",
    }
}

settings! {
    /// The ranking of the files: which there are, and which are best.
    pub struct CatalogSettings {
        /// Path of grade.info. Without one nothing is ranked.
        grade_info_file: Option<PathBuf> = Optional "/data/.grade.info",
        /// Path of hitcount.history: sizes, and which host had which file.
        hitcount_history_file: Option<PathBuf> = Optional "/data/.hitcount.history",
        /// How changes of these files, of `source_dirs` and of the event log are noticed: "auto"
        /// has the kernel tell of them at once, where it can (it cannot for NFS and the like);
        /// "poll" only looks every `poll_interval`.
        watch: WatchMode = Default "auto",
        /// Time from one look at these files and at `source_dirs` to the next, whatever the kernel
        /// tells.
        poll_interval: Duration = Default "2s",
        /// How long a file must have kept still before it is read, so that it is not read half
        /// written. One that is put into place by a rename is read at once.
        settle: Duration = Default "1s",
        /// A file that never keeps still for so long is read all the same after this time.
        settle_limit: Duration = Default "30s",
        /// Whether a hot file that grade.info does not name is copied.
        ungraded_hot: bool = Default "false",
    }
}

settings! {
    /// The load balancer's log, `EventLog[YYYYMMDD].log`: a file whose requests could not be served
    /// by any destination is hot, and copied before all others.
    pub struct EventLogSettings {
        /// Directory of the log. Without one no file becomes hot.
        dir: Option<PathBuf> = Optional "/var/log/glb",
        /// The centre's server: requests sent to it are those that no destination could serve. One
        /// address, a list, or { pattern = '125\.159\.40\.(3|4)' }: a regular expression for whole
        /// numbers of the address, so that 125.159.40.35 does not match. Without it every request counts.
        watch_address: Option<WatchedServers> = Optional "125.159.40.3",
        /// How long a request counts.
        window: Duration = Default "10m",
        /// How many requests within the window make a file hot.
        hit_base: NonZeroU32 = Default "3",
        /// The zone whose midnight begins a new log: "system" or an IANA name, as in "Asia/Seoul".
        time_zone: Zone = Default "system",
    }
}

settings! {
    /// How it is found out which hosts are well.
    pub struct HeartbeatSettings {
        /// Time from one probe of a host to the next.
        interval: Duration = Default "5s",
        /// How long a probe may take.
        timeout: Duration = Default "2s",
        /// By which part of itself the interval varies, so that probes do not come in bursts.
        jitter: Fraction = Default "0.1",
        /// After so many failed probes in a row a host gets nothing new.
        suspect_after: NonZeroU32 = Default "1",
        /// After so many, what it has under way is given up.
        down_after: NonZeroU32 = Default "3",
        /// After so many good probes in a row it is up again.
        up_after: NonZeroU32 = Default "1",
    }
}

settings! {
    /// Calls to hosts, other than probes.
    pub struct CallSettings {
        /// How long connecting may take.
        connect_timeout: Duration = Default "2s",
        /// How long a call may take.
        timeout: Duration = Default "5s",
        /// How long the listing of a host's files may take.
        list_timeout: Duration = Default "30s",
        /// Time from one listing of a host's files to the next, for hosts that cannot tell what
        /// changed: old cfws.
        inventory_interval: Duration = Default "1m",
        /// Time from one question for what changed on a host to the next. Our workers answer it
        /// from memory.
        changes_interval: Duration = Default "10s",
        /// Time after which such a host is asked for all its files again. It also is whenever it
        /// was out of reach, or its worker was started anew.
        full_inventory_interval: Duration = Default "30m",
        /// Time from one look at a host's disk to the next.
        disk_interval: Duration = Default "30s",
        /// Time from one question for what a host's link carries to the next. A figure four times
        /// as old as that is not known any more.
        traffic_interval: Duration = Default "10s",
        /// After so many failures in a row of one kind of call (what it is, its files, its disk, a
        /// deletion) a host that still answers its probes is left alone: only probes go there, and
        /// nothing new is planned on it.
        breaker_after: NonZeroU32 = Default "3",
        /// For how long. Then it is on probation, one call and one copy at a time; a failure leaves
        /// it alone again for twice as long, successes end it step by step.
        breaker_base: Duration = Default "10s",
        /// The longest that this grows to.
        breaker_cap: Duration = Default "5m",
    }
}

settings! {
    /// The life of a copy.
    pub struct TaskSettings {
        /// "on", or "off": no new copies are planned. Copies under way go on, and one that an operator
        /// asks for by name is still made.
        mode: PlanningMode = Default "on",
        /// How many copies one source serves at a time.
        copies_per_source: NonZeroU32 = Default "1",
        /// Which destination a copy goes to, among those that are free and have room for it: "room",
        /// the one with the most room (or by placement.weights), or "ring", each in its turn, as
        /// cfm does it.
        placement: Spread = Default "room",
        /// How long a copy may give no sign of life. Our workers give one every few seconds; an
        /// old cfw gives none, so for it this is the least time a copy is given.
        timeout: Duration = Default "1h",
        /// How long a planned copy may wait for its destination to begin.
        pickup_timeout: Duration = Default "2m",
        /// The rate a copy keeps below: "80Mbit/s", "10MiB/s" or, as rclone has it, "10M" (MiB/s).
        /// Or a timetable in rclone's form, in the zone
        /// bandwidth.time_zone: "08:00,512k 18:00,10M 23:00,off", "Sat-10:00,off". Without one our
        /// workers copy as fast as they can.
        copy_speed: Option<Timetable> = Optional "80Mbit/s",
        /// How long who is to blame for a failed copy is left alone; doubles with each failure. A
        /// host is on probation after it: one copy at a time until successes have made up for it.
        back_off_base: Duration = Default "10s",
        /// The longest that this grows to.
        back_off_cap: Duration = Default "30m",
        /// How long a task that has ended is still shown.
        keep_ended: Duration = Default "1h",
    }
}

settings! {
    /// Room and traffic: which hosts copies come from and go to. What a link carries is measured by
    /// our workers ([network] of their configuration), elsewhere by hosts.agents. Copies of this
    /// yard are left out of it. A host of which it is not known, or not how much its link can
    /// carry, counts like the average of the others, and nothing is held back from it.
    pub struct PlacementSettings {
        /// With task.placement = "room": how much the room of a destination counts, and how much
        /// what is free of its link, as in { room = 2, traffic = 1 }.
        weights: Weights = Default "{ room = 1, traffic = 0 }",
        /// A source that sends so much already, in percent of what its link can carry, serves no
        /// new copies until it is less. Not set: however busy it is.
        source_traffic_mark_percent: Option<Percent> = Optional "80",
        /// A destination whose link is used so much, in its busier direction, gets no new copies
        /// until it is less. Not set: however busy it is.
        destination_traffic_mark_percent: Option<Percent> = Optional "80",
    }
}

settings! {
    /// The most that hosts send and receive, in all copies together: a rate or a timetable for each,
    /// as for task.copy_speed. What a host may is split evenly among its copies, and told to our
    /// workers whenever it changes, also in the middle of a copy. Old cfws, and copies from them, are
    /// told once, when their copy is planned.
    pub struct BandwidthSettings {
        /// Of sources, by their address; "default" stands for all others, as in
        /// { default = "1Gbit/s", "10.0.0.11:8888" = "08:00,200Mbit/s 23:00,off" }.
        sources: HostLimits = Default "{}",
        /// Of destinations.
        destinations: HostLimits = Default "{}",
        /// The zone of all timetables: "system" or an IANA name, as in "Asia/Seoul".
        time_zone: Zone = Default "system",
    }
}

settings! {
    /// The destinations' disks.
    pub struct StorageSettings {
        /// How full a destination may get, in percent of what ordinary users can write.
        limit_percent: Percent = Default "90",
        /// Down to how much a destination over its limit is brought, worst files first. Files that
        /// are not hot are placed only up to here, so that what was removed does not come back at
        /// once. 5 below the limit when it is not set.
        low_water_percent: Option<Percent> = Optional "85",
        /// How long a copy is safe from that after it arrived.
        spare_copied_within: Duration = Default "10m",
    }
}

settings! {
    /// How many copies of a file there should be: one, or as many as grade.info says.
    pub struct CopySettings {
        /// Whether grade.info says it (its seventh column, `TargetCopyCount`).
        by_grade_info: bool = Default "false",
        /// How many it may say at most.
        most: NonZeroU32 = Default "3",
    }
}

settings! {
    /// Removing copies: those beyond the one that a file should have, those on hosts that are
    /// being drained, and the worst ones of a destination over its limit.
    pub struct RemoverSettings {
        /// "on", "dry-run" (it is decided and told what would go, and nothing removed), or "off".
        mode: RemovalMode = Default "on",
        /// How often all copies are looked at.
        interval: Duration = Default "10s",
        /// Which of too many copies stay: "room", those on the hosts with the most free room, or
        /// "cfm", those whose host's address as text comes first.
        keep: KeptBy = Default "room",
        /// Whether room is made for a file that gets hot and fits on no destination: cold files go
        /// from the one where the least has to go.
        make_room: bool = Default "true",
        /// From how many rising hits on that is done. Twice event_log.hit_base when it is not
        /// set, so that what comes is at least twice as hot as what goes.
        make_room_hits: Option<NonZeroU32> = Optional "6",
        /// How much of a destination's disk is given up for one such file, in percent, 50 at most.
        make_room_percent: Percent = Default "10",
        /// How long a copy that came because its file was hot is safe from the next such one: until
        /// grade.info has been made anew, which knows of it. It is known of as many copies as
        /// history.keep remembers.
        spare_hot_within: Duration = Default "24h",
    }
}

settings! {
    /// What is remembered of copies and removals.
    pub struct HistorySettings {
        /// How many ended copies are remembered, and how many ended removals.
        keep: NonZeroU64 = Default "10000",
    }
}

settings! {
    /// The replicated log, in which everything durable is written before it is told.
    pub struct JournalSettings {
        /// How long a commit is waited for before its outcome is unknown.
        commit_timeout: Duration = Default "5s",
        /// Time from one sign of life of the leader to the next.
        heartbeat: Duration = Default "150ms",
        /// The least time without one after which a new leader is elected.
        election_min: Duration = Default "500ms",
        /// The longest such time; each node draws its own between the two.
        election_max: Duration = Default "1s",
        /// How long the log may grow before a snapshot is taken. In quiet times one is taken
        /// earlier.
        snapshot_log_bytes: ByteSize = Default "64MiB",
        /// How much of the disk under `data_dir` is kept in reserve. Nothing more is changed once
        /// less than a quarter of that is free; what is under way is finished by the reserve.
        reserve: ByteSize = Default "64MiB",
    }
}

settings! {
    /// The HTTP server.
    pub struct HttpSettings {
        /// Threads that serve requests. Without a number, as many as there are processors.
        workers: Option<NonZeroUsize> = Optional "2",
        /// The largest body of a request.
        body_limit: ByteSize = Default "1MiB",
        /// How long a client may take for the body of a request.
        request_timeout: Duration = Default "30s",
        /// Connections at once, 40% of the file descriptors of the process at most. Where all are
        /// taken, one that only waits, or takes nothing of its answer, is ended for a new one. A yard
        /// of more than 1,500 hosts has two for each, and 1,024 for others.
        connections: NonZeroU32 = Default "4096",
        /// Connections at once from one address, beside two for each configured host: all workers
        /// may have the address of one gateway. A proxy in front of the API needs them all.
        connections_per_address: NonZeroU32 = Default "512",
    }
}

impl Default for NodeConfig {
    /// The configuration of a node for which nothing is set.
    fn default() -> Self {
        super::defaults()
    }
}

impl NodeConfig {
    /// Every host with its role, in the order of their addresses.
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

impl Role for NodeConfig {
    const NAME: &'static str = "node";

    fn token(&self) -> (Option<&SharedToken>, &'static str) {
        let key = if self.token_file.is_some() { "token_file" } else { "token" };
        (self.token.as_ref(), key)
    }

    fn differs_unseen(&self, after: &Self) -> Vec<&'static str> {
        let (share, then) = (&self.share, &after.share);
        let certificate = share.tls.certificate() != then.tls.certificate();
        let differ =
            [(share.hooks != then.hooks, "share.hooks"), (certificate, "share.tls.certificate")];
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

    fn settle(&mut self, reader: &mut Reader) {
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
            reader.fault("event_log.watch_address", "means nothing without event_log.dir");
        }
    }
}

/// A limit of a host that is no such host would limit nothing.
fn check_limits(side: &str, limits: &HostLimits, hosts: &[HostAddr], reader: &mut Reader) {
    for host in limits.by_host.keys().filter(|host| !hosts.contains(host)) {
        reader.fault(&format!("bandwidth.{side}"), format!("{host} is not in hosts.{side}"));
    }
}
