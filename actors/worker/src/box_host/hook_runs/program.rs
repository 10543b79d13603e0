//! One run of a program for a box. When it returns, no process of the program is alive that its group or
//! its mark identifies.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::box_host::hooks::{HookProgram, HookSet};
use crate::box_host::template::TemplateValues;
use crate::processes::family::{LEFTOVER_GRACE, MarkName, ProcessFamily, end_leftovers};
use crate::processes::table::has_ended;
use crate::processes::tail::Excerpt;

/// The variable that marks the processes of hooks; its value is the path that identifies the box.
const MARK: MarkName = "BOX_HOOK_OF_REELYARD";

/// How many bytes of the beginning, and of the end, of a program's output are kept.
const OUTPUT_KEPT: usize = 2 << 10;

/// The `PATH` of a program, if the worker itself has none.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A running program is polled at intervals of a tenth of its run time so far, within these limits. So a
/// quick program costs no wait, and a slow one little work.
const SHORTEST_TICK: Duration = Duration::from_millis(1);
const LONGEST_TICK: Duration = Duration::from_millis(25);

/// Cancels a run when its sender is dropped.
pub struct HookCancellation(pub Receiver<Infallible>);

impl HookCancellation {
    /// Sleeps for this time. Answers whether the run is given up.
    fn sleep(&self, tick: Duration) -> bool {
        matches!(self.0.recv_timeout(tick), Err(RecvTimeoutError::Disconnected))
    }
}

/// The reasons for the end of a run.
#[derive(Debug)]
pub enum HookRunEnding {
    /// The program ended without intervention.
    Exited(ExitStatus),
    /// It took too long, and was ended.
    TimedOut(Duration),
    /// The run was cancelled and ended.
    GivenUp,
    /// It could not be started, or not be followed.
    Broken(io::Error),
}

/// The end of a program, and its output.
#[derive(Debug)]
pub struct HookRunResult {
    /// Why the run ended.
    pub ending: HookRunEnding,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
    /// Whether any of its processes survived SIGKILL.
    pub lives_on: bool,
}

impl HookRunResult {
    /// Its exit code, if it has one.
    pub fn code(&self) -> Option<u8> {
        match self.ending {
            HookRunEnding::Exited(status) => status.code().and_then(|code| u8::try_from(code).ok()),
            _ => None,
        }
    }

    /// Why the run ended, as text.
    pub fn ending(&self) -> String {
        let how = match &self.ending {
            HookRunEnding::Exited(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("ended with exit code {code}"),
                (None, Some(signal)) => format!("was ended by signal {signal}"),
                (None, None) => format!("ended with {status}"),
            },
            HookRunEnding::TimedOut(after) => {
                format!("did not end within {} and was ended", humantime::format_duration(*after))
            }
            HookRunEnding::GivenUp => "was cancelled: no caller waits for it any more".to_owned(),
            HookRunEnding::Broken(error) => format!("could not be run: {error}"),
        };
        let lives_on = if self.lives_on { "; some of its processes survive SIGKILL" } else { "" };
        format!("{how}{lives_on}")
    }
}

impl HookSet {
    /// Runs a program for a box. `mark` is the path that identifies the box on this worker.
    pub fn run(
        &self,
        program: &HookProgram,
        subject: &TemplateValues,
        mark: &Path,
        give_up: &HookCancellation,
    ) -> HookRunResult {
        let excerpt = || Excerpt::keeping(OUTPUT_KEPT, OUTPUT_KEPT);
        let (mut stdout, mut stderr) = (excerpt(), excerpt());
        let mut lives_on = false;
        let ending = match self.command(program, subject, mark).spawn() {
            Ok(mut child) => {
                let mut streams = (&mut stdout, &mut stderr);
                let followed = wait_for_end(&mut child, &mut streams, program.timeout, give_up);
                // Also after a success, because it may have left other processes behind. Its process id
                // is not reused before it is waited for.
                let family = ProcessFamily::of(Pid::from_child(&child), MARK, mark);
                lives_on = !family.end(self.grace);
                let waited = if lives_on { child.try_wait() } else { child.wait().map(Some) };
                match (followed, waited) {
                    (Ok(None), Ok(Some(status))) => HookRunEnding::Exited(status),
                    (Ok(None), Ok(None)) => HookRunEnding::Broken(io::ErrorKind::TimedOut.into()),
                    (Ok(Some(ended)), _) => ended,
                    (Err(error), _) | (_, Err(error)) => HookRunEnding::Broken(error),
                }
            }
            Err(error) => HookRunEnding::Broken(error),
        };
        HookRunResult { ending, stdout: stdout.line(), stderr: stderr.line(), lives_on }
    }

    fn command(&self, program: &HookProgram, subject: &TemplateValues, mark: &Path) -> Command {
        let mut command = Command::new(&program.path);
        let path = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
        command.args(program.arguments_for(subject)).env_clear().env("PATH", path);
        if let Some(language) = std::env::var_os("LANG") {
            command.env("LANG", language);
        }
        command.envs(&self.environment).env(MARK, mark);
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).process_group(0);
        command
    }
}

/// Follows a program until it ends (none), or must be ended.
fn wait_for_end(
    child: &mut Child,
    (stdout, stderr): &mut (&mut Excerpt, &mut Excerpt),
    timeout: Duration,
    give_up: &HookCancellation,
) -> io::Result<Option<HookRunEnding>> {
    let (began, leader) = (Instant::now(), Pid::from_child(child));
    let mut out = child.stdout.take().map(|stream| without_waiting(stream.into())).transpose()?;
    let mut err = child.stderr.take().map(|stream| without_waiting(stream.into())).transpose()?;
    loop {
        // Checked before the rest is read, so that the last output is not missed.
        let has_ended = has_ended(leader);
        if let Some(stream) = &mut out {
            stdout.read(stream)?;
        }
        if let Some(stream) = &mut err {
            stderr.read(stream)?;
        }
        if has_ended {
            return Ok(None);
        }
        let ran = began.elapsed();
        if ran >= timeout {
            return Ok(Some(HookRunEnding::TimedOut(timeout)));
        }
        let tick = (ran / 10).clamp(SHORTEST_TICK, LONGEST_TICK).min(timeout - ran);
        if give_up.sleep(tick) {
            return Ok(Some(HookRunEnding::GivenUp));
        }
    }
}

fn without_waiting(stream: OwnedFd) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(&stream)?;
    rustix::fs::fcntl_setfl(&stream, flags | rustix::fs::OFlags::NONBLOCK)?;
    Ok(stream.into())
}

/// Ends leftover processes of an earlier run of the worker, by the marks of hooks in `dir`. Only for the
/// process that holds the lock of the worker's state.
pub fn end_left_hooks(dir: &Path) {
    let left = end_leftovers(MARK, dir, LEFTOVER_GRACE);
    let mut of_boxes: Vec<_> = left.names.iter().map(|name| name.to_string_lossy()).collect();
    of_boxes.sort();
    let of_boxes = of_boxes.join(", ");
    match left.processes {
        0 => {}
        processes if left.have_ended => {
            tracing::info!(processes, of_boxes, "hooks of an earlier run ended");
        }
        processes => {
            tracing::error!(processes, of_boxes, "hooks of an earlier run cannot be ended");
        }
    }
}
