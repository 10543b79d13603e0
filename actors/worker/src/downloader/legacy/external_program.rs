//! Copies from sources that are old cfws. Those have no data port, so cfw's own copy program fetches from
//! them: `PROGRAM SRC_IP TMP_PATH SRC_FILE_PATH BPS`.
//!
//! The program gets a time limit, and all its processes end with it. The size of the file is compared with
//! the planned one. Its bytes are hashed, synced and renamed like those of other copies. There is no hash
//! of the source, so such a copy is never called verified.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Pid;

pub use crate::processes::family::LEFTOVER_GRACE;

use reelyard_core::host::{BitsPerSecond, OLD_COPY_SPEED};
use reelyard_protocol::worker::Blame;

use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::fetching::fault::CopyFault;
use crate::downloader::fetching::fetch::FetchProgressCallback;
use crate::processes::family::{MarkName, ProcessFamily, end_leftovers};
use crate::processes::table::has_ended;
use crate::processes::tail::Tail;

/// The variable that marks the processes of a download; its value is the path of its temporary
/// file.
const MARK: MarkName = "DOWNLOAD_OF_REELYARD";

/// How often a running program is looked after.
const TICK: Duration = Duration::from_millis(20);

/// How often the growth of its file is checked.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How many bytes of a program's stderr the reason of a failure contains.
const OUTPUT_IN_REASON: usize = 300;

/// How many bytes of it the log contains.
const OUTPUT_IN_LOG: usize = 4 << 10;

/// The program that fetches from old cfws, with its settings.
#[derive(Clone, Debug)]
pub struct ExternalProgram {
    /// Path of the executable.
    pub program: PathBuf,
    /// The text on stderr that shows success, besides exit code 0.
    pub success: regex::bytes::Regex,
    /// Its time limit, if its file needs less than half of that at its rate.
    pub timeout: Duration,
    /// How long it may take to end after SIGTERM, before SIGKILL.
    pub grace: Duration,
    /// The directory of temporary files, in the form that is passed to the program.
    pub temp_dir: PathBuf,
}

impl ExternalProgram {
    /// Runs it for one copy. When this returns, all its processes have ended.
    pub(super) fn run(
        &self,
        order: &CopyOrder,
        cancel: &CopyCancellation,
        progress: &FetchProgressCallback<'_>,
    ) -> Result<(), CopyFault> {
        let target = self.temp_dir.join(order.id.to_string());
        let rate = order.copy_speed.unwrap_or(OLD_COPY_SPEED);
        let cannot = |what: &str, error: &dyn std::fmt::Display| {
            let program = self.program.display();
            let reason = format!("the external downloader {program} {what}: {error}");
            CopyFault::Blamed(Blame::Destination, reason)
        };
        let mut child = self
            .command(order, &target, rate, std::env::vars_os().map(|(name, _)| name))?
            .spawn()
            .map_err(|error| cannot("cannot be started", &error))?;
        let leader = Pid::from_child(&child);
        let family = ProcessFamily::of(leader, MARK, &target);
        let mut output = Tail::default();
        let followed = match child.stderr.take() {
            Some(mut stderr) => {
                let limit = Limit { program: self, rate, size: order.size };
                let watched = WatchedProgram { leader, target: &target };
                let followed =
                    wait_for_end(&watched, &limit, &mut stderr, &mut output, cancel, progress);
                followed.map_err(|unfollowed| match unfollowed {
                    Unfollowed::Fault(fault) => fault,
                    Unfollowed::Io(error) => cannot("cannot be followed", &error),
                })
            }
            None => Err(cannot("cannot be followed", &"it has no stderr")),
        };
        // Also after a success, because it may have left processes behind that still write. Its process id
        // is not reused before it is waited for.
        if !family.end(self.grace) {
            tracing::error!(task = %order.id, "processes of an external downloader cannot be ended");
            return Err(cannot("cannot be ended", &"it survived SIGKILL"));
        }
        let status = child.wait().map_err(|error| cannot("cannot be waited for", &error))?;
        let verdict = followed.and_then(|()| self.judge(status, &output));
        if let Err(CopyFault::Blamed(..)) = &verdict {
            let output = output.last(OUTPUT_IN_LOG);
            tracing::warn!(task = %order.id, %status, output, "the external downloader failed");
        }
        verdict
    }

    fn command(
        &self,
        order: &CopyOrder,
        target: &Path,
        rate: BitsPerSecond,
        environment: impl Iterator<Item = OsString>,
    ) -> Result<Command, CopyFault> {
        let mut command = Command::new(&self.program);
        command
            .arg(order.source.ip().to_string())
            .arg(target)
            .arg(source_path(order)?)
            .arg(rate.0.to_string())
            .env(MARK, target)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        // Variables with settings may contain secrets.
        let ours = |name: &OsString| name.as_bytes().starts_with(b"REELYARD_");
        for name in environment.filter(ours) {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// Whether a program that ended without intervention succeeded.
    fn judge(&self, status: ExitStatus, output: &Tail) -> Result<(), CopyFault> {
        let what = if !status.success() {
            format!("ended with {status}")
        } else if !output.matches(&self.success) {
            format!("ended with 0 but did not write \"{}\" to stderr", self.success)
        } else {
            return Ok(());
        };
        let output = match output.last(OUTPUT_IN_REASON) {
            output if output.is_empty() => "it wrote nothing to stderr".to_owned(),
            output => format!("its stderr ends with: {output}"),
        };
        Err(pair(format!("the external downloader {what}; {output}")))
    }
}

/// Ends the downloads into `temp_dir` that an earlier run of the worker left behind. Answers the names
/// of their temporary files. The caller must hold the lock of that directory.
pub fn end_left_downloads(temp_dir: &Path) -> HashSet<OsString> {
    let left = end_leftovers(MARK, temp_dir, LEFTOVER_GRACE);
    match left.processes {
        0 => {}
        processes if left.have_ended => {
            tracing::info!(processes, "external downloaders of an earlier run ended");
        }
        processes => {
            tracing::error!(processes, "external downloaders of an earlier run cannot be ended");
        }
    }
    left.names
}

/// How long one run may take.
struct Limit<'a> {
    program: &'a ExternalProgram,
    rate: BitsPerSecond,
    size: Option<u64>,
}

impl Limit<'_> {
    /// The time-out, and at least twice the time that the file needs at its rate. If its
    /// size is unknown, the bytes that have arrived are its least size.
    fn allows(&self, bytes: u64) -> Duration {
        let size = self.size.unwrap_or(0).max(bytes);
        self.rate.time_for(size).saturating_mul(2).max(self.program.timeout)
    }
}

/// The parts that are watched while a program runs.
struct WatchedProgram<'a> {
    leader: Pid,
    target: &'a Path,
}

/// Why a program was not followed to its end.
enum Unfollowed {
    Fault(CopyFault),
    Io(std::io::Error),
}

impl From<std::io::Error> for Unfollowed {
    fn from(error: std::io::Error) -> Self {
        Unfollowed::Io(error)
    }
}

/// Follows a program until it ends, is cancelled or has taken too long.
fn wait_for_end(
    watched: &WatchedProgram<'_>,
    limit: &Limit<'_>,
    stderr: &mut ChildStderr,
    output: &mut Tail,
    cancel: &CopyCancellation,
    progress: &FetchProgressCallback<'_>,
) -> Result<(), Unfollowed> {
    let flags = rustix::fs::fcntl_getfl(&*stderr).map_err(std::io::Error::from)?;
    rustix::fs::fcntl_setfl(&*stderr, flags | rustix::fs::OFlags::NONBLOCK)
        .map_err(std::io::Error::from)?;
    let began = Instant::now();
    let mut looked = began;
    let mut bytes = 0;
    loop {
        // Checked before the rest is read, so that its last output is not missed.
        let has_ended = has_ended(watched.leader);
        output.read(stderr)?;
        if has_ended {
            return Ok(());
        }
        if cancel.sleep(TICK) {
            return Err(Unfollowed::Fault(CopyFault::Cancelled));
        }
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            let there = std::fs::symlink_metadata(watched.target).map_or(0, |file| file.len());
            bytes = bytes.max(there);
            // Also if it has not grown, because a program may reserve the room of its file at once. The
            // time limit is known here.
            progress(bytes);
        }
        let allowed = limit.allows(bytes);
        if began.elapsed() > allowed {
            let allowed = humantime::format_duration(allowed);
            let reason = format!(
                "the external downloader did not end within {allowed}; {bytes} bytes arrived"
            );
            return Err(Unfollowed::Fault(pair(reason)));
        }
    }
}

/// The path of the master on its source.
fn source_path(order: &CopyOrder) -> Result<OsString, CopyFault> {
    let dir = order.dir.trim_end_matches('/');
    if !order.dir.starts_with('/') {
        let reason = format!("its directory on the source, \"{dir}\", is not an absolute path");
        return Err(CopyFault::Blamed(Blame::File, reason));
    }
    let mut path = OsStr::new(dir).to_owned().into_vec();
    path.push(b'/');
    path.extend_from_slice(order.name.as_bytes());
    Ok(OsString::from_vec(path))
}

/// A failure of a program between two hosts, for a reason that only the program knows.
pub(super) fn pair(reason: String) -> CopyFault {
    CopyFault::Blamed(Blame::Pair, reason)
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::FileName;
    use reelyard_protocol::worker::TaskId;

    use super::*;

    fn order(dir: &str) -> CopyOrder {
        CopyOrder {
            id: TaskId(1),
            name: FileName::new(b"\xff -x.mpg").unwrap(),
            dir: dir.to_owned(),
            source: "10.0.0.1:8888".parse().unwrap(),
            source_tls: false,
            source_data: None,
            size: None,
            copy_speed: None,
            tickets: None,
        }
    }

    #[test]
    fn the_path_of_a_master_is_passed_byte_for_byte() {
        for dir in ["/data", "/data/"] {
            assert_eq!(source_path(&order(dir)).unwrap().as_bytes(), b"/data/\xff -x.mpg");
        }
        assert_eq!(source_path(&order("/")).unwrap().as_bytes(), b"/\xff -x.mpg");
        assert!(source_path(&order("-oProxyCommand=x")).is_err());
    }

    fn program() -> ExternalProgram {
        ExternalProgram {
            program: "/bin/true".into(),
            success: regex::bytes::Regex::new("ok").unwrap(),
            timeout: Duration::from_secs(100),
            grace: Duration::from_secs(1),
            temp_dir: "/tmp".into(),
        }
    }

    #[test]
    fn settings_of_reelyard_are_not_passed_to_an_external_program() {
        let environment = ["PATH", "REELYARD_TOKEN", "REELYARD_LOG__LEVEL"].map(OsString::from);
        let target = Path::new("/tmp/1");
        let command =
            program().command(&order("/data"), target, BitsPerSecond(8), environment.into_iter());
        let command = command.unwrap();
        let changed: Vec<_> = command.get_envs().collect();
        let (token, level) = (OsStr::new("REELYARD_TOKEN"), OsStr::new("REELYARD_LOG__LEVEL"));
        let mark = (OsStr::new(MARK), Some(target.as_os_str()));
        assert_eq!(changed, [mark, (level, None), (token, None)]);
    }

    #[test]
    fn a_run_may_take_twice_the_time_of_its_file() {
        let program = program();
        let rate = BitsPerSecond(8_000);
        let known = Limit { program: &program, rate, size: Some(1_000_000) };
        assert_eq!(known.allows(0), Duration::from_secs(2000));
        let unknown = Limit { size: None, ..known };
        assert_eq!(unknown.allows(1000), Duration::from_secs(100));
        assert_eq!(unknown.allows(1_000_000), Duration::from_secs(2000));
    }
}
