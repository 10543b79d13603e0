//! The settings of a worker.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use reelyard_actors::downloader::room::Capacity;
use reelyard_actors::host::{BitsPerSecond, HostAddr};
use reelyard_actors::token::SharedToken;

use super::address::NodeAddr;
use super::box_hooks::BoxHooks;
use super::declare::settings;
use super::links::InterfaceName;
use super::pattern::Pattern;
use super::reader::Reader;
use super::source_dirs::check_source_dirs;
use super::token_file::settle_token;
use super::units::Percent;
use super::{LogSettings, Role};

settings! {
    /// A worker of Reelyard: one per storage host. With `source_dirs` it serves masters, with
    /// `base_dir` it fetches and serves copies; it can do both.
    pub struct WorkerConfig {
        /// The worker's address, which is also its identity: the node must know it by the very
        /// same one.
        listen: HostAddr = Required "10.0.0.21:8888",
        /// Where masters and copies are served. When not set, the port after `listen`.
        data_listen: Option<SocketAddr> = Optional "10.0.0.21:8889",
        /// The node (or an old cfm) that says what to copy. Needed with `base_dir`.
        node: Option<NodeAddr> = Optional "10.0.0.1:8080",
        /// The directory of the copies. Must exist, so that a disk that is not mounted is noticed
        /// and not the disk beneath it filled.
        base_dir: Option<PathBuf> = Optional "/data",
        /// What is taken for the disk of the copies: "filesystem" for the one that base_dir is on,
        /// or a size, as in "200GiB", for a part of one that others use too. Then the worker fills
        /// base_dir up to that size and reports its disk as one of that size.
        capacity: Capacity = Default "filesystem",
        /// How long a copy that was interrupted keeps its bytes, to go on from there. Afterwards
        /// its room is given back.
        resume_within: Duration = Default "1d",
        /// How old a file in base_dir's temp.downloaded may get that belongs to no copy known
        /// here (cfw leaves such files), before it is removed.
        stale_after: Duration = Default "1h",
        /// The directories of the masters: absolute paths, as the node has them.
        source_dirs: Vec<PathBuf> = Default "[]",
        /// Directory of what the worker must remember: reports not yet taken by the node, hashes
        /// of masters. Each worker needs its own. Made when it is missing.
        state_dir: PathBuf = Default "reelyard-worker-data",
        /// The token shared with the node.
        token: Option<SharedToken> = Optional "a-long-random-text",
        /// A file with the token, instead of `token`. Blanks around it are ignored.
        token_file: Option<PathBuf> = Optional "/etc/reelyard/token",
        /// How many copies are fetched at a time.
        copies_at_once: NonZeroU32 = Default "4",
        /// Time from one question for tasks to the next, when the node is an old cfm. A Reelyard
        /// node tells at once. A node that does not answer is asked again after 100 ms, then
        /// after twice as long each time, up to 5 s.
        poll_interval: Duration = Default "5s",
    }
    groups {
        /// The disk of the copies.
        storage: DiskSettings,
        /// What the host's link carries.
        network: NetworkSettings,
        /// Sources that are old cfws.
        external_downloader: ExternalDownloaderSettings,
        /// Boxes that this worker hosts.
        r#box: BoxSettings,
        /// Logging.
        log: LogSettings,
    }
}

settings! {
    /// The destinations' disks.
    pub struct DiskSettings {
        /// How full a destination may get, in percent of what ordinary users can write.
        limit_percent: Percent = Default "90",
    }
}

settings! {
    /// The link over which files are served. What goes over it, whoever sends it, is told to the
    /// node, which can keep copies away from busy hosts ([placement] of its configuration).
    pub struct NetworkSettings {
        /// The network interface. When not set, the one that has the address of data_listen; of a
        /// worker on the loopback interface nothing is told then.
        interface: Option<InterfaceName> = Optional "eth0",
        /// What it can carry in each direction. When not set, what the kernel says of a card, which
        /// it does not know in a container or a virtual machine.
        link_speed: Option<BitsPerSecond> = Optional "10Gbit/s",
        /// Where the kernel tells of interfaces: in a container perhaps where the host's /sys is
        /// mounted.
        sysfs: PathBuf = Default "/sys",
    }
}

settings! {
    /// The program that fetches from sources that are still old cfws: they have no data port. It is
    /// called as cfw calls its downloader_bin, `PROGRAM SRC_IP TMP_PATH SRC_FILE_PATH BPS`, and ended
    /// with everything it started when it takes too long or its copy is no longer wanted. What it
    /// fetched has its size checked and is hashed, but there is no hash of the source to compare with.
    pub struct ExternalDownloaderSettings {
        /// Its absolute path. Without one nothing is fetched from old cfws.
        program: Option<PathBuf> = Optional "/opt/cfw/SampleNetIODownloader",
        /// A regular expression for what it says on stderr (in the last 64 KiB) when it succeeded,
        /// besides ending with 0.
        success_pattern: Pattern = Default "Successfully",
        /// How long it may take for a copy. A large file gets more: at least twice the time it
        /// needs at its rate.
        timeout: Duration = Default "1h",
        /// How long it may take to end when it is asked to (SIGTERM), before it is killed.
        stop_grace: Duration = Default "5s",
    }
}

/// More programs at a time for boxes than this would leave no threads to the rest of a worker.
const MOST_HOOKS_AT_ONCE: u32 = 256;

settings! {
    /// Boxes that this worker hosts for pools of the node: what makes one ready for a holder, what
    /// cleans it afterwards, and what a clean one has not. Nothing of it comes from a node.
    pub struct BoxSettings {
        /// How many programs are run for boxes at a time, 256 at most. A pool of which none runs has its turn even
        /// beyond that: one whose programs hang delays no other.
        hooks_at_once: NonZeroU32 = Default "16",
        /// Where others reach the worker a token is required beside them.
        /// What is run, by the name that a pool's "hooks" gives (or else by the pool's own). As in
        /// [box.hooks.NAME] with
        ///   file             a file that has all of this; what stands beside it counts more
        ///   init, cleanup    programs with their arguments, called without a shell; none: nothing
        ///                    to do. {box}, {number}, {pool}, {token} and {holder} are filled in;
        ///                    a holder calls itself as it likes: --holder={holder}, or behind --
        ///   init_timeout, cleanup_timeout       1m each if not set, 10m at most; then they are
        ///   stop_grace       ended with everything they started: SIGTERM, SIGKILL after 5s
        ///   env              their environment beside PATH and LANG: { NAME = "value" }
        ///   done             exit codes that mean that it was done: [0]
        ///   cleanup_again_on exit codes after which a cleanup is run again at once, up to 3 times
        ///   first_uid        the user id of box 0; each further box has the next one. A clean box
        ///                    has no process of its user; it takes root to see that
        ///   boxes            how many ids of boxes there are, from 0 on: 1000 with first_uid, else any
        ///                    number. What a node asks for beyond is refused
        ///   no_directory     paths that a clean box has not; {box} and {pool} are filled in
        ///   no_cgroup        control groups that a clean box has not, also not an empty one
        ///   kill_left        whether what runs on in a box that is cleaned is killed: false
        hooks: BoxHooks = Default "{}",
    }
}

impl WorkerConfig {
    /// The configuration of a worker at `listen` for which nothing else is set. It has nothing to
    /// do until it is given a `base_dir` or `source_dirs`.
    pub fn at(listen: HostAddr) -> Self {
        WorkerConfig { listen, ..super::defaults() }
    }

    /// Where the data port listens.
    pub fn data_addr(&self) -> SocketAddr {
        self.data_listen.unwrap_or_else(|| {
            let mut addr = self.listen.socket();
            addr.set_port(addr.port().saturating_add(1));
            addr
        })
    }
}

impl Role for WorkerConfig {
    const NAME: &'static str = "worker";

    fn token(&self) -> (Option<&SharedToken>, &'static str) {
        let key = if self.token_file.is_some() { "token_file" } else { "token" };
        (self.token.as_ref(), key)
    }

    fn differs_unseen(&self, after: &Self) -> Vec<&'static str> {
        // What is in the files that it names.
        let differs = self.r#box.hooks != after.r#box.hooks;
        differs.then_some("box.hooks").into_iter().collect()
    }

    fn not_there(&self) -> Vec<String> {
        let masters = self.source_dirs.iter();
        masters.filter_map(|dir| super::inputs::missing_dir("source_dirs", dir)).collect()
    }

    fn settle(&mut self, reader: &mut Reader) {
        self.token = settle_token(self.token.take(), self.token_file.as_deref(), reader);
        self.r#box.hooks.settle(reader);
        if self.r#box.hooks_at_once.get() > MOST_HOOKS_AT_ONCE {
            let what = format!("{MOST_HOOKS_AT_ONCE} at most: each takes a thread");
            reader.fault("box.hooks_at_once", what);
        }
        if self.base_dir.is_none() && self.source_dirs.is_empty() && self.r#box.hooks.are_none() {
            let what = "base_dir, source_dirs or box.hooks is required: nothing would be served";
            reader.fault("base_dir", what);
        }
        if !self.r#box.hooks.are_none() && self.token.is_none() && !self.listen.ip().is_loopback() {
            let what =
                "a token is required beside them: else whoever reaches this worker runs them";
            reader.fault("box.hooks", what);
        }
        if self.data_addr() == self.listen.socket() {
            // Also when `listen` has the last port there is.
            reader.fault("data_listen", "a port other than that of listen is wanted");
        }
        check_source_dirs(&self.source_dirs, reader);
        self.check_base_dir(reader);
        self.check_external_downloader(reader);
        if self.state_dir.exists() && !self.state_dir.is_dir() {
            reader.fault("state_dir", format!("{} is not a directory", self.state_dir.display()));
        }
    }
}

impl WorkerConfig {
    fn check_external_downloader(&self, reader: &mut Reader) {
        let Some(program) = &self.external_downloader.program else { return };
        let key = "external_downloader.program";
        let shown = program.display();
        if self.base_dir.is_none() {
            reader.fault(key, "means nothing without base_dir: only a destination fetches");
        }
        if !program.is_absolute() {
            return reader.fault(key, format!("{shown} is not an absolute path"));
        }
        match std::fs::metadata(program) {
            Ok(file) if !file.is_file() => reader.fault(key, format!("{shown} is not a file")),
            Ok(file) if file.permissions().mode() & 0o111 == 0 => {
                reader.fault(key, format!("{shown} is not executable"));
            }
            Ok(_) => {}
            Err(error) => reader.fault(key, format!("{shown} cannot be used: {error}")),
        }
    }

    fn check_base_dir(&self, reader: &mut Reader) {
        let Some(base_dir) = &self.base_dir else { return };
        if self.node.is_none() {
            reader.fault("node", "is required with base_dir: it says what to copy");
        }
        let real = match base_dir.canonicalize() {
            Ok(real) if real.is_dir() => real,
            Ok(_) => {
                let what = format!("{} is not a directory", base_dir.display());
                return reader.fault("base_dir", what);
            }
            Err(error) => {
                let what = format!("{} cannot be used: {error}", base_dir.display());
                return reader.fault("base_dir", what);
            }
        };
        let is_real = |dir: &&PathBuf| dir.canonicalize().is_ok_and(|dir| dir == real);
        if let Some(dir) = self.source_dirs.iter().find(is_real) {
            let what =
                format!("is also in source_dirs, as {}: copies would be masters", dir.display());
            reader.fault("base_dir", what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Faults, Layers, load_worker};

    fn load(set: &[String]) -> Result<super::WorkerConfig, Vec<String>> {
        let layers = Layers { set: set.to_vec(), ..Layers::default() };
        load_worker(&layers)
            .map_err(|Faults(faults)| faults.iter().map(|f| f.to_string()).collect())
    }

    #[test]
    fn the_data_port_follows_the_other() {
        let set = ["listen=10.0.0.1:8888".to_owned(), "source_dirs=/masters".to_owned()];
        assert_eq!(load(&set).unwrap().data_addr().to_string(), "10.0.0.1:8889");
        let last = ["listen=10.0.0.1:65535".to_owned(), "source_dirs=/masters".to_owned()];
        assert!(load(&last).unwrap_err()[0].contains("data_listen"));
    }

    #[test]
    fn hooks_that_strangers_could_reach_need_a_token() {
        let told = |listen: &str, more: &str| {
            let hooks = "box.hooks={ a = { cleanup = [\"/bin/true\"] } }".to_owned();
            load(&[format!("listen={listen}"), hooks, more.to_owned()])
        };
        let node = "node=cfm:7888";
        assert!(told("127.0.0.1:8888", node).is_ok());
        assert!(told("10.0.0.1:8888", "token=0123456789abcdef0123456789abcdef").is_ok());
        let faults = told("10.0.0.1:8888", node).unwrap_err();
        assert!(faults[0].contains("a token is required"), "{faults:?}");
    }

    #[test]
    fn an_external_downloader_must_be_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let told = |program: &str, more: &[String]| {
            let mut set = vec![
                "listen=10.0.0.1:8888".to_owned(),
                format!("base_dir={}", dir.path().display()),
                "node=cfm:7888".to_owned(),
                format!("external_downloader.program={program}"),
            ];
            set.extend(more.iter().cloned());
            load(&set)
        };
        assert!(told("/bin/sh", &[]).is_ok());
        let at = |name: &str| dir.path().join(name).display().to_string();
        for (program, why) in [
            ("sh".to_owned(), "not an absolute path"),
            (at("gone"), "cannot be used"),
            (at(""), "not a file"),
            (at("plain"), "not executable"),
        ] {
            let faults = told(&program, &[]).unwrap_err();
            assert!(faults[0].contains(why), "{program}: {faults:?}");
        }
        let bad = "external_downloader.success_pattern=(".to_owned();
        assert!(told("/bin/sh", &[bad]).unwrap_err()[0].contains("regular expression"));
    }

    #[test]
    fn copies_need_a_directory_that_exists_and_a_node() {
        let dir = tempfile::tempdir().unwrap();
        let base = format!("base_dir={}", dir.path().display());
        let listen = "listen=10.0.0.1:8888".to_owned();
        let node = "node=cfm:7888".to_owned();
        assert!(load(&[listen.clone(), base.clone(), node.clone()]).is_ok());
        let told = load(&[listen.clone(), base.clone()]).unwrap_err();
        assert!(told[0].starts_with("node: is required"), "{told:?}");
        let told = load(&[listen.clone(), format!("{base}/gone"), node.clone()]).unwrap_err();
        assert!(told[0].contains("cannot be used"), "{told:?}");
        let same = format!("source_dirs={}", dir.path().display());
        let told = load(&[listen, base, node, same]).unwrap_err();
        assert!(told[0].contains("copies would be masters"), "{told:?}");
    }
}
