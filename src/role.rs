//! Shared code of the roles: the runtime and the signals that stop it.

use std::future::Future;
use std::io::Read;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Largest useful limit of open files.
const MOST_OPEN_FILES: u64 = 65_536;

/// Runs a role on an actix system over one multi-threaded tokio runtime. Actors run on the arbiter
/// of this thread, the journal on the pool, and HTTP on its own workers.
///
/// `role` gets the stop signal. It is sent on SIGINT and SIGTERM, and on request when standard
/// input closes. The role then stops in order and returns.
pub fn run<F>(until_stdin_closes: bool, role: impl FnOnce(StopSignal) -> F) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    allow_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = Arc::new(runtime.context("cannot start the runtime's threads")?);
    let shared = Arc::clone(&runtime);
    let system = actix_rt::System::with_tokio_rt(move || shared);
    system.block_on(async { role(StopSignal::new(until_stdin_closes)?).await })
}

/// Raises the limit of open files as far as the system allows, up to [`MOST_OPEN_FILES`]. Shells
/// often set 1024 for old programs.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(MOST_OPEN_FILES).min(MOST_OPEN_FILES);
    if limit.current.is_none_or(|current| current >= most) {
        return;
    }
    let raised = Rlimit { current: Some(most), ..limit };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, limit = limit.current, "cannot raise the limit of open files");
    }
}

/// Each SIGHUP from now on: a request to reload the configuration.
pub fn reload_signals() -> Result<Signal> {
    signal(SignalKind::hangup()).context("cannot listen for SIGHUP")
}

/// The request to stop.
pub struct StopSignal {
    given: tokio::sync::watch::Receiver<StopRequests>,
}

/// Number of stop requests, and the cause of the last one.
#[derive(Clone, Copy, Debug, Default)]
struct StopRequests {
    count: u32,
    why: &'static str,
}

impl StopRequests {
    fn one_more(&mut self, why: &'static str) {
        *self = StopRequests { count: self.count.saturating_add(1), why };
    }
}

impl StopSignal {
    fn new(until_stdin_closes: bool) -> Result<Self> {
        let (give, given) = tokio::sync::watch::channel(StopRequests::default());
        for (kind, name) in
            [(SignalKind::interrupt(), "SIGINT"), (SignalKind::terminate(), "SIGTERM")]
        {
            let mut signals = signal(kind).with_context(|| format!("cannot listen for {name}"))?;
            let give = give.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    give.send_modify(|requests| requests.one_more(name));
                }
            });
        }
        if until_stdin_closes {
            // A separate thread, because a blocking read of standard input cannot be cancelled.
            std::thread::spawn(move || {
                let mut stdin = std::io::stdin().lock();
                while matches!(stdin.read(&mut [0; 64]), Ok(1..)) {}
                give.send_modify(|requests| requests.one_more("standard input was closed"));
            });
        }
        Ok(StopSignal { given })
    }

    /// Waits for the request, and returns its cause.
    pub async fn requested(&mut self) -> &'static str {
        self.counted(1).await
    }

    /// Waits for a second request, after which everything ends at once.
    pub async fn requested_again(&mut self) {
        self.counted(2).await;
    }

    async fn counted(&mut self, count: u32) -> &'static str {
        match self.given.wait_for(|requests| requests.count >= count).await {
            Ok(requests) => requests.why,
            // The senders no longer exist, so no second request can arrive.
            Err(_) => std::future::pending().await,
        }
    }
}
