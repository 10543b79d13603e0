//! Three nodes of the demo: faults by keys, and a client whose changes show that nothing stops and nothing is lost.

mod change_check;
pub(super) mod change_client;
mod change_record;
mod control;
pub mod fault_proxy;
pub(super) mod forming;
mod keys;
pub(super) mod leader_fall;
mod leader_watch;
pub(super) mod nodes;
mod status_line;

use std::time::Instant;

use anyhow::Result;
use reelyard_core::durations::in_words;
use tokio::task::{AbortHandle, JoinSet};

use self::change_client::{SharedRecord, make_changes};
use self::change_record::ChangeFigures;
use self::control::DemoControl;
use self::keys::DemoKeys;
use self::leader_watch::{LeaderWatch, SeenLeader};
use self::nodes::DemoNodes;
use self::status_line::StatusLine;
use super::api::DemoApi;
use super::progress::DemoScreen;
use crate::terminal;

/// The observers of a running cluster, its client and its keys. All of them end when it is dropped.
pub struct DemoCluster {
    nodes: DemoNodes,
    api: DemoApi,
    screen: DemoScreen,
    watch: LeaderWatch,
    record: SharedRecord,
    line: Option<StatusLine>,
    tasks: JoinSet<()>,
    client: AbortHandle,
}

impl DemoCluster {
    /// Begins to observe these nodes, to make changes, and on a terminal to handle keys.
    pub async fn start(nodes: DemoNodes, api: DemoApi, screen: DemoScreen) -> Result<Self> {
        let (watch, record) = (LeaderWatch::default(), SharedRecord::default());
        let mut tasks = JoinSet::new();
        for node in nodes.states().await {
            tasks.spawn(watch.clone().follow(node.number, api.clone()));
        }
        let client = tasks.spawn(make_changes(api.clone(), record.clone()));
        let line = if terminal::has_keys() && screen.is_shown() {
            let line = StatusLine::on(&screen);
            let control = DemoControl {
                nodes: nodes.clone(),
                watch: watch.clone(),
                record: record.clone(),
                screen: screen.clone(),
            };
            tasks.spawn(control.run(DemoKeys::read()?, line.clone()));
            Some(line)
        } else {
            None
        };
        Ok(DemoCluster { nodes, api, screen, watch, record, line, tasks, client })
    }

    /// Checks each acknowledged change, and prints the result. Returns whether no change failed and none is lost.
    ///
    /// # Errors
    /// No leader answers.
    pub async fn report(&mut self) -> Result<bool> {
        self.client.abort();
        self.record.lock().end(Instant::now());
        let checked = change_check::check(&self.api, &self.watch, &self.record).await;
        let figures = self.figures();
        // For the person who looks on. The last report was printed before.
        self.client = self.tasks.spawn(make_changes(self.api.clone(), self.record.clone()));
        let ChangeFigures { acknowledged, failed, last_failure, longest_gap } = figures;
        let checked = checked?;
        let gap = in_words(longest_gap);
        self.print(&format!(
            "changes              {acknowledged} acknowledged, {failed} failed, longest gap {gap}"
        ));
        if let Some(failure) = last_failure {
            self.print(&format!("  {failure}"));
        }
        let leader = checked.leader;
        self.print(&match &checked.loss {
            None => {
                format!("nothing was lost     node {leader} leads and has each acknowledged change")
            }
            Some(loss) => format!("LOST                 {loss}, says node {leader}, which leads"),
        });
        Ok(failed == 0 && checked.loss.is_none())
    }

    fn leader(&self) -> Option<SeenLeader> {
        self.watch.leader()
    }

    fn figures(&self) -> ChangeFigures {
        self.record.lock().figures(Instant::now())
    }

    fn print(&self, line: &str) {
        self.screen.print(line);
    }
}

impl Drop for DemoCluster {
    fn drop(&mut self) {
        // Now, because the tasks end only when the runtime looks at them next.
        if let Some(line) = &self.line {
            line.end();
        }
    }
}
