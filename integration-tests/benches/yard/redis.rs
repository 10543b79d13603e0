//! Redis beside Reelyard: what it writes durably, and how late it removes keys whose time has come.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_actors::clock::{Clock, Millis};

use crate::peers::Running;

/// How many commands are sent before their answers are read.
const PIPELINED: u32 = 1000;

/// Keys that are told to have expired begin with this.
const KEY: &str = "k:";

/// A server that syncs its log with every write.
pub struct Redis {
    at: SocketAddr,
    _server: Running,
}

impl Redis {
    /// Starts one that keeps its files in `dir`, with further options.
    pub fn start(dir: &Path, options: &[&str]) -> Result<Self> {
        std::fs::create_dir_all(dir)?;
        let at = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let server = Command::new("redis-server")
            .args(["--port", &at.port().to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            .args(["--auto-aof-rewrite-percentage", "0"])
            .args(options)
            .arg("--dir")
            .arg(dir)
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server")?;
        Ok(Redis { at, _server: Running::listening(server, at)? })
    }

    /// Starts one that removes expired keys as eagerly as it can, and tells of each.
    pub fn start_expiring(dir: &Path) -> Result<Self> {
        Redis::start(dir, &["--notify-keyspace-events", "Ex", "--active-expire-effort", "10"])
    }

    /// What redis-benchmark writes in a second, by so many clients.
    pub fn sets_per_second(&self, clients: usize, sets: usize, bytes: usize) -> Result<f64> {
        let output = Command::new("redis-benchmark")
            .args(["-p", &self.at.port().to_string(), "-t", "set", "-r", "1000000", "--csv"])
            .args(["-d", &bytes.to_string(), "-c", &clients.to_string(), "-n", &sets.to_string()])
            .output()
            .context("redis-benchmark")?;
        ensure!(output.status.success(), "redis-benchmark ended with {}", output.status);
        let text = String::from_utf8(output.stdout)?;
        let row = text.lines().find(|line| line.starts_with("\"SET\"")).context("no row of SET")?;
        let rate = row.split(',').nth(1).context("no rate")?;
        rate.trim_matches('"').parse().context("the rate")
    }

    /// Sets a key for each deadline, many in one go.
    pub fn set_keys(&self, deadlines: impl Iterator<Item = Millis>) -> Result<()> {
        let stream = TcpStream::connect(self.at)?;
        let (mut commands, mut answers) = (BufWriter::new(&stream), BufReader::new(&stream));
        let mut unanswered = 0;
        for (number, Millis(due)) in deadlines.enumerate() {
            let (key, due) = (format!("{KEY}{number}:{due}"), due.to_string());
            let parts = ["SET", &key, "1", "PXAT", &due];
            write!(commands, "*{}\r\n", parts.len())?;
            for part in parts {
                write!(commands, "${}\r\n{part}\r\n", part.len())?;
            }
            unanswered += 1;
            if unanswered == PIPELINED {
                commands.flush()?;
                take_oks(&mut answers, unanswered)?;
                unanswered = 0;
            }
        }
        commands.flush()?;
        take_oks(&mut answers, unanswered)
    }

    /// Tells how late each key was of which it tells, until there were so many or `patience` is over.
    pub fn lags(&self, keys: usize, patience: Duration) -> Result<Vec<Duration>> {
        let mut stream = TcpStream::connect(self.at)?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        stream.write_all(b"SUBSCRIBE __keyevent@0__:expired\r\n")?;
        let (clock, until) = (Clock::system(), Instant::now() + patience);
        let (mut lags, mut text, mut chunk) = (Vec::new(), Vec::new(), vec![0; 64 << 10]);
        while lags.len() < keys && Instant::now() < until {
            // Nothing came for a moment.
            let Ok(read) = stream.read(&mut chunk) else { continue };
            ensure!(read > 0, "redis closed the connection");
            text.extend_from_slice(&chunk[..read]);
            let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            let now = clock.now();
            for line in text[..whole].lines() {
                let line = line?;
                let due = line.strip_prefix(KEY).and_then(|rest| rest.split_once(':'));
                if let Some((_, due)) = due {
                    lags.push(now.since(Millis(due.parse()?)));
                }
            }
            text.drain(..whole);
        }
        Ok(lags)
    }
}

fn take_oks(answers: &mut impl BufRead, count: u32) -> Result<()> {
    let mut line = String::new();
    for _ in 0..count {
        line.clear();
        answers.read_line(&mut line)?;
        ensure!(line == "+OK\r\n", "redis answered {line:?}");
    }
    Ok(())
}
