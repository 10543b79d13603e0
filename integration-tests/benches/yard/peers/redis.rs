//! Redis for comparison: durable writes, and the delay of the removal of expired keys.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use reelyard_core::clock::{Clock, Millis};

use crate::peers::PeerProcess;

/// The number of commands before their answers are read.
const PIPELINED: u32 = 1000;

/// The prefix of keys with a notification of expiry.
const KEY: &str = "k:";

/// The delay before a client without a lock tries another one.
const POLL: Duration = Duration::from_millis(10);

/// Deletes a lock that still has the client's own token.
const DELETE_OWN: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// A redis server that syncs its log with every write.
pub struct Redis {
    at: SocketAddr,
    _server: PeerProcess,
}

impl Redis {
    /// Starts a server with its files in `dir`, with additional options.
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
        Ok(Redis { at, _server: PeerProcess::listening(server, at)? })
    }

    /// Starts a server with the most active expiry and with a notification for each expired key.
    pub fn start_expiring(dir: &Path) -> Result<Self> {
        Redis::start(dir, &["--notify-keyspace-events", "Ex", "--active-expire-effort", "10"])
    }

    /// The writes per second of redis-benchmark with this number of clients.
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

    /// The lock cycles per second, each client with its own lock: `SET NX PX`, and a script that deletes a
    /// lock with the client's own token.
    pub fn cycles_per_second(&self, clients: usize, span: Duration) -> Result<f64> {
        let began = Instant::now();
        let cycle = |client: usize| -> Result<u32> {
            let (mut lock, key) = (Lock::connect(self.at)?, format!("lock:{client}"));
            let mut cycles = 0;
            while began.elapsed() < span {
                ensure!(lock.take(&key)? && lock.give_back(&key)?, "a lock was lost");
                cycles += 1;
            }
            Ok(cycles)
        };
        let cycles = on_threads(clients, cycle)?;
        Ok(f64::from(cycles.iter().sum::<u32>()) / began.elapsed().as_secs_f64())
    }

    /// Clients poll for locks as the box loop does, and hold each for a while. Returns the share of time in
    /// which locks were held, and the duration of each wait.
    pub fn polled(
        &self,
        (clients, locks): (usize, usize),
        hold: Duration,
        span: Duration,
    ) -> Result<(f64, Vec<Duration>)> {
        let began = Instant::now();
        let poll = |client: usize| -> Result<Vec<(Duration, Duration)>> {
            let (mut lock, mut dice) =
                (Lock::connect(self.at)?, fastrand::Rng::with_seed(client as u64));
            let mut rounds = Vec::new();
            while began.elapsed() < span {
                let asked = Instant::now();
                let key = loop {
                    let key = format!("box:{}", dice.usize(..locks));
                    if lock.take(&key)? {
                        break key;
                    }
                    std::thread::sleep(POLL);
                };
                let got = Instant::now();
                std::thread::sleep(hold);
                rounds.push((got - asked, got.elapsed()));
                ensure!(lock.give_back(&key)?, "a lock was lost");
            }
            Ok(rounds)
        };
        let rounds: Vec<_> = on_threads(clients, poll)?.into_iter().flatten().collect();
        let held: Duration = rounds.iter().map(|(_, held)| held).sum();
        let used = held.as_secs_f64() / (began.elapsed().as_secs_f64() * locks as f64);
        Ok((used, rounds.into_iter().map(|(waited, _)| waited).collect()))
    }

    /// Sets a key for each deadline, with many keys in one batch.
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

    /// The delay of each expiry notification, until `keys` notifications arrived or `patience` is over.
    pub fn lags(&self, keys: usize, patience: Duration) -> Result<Vec<Duration>> {
        let mut stream = TcpStream::connect(self.at)?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        stream.write_all(b"SUBSCRIBE __keyevent@0__:expired\r\n")?;
        let (clock, until) = (Clock::system(), Instant::now() + patience);
        let (mut lags, mut text, mut chunk) = (Vec::new(), Vec::new(), vec![0; 64 << 10]);
        while lags.len() < keys && Instant::now() < until {
            // No data arrived for a moment.
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

/// A client that acquires locks with its own token.
struct Lock {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Lock {
    fn connect(at: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        let token = stream.local_addr()?.to_string();
        Ok(Lock { stream: BufReader::new(stream), token })
    }

    fn take(&mut self, key: &str) -> Result<bool> {
        let token = self.token.clone();
        Ok(self.ask(&["SET", key, &token, "NX", "PX", "30000"])? == "+OK\r\n")
    }

    fn give_back(&mut self, key: &str) -> Result<bool> {
        let token = self.token.clone();
        Ok(self.ask(&["EVAL", DELETE_OWN, "1", key, &token])? == ":1\r\n")
    }

    fn ask(&mut self, parts: &[&str]) -> Result<String> {
        let mut command = format!("*{}\r\n", parts.len());
        for part in parts {
            command.push_str(&format!("${}\r\n{part}\r\n", part.len()));
        }
        self.stream.get_mut().write_all(command.as_bytes())?;
        let mut answer = String::new();
        self.stream.read_line(&mut answer)?;
        ensure!(!answer.starts_with('-'), "redis answered {answer:?}");
        Ok(answer)
    }
}

/// Runs `work` on `count` threads and collects the results.
fn on_threads<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                scope.spawn({
                    let work = &work;
                    move || work(number)
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(answer) => answer,
            Err(_) => bail!("a client panicked"),
        });
        joined.collect()
    })
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
