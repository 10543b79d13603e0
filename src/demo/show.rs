//! The show of the demo: copies by grade, a replayed log, a killed source, and in a cluster a killed leader.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use reelyard_api::TaskView;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::Blame;
use reelyard_yard::task_manager::TaskState;
use tokio::time::{Instant, sleep};

use super::api::DemoApi;
use super::cluster::DemoCluster;
use super::cluster::leader_fall::LeaderFall;
use super::masters::DemoMaster;
use super::progress::ProgressBars;
use super::script::DemoScript;
use super::yard::DemoYard;

/// Interval of the status requests.
pub const LOOK: Duration = Duration::from_millis(100);

/// Parts of the files that are placed when the replay starts, and when a source is killed.
const REPLAY_AT: f64 = 0.1;
const BREAK_AT: f64 = 0.4;

/// The part of the show that runs now.
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

/// The running show.
pub struct DemoRun {
    /// The files, and the log.
    pub script: DemoScript,
    /// Directory of the replayed log.
    pub log_dir: PathBuf,
    /// The bars on the terminal.
    pub progress: ProgressBars,
    /// The cluster of three nodes. None for one node.
    pub cluster: Option<DemoCluster>,
    /// The fall of its leader.
    pub fall: LeaderFall,
    act: DemoPhase,
    /// The task of the replay, once it has started.
    replay: Option<tokio::task::JoinHandle<Result<()>>>,
    /// The demo ends here even if files are missing; the result then lists them.
    deadline: Instant,
}

impl DemoRun {
    /// A show that gives up after `patience`.
    pub fn new(
        script: DemoScript,
        log_dir: PathBuf,
        progress: ProgressBars,
        (cluster, fall): (Option<DemoCluster>, LeaderFall),
        patience: Duration,
    ) -> Self {
        DemoRun {
            script,
            log_dir,
            progress,
            cluster,
            fall,
            act: DemoPhase::Placing,
            replay: None,
            deadline: Instant::now() + patience,
        }
    }

    /// Runs until every expected file is placed, the replay is over, and every killed part was started again.
    /// Returns all tasks.
    pub async fn play(&mut self, yard: &mut DemoYard, api: &DemoApi) -> Result<Vec<TaskView>> {
        let expected = self.script.masters.iter().filter(|master| !master.ignored).count();
        let mut tasks = Vec::new();
        loop {
            yard.check().await?;
            match api.tasks().await {
                Ok(answer) => tasks = answer,
                // Keys may have stopped all nodes. The show goes on with the next answer.
                Err(_) if self.cluster.is_some() => {}
                Err(error) => return Err(error),
            }
            self.progress.show(&tasks);
            let placed = tasks.iter().filter(|task| task.state == TaskState::Done).count();
            let part = placed as f64 / expected.max(1) as f64;
            if !self.fall.is_down() {
                self.step(part, &tasks, yard).await?;
            }
            if let Some(cluster) = &self.cluster {
                self.fall.step(part, cluster).await?;
            }
            let replayed = self.replay.as_ref().is_some_and(|replay| replay.is_finished());
            let recovered = self.act == DemoPhase::Recovered && self.fall == LeaderFall::Over;
            if placed >= expected && replayed && recovered {
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
        Ok(tasks)
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
                source.start()?;
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
