//! `reelyard demo`: a whole yard on one machine, with real processes and real files.
//!
//! It writes and ranks masters, and starts a node with two sources and three destinations. It
//! replays a load-balancer log so that hot files overtake others, kills one source and starts it
//! again. At the end it reads every copy back.

mod api;
mod cancellable;
mod demo_result;
mod masters;
mod process;
mod progress;
mod replay;
mod yard;

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_api::TaskView;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::FileName;
use reelyard_protocol::worker::Blame;
use reelyard_yard::catalog::load_balancer::event_row::{EventRow, read_event_row};
use reelyard_yard::task_manager::TaskState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};

use api::DemoApi;
use cancellable::{CancellationToken, run_cancellable};
use demo_result::DemoResult;
use masters::DemoMaster;
use progress::ProgressBars;
use replay::Recording;
use yard::{DemoDirectories, DemoPlan, DemoYard, WATCHED};

/// Size and duration of the demo's yard.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// End when every file is placed; the exit code says whether all copies are right.
    pub once: bool,
    /// A real load-balancer log to replay instead of an invented burst.
    pub event_log: Option<PathBuf>,
    /// The server whose hits make files hot in that log; by default the one with the most hits.
    pub watch_address: Option<IpAddr>,
    /// Number of files.
    pub files: usize,
    /// Mean size of a file in bytes.
    pub mean_size: u64,
    /// Rate limit of one copy.
    pub copy_speed: BitsPerSecond,
    /// Address of the node; a free port by default.
    pub listen: Option<SocketAddr>,
}

/// Interval of the status requests.
const LOOK: Duration = Duration::from_millis(100);
/// Length of the replay.
const REPLAY: Duration = Duration::from_secs(8);
/// Number of hits that make a file hot.
const HIT_BASE: u32 = 3;
/// Parts of the files that are placed when the replay starts, and when a source is killed.
const REPLAY_AT: f64 = 0.1;
const BREAK_AT: f64 = 0.4;

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
        let mut yard = ground.build(&plan)?;
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
    terminated: Signal,
}

impl DemoSignals {
    fn listen() -> Result<Self> {
        Ok(DemoSignals {
            hung_up: signal(SignalKind::hangup())?,
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal. Returns 128 plus its number, like a shell.
    async fn next(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.hung_up.recv() => ExitCode::from(129),
            _ = self.interrupted.recv() => ExitCode::from(130),
            _ = self.terminated.recv() => ExitCode::from(143),
        }
    }
}

fn prepare(
    options: &DemoOptions,
    ground: &DemoDirectories,
    wanted: &CancellationToken,
) -> Result<(DemoScript, DemoPlan)> {
    let script = DemoScript::write(options, ground, wanted)?;
    println!(
        "{} masters of {} MiB in all, ranked; two sources, three destinations, {} Mbit/s a copy",
        script.masters.len(),
        script.bytes() >> 20,
        options.copy_speed.0 / 1_000_000
    );
    let plan = DemoPlan {
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
    let api = DemoApi::new(&yard.url, &yard.token)?;
    wait_until_ready(yard, &api).await?;
    println!("the node answers at {} (token {})", yard.url, yard.token);
    if !options.once {
        println!("open the console once, within 15 minutes: {}", api.console_link().await?);
    }

    let bytes = script.bytes();
    // Slow machines get two minutes plus ten times the time that the bytes need at the rate limit.
    let patience = options.copy_speed.time_for(bytes) * 10 + Duration::from_secs(120);
    let mut show = DemoRun {
        script,
        log_dir: log_dir.to_owned(),
        progress: ProgressBars::new(bytes),
        act: DemoPhase::Placing,
        replay: None,
        deadline: Instant::now() + patience,
    };
    let tasks = show.play(yard, &api).await?;
    show.progress.end();

    let destinations: Vec<(HostAddr, PathBuf)> =
        yard.destinations.iter().map(|host| (host.addr, host.dir.clone())).collect();
    let masters = show.script.masters;
    let reading =
        run_cancellable(move |wanted| DemoResult::reach(&masters, &tasks, &destinations, wanted));
    let verdict = reading.await?;
    verdict.print()?;
    println!("API                  {}/api/v1/status (token {})", yard.url, yard.token);
    if options.once {
        return Ok(if verdict.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    println!("Console, once within 15 minutes: {}", api.console_link().await?);
    println!(
        "The yard keeps running. Try: reelyard tasks --url {} --token {}\nCtrl-C ends it and removes \
         everything.",
        yard.url, yard.token
    );
    loop {
        yard.check()?;
        sleep(LOOK).await;
    }
}

/// The files of the yard, and the replayed log.
struct DemoScript {
    masters: Vec<DemoMaster>,
    watched: IpAddr,
    recording: Arc<Recording>,
}

impl DemoScript {
    /// Bytes of the files that must be placed.
    fn bytes(&self) -> u64 {
        self.masters.iter().filter(|master| !master.ignored).map(|master| master.size).sum()
    }

    /// Writes masters and input files.
    fn write(
        options: &DemoOptions,
        ground: &DemoDirectories,
        wanted: &CancellationToken,
    ) -> Result<Self> {
        let script = match &options.event_log {
            Some(log) => DemoScript::from_log(options, log, ground, wanted)?,
            None => DemoScript::invented(options, ground, wanted)?,
        };
        masters::write_grade_info(&ground.grade_info(), &script.masters)?;
        masters::write_hitcount_history(&ground.hitcount_history(), &script.masters)?;
        replay::begin_log(&ground.event_log())?;
        Ok(script)
    }

    /// An invented catalogue in which three of the worst-ranked files become hot.
    fn invented(
        options: &DemoOptions,
        ground: &DemoDirectories,
        wanted: &CancellationToken,
    ) -> Result<Self> {
        let names = masters::invented_names(options.files)?;
        let masters = masters::write(&ground.masters(), &names, (options.mean_size, 1), wanted)?;
        let worst_three: Vec<FileName> =
            masters.iter().rev().filter(|m| !m.ignored).take(3).map(|m| m.name.clone()).collect();
        let watched = IpAddr::V4(WATCHED);
        let recording = Recording::burst(&worst_three, watched, HIT_BASE + 2, REPLAY / 8);
        Ok(DemoScript { masters, watched, recording: Arc::new(recording) })
    }

    /// The most requested files of a real log. Those that the watched server served most are ranked
    /// last, so that the replay shows them overtaking others.
    fn from_log(
        options: &DemoOptions,
        log: &Path,
        ground: &DemoDirectories,
        wanted: &CancellationToken,
    ) -> Result<Self> {
        let demand = LoggedDemand::read(log, options.watch_address, wanted)?;
        let names = demand.ranked(options.files);
        anyhow::ensure!(
            !names.is_empty(),
            "{}: the log contains no request for a file",
            log.display()
        );
        let masters = masters::write(&ground.masters(), &names, (options.mean_size, 1), wanted)?;
        let recording = Recording::read(log, REPLAY, wanted)?;
        println!("{}: {} rows, replayed in {REPLAY:?}", log.display(), recording.len());
        Ok(DemoScript { masters, watched: demand.watched, recording: Arc::new(recording) })
    }
}

/// The requests of a real log.
struct LoggedDemand {
    watched: IpAddr,
    /// Requests of each file, and how many of them the watched server served.
    files: HashMap<FileName, (u32, u32)>,
}

impl LoggedDemand {
    fn read(log: &Path, watched: Option<IpAddr>, wanted: &CancellationToken) -> Result<Self> {
        let file =
            std::fs::File::open(log).with_context(|| format!("cannot read {}", log.display()))?;
        let mut requests = Vec::new();
        let mut servers: HashMap<IpAddr, u32> = HashMap::new();
        for line in BufReader::new(file).split(b'\n') {
            wanted.check()?;
            if let Ok(EventRow::Selection(selection)) = read_event_row(&line?) {
                *servers.entry(selection.server).or_default() += 1;
                requests.push((FileName::new(selection.name)?, selection.server));
            }
        }
        let most_selected = servers.into_iter().max_by_key(|(server, count)| (*count, *server));
        let watched = watched
            .or(most_selected.map(|(server, _)| server))
            .with_context(|| format!("{}: the log selects no server", log.display()))?;
        let mut files: HashMap<FileName, (u32, u32)> = HashMap::new();
        for (name, server) in requests {
            let (all, missed) = files.entry(name).or_default();
            *all += 1;
            *missed += u32::from(server == watched);
        }
        Ok(LoggedDemand { watched, files })
    }

    /// The `count` most requested files in the order of their ranks: files that the watched server
    /// served more often come later.
    fn ranked(&self, count: usize) -> Vec<FileName> {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(name, (all, _))| (std::cmp::Reverse(*all), *name));
        files.truncate(count);
        files.sort_by_key(|(name, (all, missed))| (*missed, std::cmp::Reverse(*all), *name));
        files.into_iter().map(|(name, _)| name.clone()).collect()
    }
}

/// The part of the demo that runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DemoPhase {
    /// The catalogue is placed by grade.
    Placing,
    /// The log is being replayed.
    Replaying,
    /// A source was killed.
    Broken,
    /// The source was started again.
    Recovered,
}

struct DemoRun {
    script: DemoScript,
    log_dir: PathBuf,
    progress: ProgressBars,
    act: DemoPhase,
    /// The task of the replay, once it has started.
    replay: Option<tokio::task::JoinHandle<Result<()>>>,
    /// The demo ends here even if files are missing; the result then lists them.
    deadline: Instant,
}

impl DemoRun {
    /// Runs until every expected file is placed and the replay is over. Returns all tasks.
    async fn play(&mut self, yard: &mut DemoYard, api: &DemoApi) -> Result<Vec<TaskView>> {
        let expected = self.script.masters.iter().filter(|master| !master.ignored).count();
        loop {
            yard.check()?;
            let tasks = api.tasks().await?;
            self.progress.show(&tasks);
            let placed = tasks.iter().filter(|task| task.state == TaskState::Done).count();
            self.step(placed as f64 / expected.max(1) as f64, &tasks, yard).await?;
            let replayed = self.replay.as_ref().is_some_and(|replay| replay.is_finished());
            if placed >= expected && replayed && self.act == DemoPhase::Recovered {
                break;
            }
            if Instant::now() >= self.deadline {
                self.progress.print("giving up: not every file was placed in time");
                self.explain_missing(&tasks, api).await;
                return Ok(tasks);
            }
            sleep(LOOK).await;
        }
        if let Some(replay) = self.replay.take() {
            replay.await??;
        }
        api.tasks().await
    }

    /// Prints the explanations of the node for the first missing files.
    async fn explain_missing(&self, tasks: &[TaskView], api: &DemoApi) {
        let placed = |master: &&DemoMaster| {
            let name = master.name.to_text();
            tasks.iter().any(|task| task.state == TaskState::Done && task.name == name)
        };
        let missing = self.script.masters.iter().filter(|m| !m.ignored && !placed(m));
        for master in missing.take(3) {
            let why = match api.explain(&master.name).await {
                Ok(entry) => entry.why,
                Err(error) => format!("{error:#}"),
            };
            self.progress.print(&format!("{}: {why}", master.name.to_text().name));
        }
    }

    /// Enters the next phase when it is due. `placed` is the part of the files that is placed.
    async fn step(&mut self, placed: f64, tasks: &[TaskView], yard: &mut DemoYard) -> Result<()> {
        let source = &mut yard.sources[1];
        match self.act {
            DemoPhase::Placing if placed >= REPLAY_AT => {
                self.progress
                    .print("replaying the load balancer's log: hot files overtake from here");
                let recording = Arc::clone(&self.script.recording);
                let dir = self.log_dir.clone();
                self.replay = Some(tokio::spawn(async move { recording.play(&dir).await }));
                self.act = DemoPhase::Replaying;
            }
            DemoPhase::Replaying if placed >= BREAK_AT => {
                self.progress.print(&format!("killing source {}", source.addr));
                source.kill().await?;
                self.act = DemoPhase::Broken;
            }
            DemoPhase::Broken if placed >= 1.0 || is_source_failed(tasks, source.addr) => {
                self.progress.print(&format!("starting source {} again", source.addr));
                source.start_again()?;
                self.act = DemoPhase::Recovered;
            }
            _ => {}
        }
        Ok(())
    }
}

fn is_source_failed(tasks: &[TaskView], source: HostAddr) -> bool {
    tasks.iter().any(|task| task.source == source && task.blame == Some(Blame::Source))
}

async fn wait_until_ready(yard: &mut DemoYard, api: &DemoApi) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        yard.check()?;
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
