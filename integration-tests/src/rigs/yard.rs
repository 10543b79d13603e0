//! Real processes for tests: the binary in its roles, on loopback addresses, in a temporary directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reelyard::http::UNDECLARED;
use reelyard_core::token::SharedToken;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::Value;
use tempfile::TempDir;

use crate::probes::waiting::{PATIENCE, pause_after};
use crate::rigs::binary;
use crate::rigs::catalog::catalog_input::{append, event_log_name, selection};
use crate::rigs::plain_request::{PlainAnswer, get, send};

/// The address of the centre in event logs. A hit there means that no destination could serve the client.
const WATCHED: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 9);

/// A running role of the binary. Dropping it kills the process.
pub struct RoleProcess {
    arguments: Vec<String>,
    /// Additional environment variables.
    environment: Vec<(String, PathBuf)>,
    /// The working directory of the process; none for that of the test.
    directory: Option<PathBuf>,
    log: PathBuf,
    /// The same file, also after its directory was removed.
    open_log: Option<File>,
    child: Option<Child>,
}

impl RoleProcess {
    /// Starts `reelyard <role> --set key=value ...`.
    pub fn start(role: &str, settings: &[(String, String)], log: PathBuf) -> Result<Self> {
        let mut arguments = vec![role.to_owned()];
        for (key, value) in settings {
            arguments.extend(["--set".to_owned(), format!("{key}={value}")]);
        }
        let environment = Vec::new();
        let mut role = RoleProcess {
            arguments,
            environment,
            directory: None,
            log,
            open_log: None,
            child: None,
        };
        role.start_again()?;
        Ok(role)
    }

    /// Starts `reelyard <role> --config <file>`.
    pub fn start_by_file(role: &str, file: &Path, log: PathBuf) -> Result<Self> {
        RoleProcess::start_trusting(role, file, log, None)
    }

    /// Starts a role from a file. With `trusted`, the process trusts only the certificate in that file.
    pub fn start_trusting(
        role: &str,
        file: &Path,
        log: PathBuf,
        trusted: Option<&Path>,
    ) -> Result<Self> {
        let trusted = trusted.map(|file| ("SSL_CERT_FILE".to_owned(), file.to_owned()));
        RoleProcess::start_in(role, file, log, trusted.into_iter().collect(), None)
    }

    /// Starts a role from a file, with these additional environment variables, and in this directory.
    pub fn start_in(
        role: &str,
        file: &Path,
        log: PathBuf,
        environment: Vec<(String, PathBuf)>,
        directory: Option<PathBuf>,
    ) -> Result<Self> {
        let arguments = vec![role.to_owned(), "--config".to_owned(), file.display().to_string()];
        let mut role =
            RoleProcess { arguments, environment, directory, log, open_log: None, child: None };
        role.start_again()?;
        Ok(role)
    }

    /// Sends SIGHUP, which reloads the configuration.
    pub fn hang_up(&self) -> Result<()> {
        self.signal(Signal::HUP)
    }

    /// Sends SIGTERM, without waiting for the end.
    pub fn begin_to_end(&self) -> Result<()> {
        self.signal(Signal::TERM)
    }

    /// Stops the process as a pause of its machine does.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        // Until all its threads have stopped, one of them may still answer a request.
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()?), stopped)?;
        Ok(())
    }

    /// Lets a paused process go on.
    pub fn wake(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid()?, signal)?)
    }

    fn pid(&self) -> Result<Pid> {
        Ok(Pid::from_child(self.child.as_ref().context("it does not run")?))
    }

    /// Starts it again with the same settings.
    pub fn start_again(&mut self) -> Result<()> {
        let log = File::options().create(true).read(true).append(true).open(&self.log)?;
        self.open_log = Some(log.try_clone()?);
        let mut command = Command::new(binary::path());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let child = command
            .args(&self.arguments)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// Ends it and starts it again, with `more` settings for this and later starts.
    pub fn start_again_with(&mut self, more: &[(&str, &str)]) -> Result<()> {
        self.terminate()?;
        for (key, value) in more {
            self.arguments.extend(["--set".to_owned(), format!("{key}={value}")]);
        }
        self.start_again()
    }

    /// Kills the process with SIGKILL and waits for its end.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The process may have ended by itself; in both cases it is gone afterwards.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends SIGTERM and waits for the exit code.
    pub fn terminate(&mut self) -> Result<std::process::ExitStatus> {
        let mut child = self.child.take().context("it does not run")?;
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::TERM)?;
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            anyhow::ensure!(Instant::now() < until, "it does not stop; {}", self.log_text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its process id; `None` after its end.
    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether the process ended without a request of the test.
    pub fn has_ended(&self) -> bool {
        let pid = self.child.as_ref().map(Pid::from_child);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let state = |pid| waitid(WaitId::Pid(pid), options);
        pid.is_some_and(|pid| matches!(state(pid), Ok(Some(_))))
    }

    /// The content of its log file.
    pub fn log_text(&self) -> String {
        let mut text = String::new();
        if let Ok(mut file) = File::open(&self.log) {
            // A log that cannot be read only shortens a failure message.
            let _ = file.read_to_string(&mut text);
        }
        text
    }
}

impl Drop for RoleProcess {
    /// No test may see an answer that the document of the API does not list.
    fn drop(&mut self) {
        self.kill();
        let mut text = Vec::new();
        if let Some(log) = &mut self.open_log {
            let _ = log.rewind().and_then(|()| log.read_to_end(&mut text));
        }
        let text = String::from_utf8_lossy(&text);
        let undeclared = text.lines().find(|line| line.contains(UNDECLARED));
        assert!(undeclared.is_none() || std::thread::panicking(), "{undeclared:?}");
    }
}

/// A directory with masters, inputs and the state of all processes of a test.
pub struct ProcessYard {
    /// The parent of all files of the test.
    pub dir: TempDir,
    /// The listen address of the node.
    pub node: SocketAddr,
    sources: Vec<SocketAddr>,
    destinations: Vec<SocketAddr>,
}

impl ProcessYard {
    /// Creates an empty yard for this number of hosts. Each host gets its own loopback address.
    pub fn new(sources: usize, destinations: usize) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        for part in ["masters", "input", "event-log"] {
            std::fs::create_dir(dir.path().join(part))?;
        }
        // Each test has its own network. Otherwise a parallel test could take a free port before the process
        // of this test listens.
        let (net, mut last) = ([fastrand::u8(1..=254), fastrand::u8(0..=255)], 10);
        let mut next = || -> Result<SocketAddr> {
            last += 1;
            free_addr(Ipv4Addr::new(127, net[0], net[1], last))
        };
        let node = next()?;
        let sources = (0..sources).map(|_| next()).collect::<Result<_>>()?;
        let destinations = (0..destinations).map(|_| next()).collect::<Result<_>>()?;
        Ok(ProcessYard { dir, node, sources, destinations })
    }

    /// A path below the directory.
    pub fn path(&self, part: &str) -> PathBuf {
        self.dir.path().join(part)
    }

    /// Writes a master of `size` bytes that depend on the name.
    pub fn master(&self, name: &[u8], size: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; size];
        let seed = name.iter().fold(7_u64, |seed, byte| seed.wrapping_mul(31) ^ u64::from(*byte));
        fastrand::Rng::with_seed(seed).fill(&mut bytes);
        std::fs::write(self.path("masters").join(OsStr::from_bytes(name)), &bytes)?;
        Ok(bytes)
    }

    /// Replaces grade.info atomically; the best name is first.
    pub fn grade(&self, names: &[&[u8]]) -> Result<()> {
        let mut text = b"filename\tweightcount\n".to_vec();
        for name in names {
            text.extend_from_slice(name);
            text.extend_from_slice(b"\t1\t1\t1\t1\t1\t1\n");
        }
        std::fs::write(self.path("input/new"), text)?;
        std::fs::rename(self.path("input/new"), self.path("input/.grade.info"))?;
        let history = self.path("input/.hitcount.history");
        if !history.exists() {
            std::fs::write(history, "historyheader:1\n")?;
        }
        Ok(())
    }

    /// The settings of a node that reads the event log of [`ProcessYard::hit`].
    pub fn watching(&self) -> [(&'static str, String); 3] {
        [
            ("event_log.dir", format!("\"{}\"", self.path("event-log").display())),
            ("event_log.watch_address", format!("\"{WATCHED}\"")),
            ("event_log.time_zone", "\"UTC\"".to_owned()),
        ]
    }

    /// Adds `times` requests of clients for a file that no destination had.
    pub fn hit(&self, name: &[u8], times: usize) -> Result<()> {
        let now = jiff::Timestamp::now();
        let day = now.to_zoned(jiff::tz::TimeZone::UTC).date();
        let (year, month, day) =
            (u16::try_from(day.year())?, u8::try_from(day.month())?, u8::try_from(day.day())?);
        let rows = selection(name, now.as_second(), IpAddr::V4(WATCHED)).repeat(times);
        let log = self.path("event-log").join(event_log_name(year, month, day));
        Ok(append(&log, &rows)?)
    }

    /// The address of source `number`.
    pub fn source(&self, number: usize) -> SocketAddr {
        self.sources[number]
    }

    /// The address of destination `number`.
    pub fn destination(&self, number: usize) -> SocketAddr {
        self.destinations[number]
    }

    /// The directory of copies of destination `number`.
    pub fn copies(&self, number: usize) -> PathBuf {
        self.path(&format!("copies-{number}"))
    }

    /// The settings of a node of this yard, besides its address and its data directory.
    fn node_settings(&self) -> Vec<(String, String)> {
        vec![
            setting("source_dirs", list([self.path("masters").display()])),
            setting("hosts.sources", list(&self.sources)),
            setting("hosts.destinations", list(&self.destinations)),
            setting("catalog.grade_info_file", self.path("input/.grade.info").display()),
            setting(
                "catalog.hitcount_history_file",
                self.path("input/.hitcount.history").display(),
            ),
            setting("catalog.poll_interval", "100ms"),
            setting("heartbeat.interval", "300ms"),
            setting("heartbeat.timeout", "1s"),
            setting("task.back_off_base", "200ms"),
            setting("task.back_off_cap", "1s"),
            // The few bytes of the tests must fit on any disk.
            setting("storage.limit_percent", 100),
            setting("storage.low_water_percent", 100),
        ]
    }

    /// The same as text of a configuration file.
    pub fn node_file(&self) -> String {
        let mut text = String::new();
        for (key, value) in self.node_settings() {
            let is_bare = value.starts_with('[') || value.parse::<u64>().is_ok();
            let quote = if is_bare { "" } else { "\"" };
            text.push_str(&format!("{key} = {quote}{value}{quote}\n"));
        }
        text
    }

    /// Starts the node with its default settings and `more`.
    pub fn start_node(&self, more: &[(&str, &str)]) -> Result<RoleProcess> {
        let own = [setting("listen", self.node), setting("data_dir", self.path("node").display())];
        let mut settings = [&own[..], &self.node_settings()].concat();
        settings.extend(more.iter().map(|(key, value)| setting(key, value)));
        RoleProcess::start("node", &settings, self.path("node.log"))
    }

    /// Starts source `number`. All sources serve the same masters.
    pub fn start_source(&self, number: usize, more: &[(&str, &str)]) -> Result<RoleProcess> {
        let masters = setting("source_dirs", list([self.path("masters").display()]));
        self.start_worker("source", number, self.sources[number], masters, more)
    }

    /// Starts destination `number`.
    pub fn start_destination(&self, number: usize, more: &[(&str, &str)]) -> Result<RoleProcess> {
        std::fs::create_dir_all(self.copies(number))?;
        let base = setting("base_dir", self.copies(number).display());
        let more = [&[("storage.limit_percent", "100")], more].concat();
        self.start_worker("destination", number, self.destinations[number], base, &more)
    }

    fn start_worker(
        &self,
        kind: &str,
        number: usize,
        addr: SocketAddr,
        place: (String, String),
        more: &[(&str, &str)],
    ) -> Result<RoleProcess> {
        let SocketAddr::V4(v4) = addr else { anyhow::bail!("hosts of the tests are IPv4") };
        // The port of `listen` is free too until the worker runs.
        let data_listen = loop {
            let drawn = free_addr(*v4.ip())?;
            if drawn != addr {
                break drawn;
            }
        };
        let mut settings = vec![
            setting("listen", addr),
            setting("data_listen", data_listen),
            setting("node", self.node),
            setting("state_dir", self.path(&format!("state-{kind}-{number}")).display()),
            place,
        ];
        settings.extend(more.iter().map(|(key, value)| setting(key, value)));
        RoleProcess::start("worker", &settings, self.path(&format!("{kind}-{number}.log")))
    }

    /// A `GET` of the node's API as JSON; `None` unless the status is 200.
    pub fn get(&self, path: &str) -> Option<Value> {
        get(self.node, path, &self.bearer()).ok().filter(PlainAnswer::is_success)?.json()
    }

    /// A silent curl with a time limit that calls as the administrator of the node.
    pub fn curl(&self) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-m", "20", "-H", &self.bearer()]);
        curl
    }

    /// The token of the administrator of the node.
    pub fn admin_token(&self) -> Result<SharedToken> {
        let text = std::fs::read_to_string(self.path("node/admin.token"))?;
        Ok(SharedToken::new(text.trim())?)
    }

    /// The header that authorizes the administrator of the node.
    pub fn bearer(&self) -> String {
        bearer_in(&self.path("node"))
    }

    /// The body of `/readyz`, for any status.
    pub fn readyz(&self) -> Option<String> {
        Some(get(self.node, "/readyz", "").ok()?.body)
    }
}

/// The header that authorizes the administrator of the node with this data directory. An empty text before the
/// node has written its token.
pub fn bearer_in(data_dir: &Path) -> String {
    let token = std::fs::read_to_string(data_dir.join("admin.token"));
    token.map(|token| format!("Authorization: Bearer {}", token.trim())).unwrap_or_default()
}

/// Waits until `holds` returns a value. Otherwise fails with `what` and the logs, immediately when one of
/// `roles` has ended by itself.
pub fn wait_for<T>(
    what: &str,
    roles: &[&RoleProcess],
    mut holds: impl FnMut() -> Option<T>,
) -> Result<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = holds() {
            return Ok(found);
        }
        let ended = roles.iter().any(|role| role.has_ended());
        if ended || began.elapsed() > PATIENCE {
            let logs: Vec<String> = roles.iter().map(|role| role.log_text()).collect();
            let why = if ended { "a process ended by itself" } else { "waited in vain" };
            anyhow::bail!("{why}: {what}\n{}", logs.join("\n---\n"));
        }
        std::thread::sleep(pause_after(began));
    }
}

/// Waits until the worker at `host`, the process `role`, answers `HEAD /hb`.
pub fn wait_until_up(host: SocketAddr, role: &RoleProcess) -> Result<()> {
    wait_for("the worker is up", &[role], || {
        send(host, ("HEAD", "/hb"), "", "").ok().filter(PlainAnswer::is_success).map(drop)
    })
}

/// Whether a file holds exactly these bytes.
pub fn holds(path: &Path, bytes: &[u8]) -> bool {
    std::fs::read(path).is_ok_and(|found| found == bytes)
}

/// A port that is free now.
pub fn free_addr(ip: Ipv4Addr) -> Result<SocketAddr> {
    Ok(TcpListener::bind((ip, 0))?.local_addr()?)
}

fn setting(key: &str, value: impl std::fmt::Display) -> (String, String) {
    (key.to_owned(), value.to_string())
}

fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<String> = items.into_iter().map(|item| format!("\"{item}\"")).collect();
    format!("[{}]", quoted.join(","))
}
