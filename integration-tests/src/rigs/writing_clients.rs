//! Clients that change something through several nodes without a pause, and record what they were answered.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::plain_request::send;

/// The answers to all clients.
#[derive(Default)]
struct ClientRecord {
    acknowledged: AtomicU64,
    stop: AtomicBool,
    /// Answers that are no success, with the time that they took.
    failures: Mutex<Vec<(String, Duration)>>,
    slowest: Mutex<Duration>,
    gaps: Mutex<AcknowledgedGaps>,
}

/// The longest time in which no client got a success.
#[derive(Default)]
struct AcknowledgedGaps {
    last: Option<Instant>,
    longest: Duration,
}

/// Running clients. Each adds users with different names, and removes them.
pub struct WritingClients {
    record: Arc<ClientRecord>,
    threads: Vec<JoinHandle<()>>,
}

/// The answers, once the clients have stopped.
#[derive(Debug)]
pub struct WrittenAnswers {
    /// How many changes were made.
    pub acknowledged: u64,
    /// Other answers, with the time that they took.
    pub failures: Vec<(String, Duration)>,
    /// The longest time of one answer.
    pub slowest: Duration,
    /// The longest time in which no client got a success.
    pub longest_gap: Duration,
}

impl WritingClients {
    /// Starts one client for each address. Their users are named after `name`.
    pub fn start(nodes: &[SocketAddr], bearer: &str, name: &str) -> Self {
        let record = Arc::new(ClientRecord::default());
        let client = |(number, node): (usize, &SocketAddr)| {
            let (record, node) = (record.clone(), *node);
            let (bearer, name) = (bearer.to_owned(), format!("{name}-{number}"));
            std::thread::spawn(move || record.run(node, &bearer, &name))
        };
        let threads = nodes.iter().enumerate().map(client).collect();
        WritingClients { record, threads }
    }

    /// Waits until this number of further changes is acknowledged.
    pub fn wait_for(&self, more: u64) -> Result<()> {
        let wanted = self.record.acknowledged.load(Ordering::SeqCst) + more;
        let until = Instant::now() + Duration::from_secs(60);
        while self.record.acknowledged.load(Ordering::SeqCst) < wanted {
            let failures = self.record.failures.lock().unwrap_or_else(PoisonError::into_inner);
            anyhow::ensure!(Instant::now() < until, "no progress for 60 s: {failures:?}");
            drop(failures);
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Stops the clients after their present requests.
    pub fn stop(self) -> WrittenAnswers {
        self.record.stop.store(true, Ordering::SeqCst);
        for thread in self.threads {
            // A panic of a client shows as missing progress.
            let _ = thread.join();
        }
        let record = &self.record;
        WrittenAnswers {
            acknowledged: record.acknowledged.load(Ordering::SeqCst),
            failures: std::mem::take(
                &mut record.failures.lock().unwrap_or_else(PoisonError::into_inner),
            ),
            slowest: *record.slowest.lock().unwrap_or_else(PoisonError::into_inner),
            longest_gap: record.gaps.lock().unwrap_or_else(PoisonError::into_inner).longest,
        }
    }
}

impl ClientRecord {
    fn run(&self, node: SocketAddr, bearer: &str, name: &str) {
        let mut number = 0;
        while !self.stop.load(Ordering::SeqCst) {
            number += 1;
            let body = format!("{{\"name\": \"{name}-{number}\", \"role\": \"viewer\"}}");
            self.send(node, "POST", "/api/v1/users", bearer, &body);
            self.send(node, "DELETE", &format!("/api/v1/users/{name}-{number}"), bearer, "");
        }
    }

    /// Makes one change.
    fn send(&self, node: SocketAddr, method: &str, path: &str, bearer: &str, body: &str) {
        let began = Instant::now();
        let answer = send(node, (method, path), bearer, body);
        let took = began.elapsed();
        let mut slowest = self.slowest.lock().unwrap_or_else(PoisonError::into_inner);
        *slowest = took.max(*slowest);
        drop(slowest);
        let why = match answer {
            Ok(answer) if answer.is_success() => {
                self.acknowledged.fetch_add(1, Ordering::SeqCst);
                let mut gaps = self.gaps.lock().unwrap_or_else(PoisonError::into_inner);
                let now = Instant::now();
                let gap = gaps.last.replace(now).map_or(Duration::ZERO, |last| now - last);
                gaps.longest = gap.max(gaps.longest);
                return;
            }
            Ok(answer) => format!("{answer:?}"),
            Err(error) => format!("{error:#}"),
        };
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.push((why, took));
        drop(failures);
        std::thread::sleep(Duration::from_millis(50));
    }
}
