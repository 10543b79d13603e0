//! Keys of the demo become faults of its nodes.

use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::{Signal, getpid, kill_process};
use tokio::time::timeout;

use super::change_client::SharedRecord;
use super::keys::{DemoKey, DemoKeys};
use super::leader_watch::LeaderWatch;
use super::nodes::DemoNodes;
use super::status_line::{self, StatusLine};
use crate::demo::progress::DemoScreen;

/// The line is drawn at least this often.
const DRAW: Duration = Duration::from_millis(200);

/// The parts of the cluster that keys and the line use.
pub struct DemoControl {
    /// Their processes and links get the faults.
    pub nodes: DemoNodes,
    /// Shows the leader.
    pub watch: LeaderWatch,
    /// Shows the changes.
    pub record: SharedRecord,
    /// Gets a line for each fault.
    pub screen: DemoScreen,
}

impl DemoControl {
    /// Handles keys and draws the line, until it is dropped or the terminal is gone.
    pub async fn run(self, mut keys: DemoKeys, line: StatusLine) {
        let mut chosen = 1;
        loop {
            let key = match timeout(DRAW, keys.next()).await {
                Ok(Some(key)) => Some(key),
                Ok(None) => return,
                Err(_) => None,
            };
            let pressed = match key {
                Some(DemoKey::Choose(number)) => {
                    chosen = number;
                    Ok(())
                }
                Some(key) => self.act(key, chosen).await,
                None => Ok(()),
            };
            if let Err(error) = pressed {
                self.screen.print(&format!("node {chosen}: {error:#}"));
            }
            let nodes = self.nodes.states().await;
            let changes = self.record.lock().figures(Instant::now());
            line.show(status_line::text(self.watch.leader(), &nodes, chosen, &changes));
        }
    }

    /// Causes or ends a fault of the chosen node.
    async fn act(&self, key: DemoKey, chosen: u64) -> Result<()> {
        let states = self.nodes.states().await;
        let is_running = states.iter().any(|node| node.number == chosen && node.is_running);
        let done = match key {
            DemoKey::Choose(_) => return Ok(()),
            // The same end as by Ctrl-C.
            DemoKey::Quit => return Ok(kill_process(getpid(), Signal::INT)?),
            DemoKey::KillOrStart if is_running => {
                self.nodes.kill(chosen).await?;
                "killed by SIGKILL"
            }
            DemoKey::KillOrStart => {
                self.nodes.start(chosen).await?;
                "started again"
            }
            DemoKey::PauseOrWake if !is_running => "not running: press k to start it",
            DemoKey::PauseOrWake => match self.nodes.pause_or_wake(chosen).await?.is_paused {
                true => "paused by SIGSTOP",
                false => "woken",
            },
            DemoKey::CutOrJoin => match self.nodes.cut_or_join(chosen).await?.is_cut {
                true => "cut off from the other nodes",
                false => "joined to the other nodes again",
            },
        };
        self.screen.print(&format!("node {chosen}: {done}"));
        Ok(())
    }
}
