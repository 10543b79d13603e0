//! `reelyard demo`: a whole yard on one machine, with real processes and real files.
//!
//! It writes and ranks masters, and starts one node or a cluster of three, with two sources and three
//! destinations. It replays a load-balancer log so that hot files overtake others, kills one source and starts it
//! again. At the end it reads every copy back. In a cluster, nodes are killed, paused and cut off too.

mod api;
mod cancellable;
pub mod cluster;
mod demo_result;
mod masters;
mod process;
mod progress;
mod replay;
mod script;
mod show;
mod yard;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};

use api::DemoApi;
use cancellable::{CancellationToken, run_cancellable};
use cluster::leader_fall::LeaderFall;
use cluster::{DemoCluster, forming};
use progress::{DemoScreen, ProgressBars};
use script::{DemoScript, HIT_BASE};
use show::{DemoRun, LOOK};
use yard::{DemoDirectories, DemoPlan, DemoYard};

pub use demo_result::DemoResult;
pub use script::DemoCatalog;
pub use yard::NodeCount;

/// Size and duration of the demo's yard.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// End when every file is placed; the exit code says whether all copies are right.
    pub once: bool,
    /// Number of nodes.
    pub nodes: NodeCount,
    /// The files.
    pub catalog: DemoCatalog,
    /// Rate limit of one copy.
    pub copy_speed: BitsPerSecond,
    /// Address of the first node; a free port by default.
    pub listen: Option<SocketAddr>,
    /// Prints the result.
    pub print: fn(&DemoResult) -> io::Result<()>,
}

/// Runs the demo until its end, Ctrl-C, SIGTERM or the end of its terminal.
pub fn run(options: &DemoOptions) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = DemoSignals::listen()?;
        let ground = DemoDirectories::new()?;
        let its_options = options.clone();
        // The files are removed with the directory, also after a cancellation.
        let preparing = run_cancellable(move |wanted| {
            let (script, plan) = prepare(&its_options, &ground, wanted)?;
            Ok((script, plan, ground))
        });
        let (script, plan, ground) = tokio::select! {
            prepared = preparing => prepared?,
            code = signals.next() => {
                println!("stopping the demo and removing its files");
                return Ok(code);
            }
        };
        let log_dir = ground.event_log();
        let mut yard = ground.build(&plan).await?;
        let ended = tokio::select! {
            ended = perform(options, script, &log_dir, &mut yard) => ended,
            code = signals.next() => Ok(code),
        };
        println!("stopping the demo and removing its files");
        let stopped = yard.stop().await;
        let code = ended?;
        stopped?;
        Ok(code)
    })
}

/// Signals that end the demo.
struct DemoSignals {
    hung_up: Signal,
    interrupted: Signal,
    quit: Signal,
    terminated: Signal,
}

impl DemoSignals {
    fn listen() -> Result<Self> {
        Ok(DemoSignals {
            hung_up: signal(SignalKind::hangup())?,
            interrupted: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminated: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal. Returns 128 plus its number, like a shell.
    async fn next(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.hung_up.recv() => ExitCode::from(129),
            _ = self.interrupted.recv() => ExitCode::from(130),
            _ = self.quit.recv() => ExitCode::from(131),
            _ = self.terminated.recv() => ExitCode::from(143),
        }
    }
}

fn prepare(
    options: &DemoOptions,
    ground: &DemoDirectories,
    wanted: &CancellationToken,
) -> Result<(DemoScript, DemoPlan)> {
    let script = DemoScript::write(&options.catalog, ground, wanted)?;
    println!(
        "{} masters of {} MiB in all, ranked; {}, two sources, three destinations, {} Mbit/s a copy",
        script.masters.len(),
        script.bytes() >> 20,
        match options.nodes {
            NodeCount::One => "one node",
            NodeCount::Three => "three nodes",
        },
        options.copy_speed.0 / 1_000_000
    );
    let plan = DemoPlan {
        nodes: options.nodes,
        listen: options.listen,
        copy_speed: options.copy_speed,
        watched: script.watched,
        hit_base: HIT_BASE,
    };
    Ok((script, plan))
}

async fn perform(
    options: &DemoOptions,
    script: DemoScript,
    log_dir: &Path,
    yard: &mut DemoYard,
) -> Result<ExitCode> {
    let api = DemoApi::new(&yard.urls, &yard.token)?;
    let screen = DemoScreen::default();
    match options.nodes {
        NodeCount::One => {
            yard.start_hosts()?;
            yard.nodes.start(1).await?;
            wait_until_ready(yard, &api).await?;
        }
        NodeCount::Three => forming::form(&yard.nodes, &api).await?,
    }
    println!("the API answers at {} (token {})", yard.urls.join(", "), yard.token);
    if !options.once {
        println!("open the console once, within 15 minutes: {}", api.console_link().await?);
    }
    let cluster = match options.nodes {
        NodeCount::One => None,
        NodeCount::Three => {
            let started = DemoCluster::start(yard.nodes.clone(), api.clone(), screen.clone());
            let started = started.await?;
            // After the votes, so that nothing is placed before the show.
            yard.start_hosts()?;
            Some(started)
        }
    };
    let fall = match (&cluster, options.once) {
        (Some(_), true) => LeaderFall::Ahead,
        (Some(_), false) | (None, _) => LeaderFall::Over,
    };

    let bytes = script.bytes();
    // Slow machines get two minutes plus ten times the time that the bytes need at the rate limit.
    let patience = options.copy_speed.time_for(bytes) * 10 + Duration::from_secs(120);
    let progress = ProgressBars::new(screen.clone(), bytes);
    let mut show = DemoRun::new(script, log_dir.to_owned(), progress, (cluster, fall), patience);
    let tasks = show.play(yard, &api).await?;
    show.progress.end();
    let recovered = show.fall == LeaderFall::Over;

    let destinations: Vec<(HostAddr, PathBuf)> =
        yard.destinations.iter().map(|host| (host.addr, host.dir.clone())).collect();
    let (masters, mut cluster) = (show.script.masters, show.cluster);
    let reading =
        run_cancellable(move |wanted| DemoResult::reach(&masters, &tasks, &destinations, wanted));
    let verdict = reading.await?;
    screen.suspend(|| (options.print)(&verdict))?;
    let kept = match &mut cluster {
        Some(cluster) => cluster.report().await,
        None => Ok(true),
    };
    screen.print(&format!(
        "API                  {}/api/v1/status (token {})",
        yard.urls[0], yard.token
    ));
    if options.once {
        let is_good = verdict.is_good() && recovered && kept?;
        return Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    // Keys may have stopped the nodes.
    match (kept, api.console_link().await) {
        (Ok(_), Ok(link)) => screen.print(&format!("Console, once within 15 minutes: {link}")),
        (Err(error), _) | (_, Err(error)) => screen.print(&format!("{error:#}")),
    }
    screen.print(&format!(
        "The yard keeps running. Try: reelyard tasks --url {} --token {}\nCtrl-C ends it and removes \
         everything.",
        yard.urls[0], yard.token
    ));
    loop {
        yard.check().await?;
        sleep(LOOK).await;
    }
}

async fn wait_until_ready(yard: &mut DemoYard, api: &DemoApi) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        yard.check().await?;
        if matches!(api.status().await, Ok(status) if status.ready) {
            return Ok(());
        }
        anyhow::ensure!(
            Instant::now() < until,
            "the node was not ready within a minute; its logs are in {}",
            yard.logs().display()
        );
        sleep(LOOK).await;
    }
}
