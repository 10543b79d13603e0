//! The processes of the demo: this program in its roles, each with its own log file.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::process::{Child, ChildStdin, Command};

/// Time limit for a clean stop before a process is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// A running role. It ends when this value is dropped. It also ends when the demo is killed,
/// because its standard input closes and `--until-stdin-closes` is set.
pub struct Process {
    name: String,
    arguments: Vec<String>,
    token: String,
    log: PathBuf,
    running: Option<(Child, ChildStdin)>,
}

impl Process {
    /// Starts `reelyard <role> --set ...` with its log in `<logs>/<name>.log`. The token is passed
    /// in the environment, which other users cannot read.
    pub fn start(
        name: &str,
        role: &str,
        settings: &[(&str, String)],
        token: &str,
        logs: &Path,
    ) -> Result<Self> {
        let mut arguments = vec![role.to_owned(), "--until-stdin-closes".to_owned()];
        for (key, value) in settings {
            arguments.push("--set".to_owned());
            arguments.push(format!("{key}={value}"));
        }
        let log = logs.join(format!("{name}.log"));
        let mut process = Process {
            name: name.to_owned(),
            arguments,
            token: token.to_owned(),
            log,
            running: None,
        };
        process.start_again()?;
        Ok(process)
    }

    /// Starts the process again with the same settings.
    pub fn start_again(&mut self) -> Result<()> {
        let program = std::env::current_exe().context("where this program is")?;
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut child = Command::new(program)
            .args(&self.arguments)
            // Settings in the environment of the demo must not reach its parts.
            .env_clear()
            .envs(std::env::vars_os().filter(|(key, _)| !is_a_setting(key)))
            .env("REELYARD_TOKEN", &self.token)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C on the terminal is for the demo, which stops its parts cleanly.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", self.name))?;
        let stdin = child.stdin.take().context("a child without standard input")?;
        self.running = Some((child, stdin));
        Ok(())
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
