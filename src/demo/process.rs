//! The processes of the demo: this program in its roles, each with its own log file.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStdin, Command};

/// Time limit for a clean stop before a process is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// A role and its process. The process ends when this value is dropped. It also ends when the demo is
/// killed, because its standard input closes and `--until-stdin-closes` is set.
pub struct Process {
    name: String,
    role: &'static str,
    settings: Vec<String>,
    token: String,
    log: PathBuf,
    running: Option<(Child, ChildStdin)>,
}

impl Process {
    /// The process `reelyard <role> --set ...` with its log in `<logs>/<name>.log`, before its start. The
    /// token is passed in the environment, which other users cannot read.
    pub fn new(
        name: &str,
        role: &'static str,
        settings: &[(&str, String)],
        token: &str,
        logs: &Path,
    ) -> Self {
        let settings = settings
            .iter()
            .flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")])
            .collect();
        Process {
            name: name.to_owned(),
            role,
            settings,
            token: token.to_owned(),
            log: logs.join(format!("{name}.log")),
            running: None,
        }
    }

    /// Starts the process, for the first time or again. A running one goes on: a key may have started it before.
    pub fn start(&mut self) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut child = self
            .command(&[self.role, "--until-stdin-closes"])?
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", self.name))?;
        let stdin = child.stdin.take().context("a child without standard input")?;
        self.running = Some((child, stdin));
        Ok(())
    }

    /// Runs `reelyard <arguments>` with the settings of this process, and waits for its end.
    ///
    /// # Errors
    /// With the words of the command if it failed.
    pub async fn run(&self, arguments: &[&str]) -> Result<()> {
        let ended = self.command(arguments)?.stdin(Stdio::null()).output().await?;
        let words = String::from_utf8_lossy(&ended.stderr);
        let name = arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        anyhow::ensure!(ended.status.success(), "{name} of {}: {}", self.name, words.trim());
        Ok(())
    }

    fn command(&self, arguments: &[&str]) -> Result<Command> {
        let program = std::env::current_exe().context("where this program is")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(&self.settings)
            // Settings in the environment of the demo must not reach its parts.
            .env_clear()
            .envs(std::env::vars_os().filter(|(key, _)| !is_a_setting(key)))
            .env("REELYARD_TOKEN", &self.token)
            // Ctrl-C on the terminal is for the demo, which stops its parts cleanly.
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }

    /// Whether it was started, and neither stopped nor killed.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Pauses the process, or lets it go on.
    pub fn pause(&self, is_paused: bool) -> Result<()> {
        let Some((child, _)) = &self.running else { return Ok(()) };
        // A process that has ended has no id any more.
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let signal = if is_paused { Signal::STOP } else { Signal::CONT };
        id.map_or(Ok(()), |id| kill_process(id, signal))
            .with_context(|| format!("cannot pause or wake {}", self.name))
    }

    /// Kills the process without warning, like a power failure.
    pub async fn kill(&mut self) -> Result<()> {
        if let Some((mut child, _stdin)) = self.running.take() {
            child.kill().await.with_context(|| format!("cannot kill {}", self.name))?;
        }
        Ok(())
    }

    /// Stops the process and waits for its end.
    pub async fn stop(&mut self) -> Result<()> {
        let Some((mut child, stdin)) = self.running.take() else { return Ok(()) };
        drop(stdin);
        match tokio::time::timeout(STOP_PATIENCE, child.wait()).await {
            Ok(status) => {
                let status = status?;
                anyhow::ensure!(status.success(), "{} ended with {status}", self.name);
                Ok(())
            }
            Err(_) => {
                child.kill().await?;
                anyhow::bail!("{} did not stop within {STOP_PATIENCE:?} and was killed", self.name)
            }
        }
    }

    /// Fails with the end of the log if the process has ended unexpectedly.
    pub fn check(&mut self) -> Result<()> {
        let Some((child, _)) = &mut self.running else { return Ok(()) };
        match child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                let from = log.lines().count().saturating_sub(20);
                let last: Vec<&str> = log.lines().skip(from).collect();
                anyhow::bail!(
                    "{} ended with {status}; its log ends:\n{}",
                    self.name,
                    last.join("\n")
                )
            }
        }
    }
}

/// Whether an environment variable would change a setting of `reelyard`.
fn is_a_setting(key: &OsStr) -> bool {
    key.as_encoded_bytes().starts_with(b"REELYARD_")
}
