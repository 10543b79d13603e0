//! The demo that runs without a person kills the leader once itself.

use anyhow::Result;

use super::DemoCluster;

/// Part of the files that is placed when the leader is killed.
const FALL_AT: f64 = 0.25;

/// How far the fall of the leader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderFall {
    /// It comes later.
    Ahead,
    /// This node was killed, and led. This number of changes was acknowledged before.
    Down(u64, u64),
    /// Another node leads, and the killed one was started again. Or there is no fall.
    Over,
}

impl LeaderFall {
    /// Whether the cluster waits for another leader.
    pub fn is_down(self) -> bool {
        matches!(self, LeaderFall::Down(..))
    }

    /// Kills the leader when it is due, and starts it again once another leader takes changes. `placed` is the
    /// part of the files that is placed.
    pub async fn step(&mut self, placed: f64, cluster: &DemoCluster) -> Result<()> {
        let leader = cluster.leader();
        let acknowledged = cluster.figures().acknowledged;
        match (*self, leader) {
            (LeaderFall::Ahead, Some(leader)) if placed >= FALL_AT => {
                cluster.print(&format!("killing node {}, which leads", leader.node));
                cluster.nodes.kill(leader.node).await?;
                let acknowledged = cluster.figures().acknowledged;
                *self = LeaderFall::Down(leader.node, acknowledged);
            }
            (LeaderFall::Down(killed, before), Some(leader))
                if leader.node != killed && acknowledged > before =>
            {
                cluster.print(&format!(
                    "node {} leads in epoch {}; starting node {killed} again",
                    leader.node, leader.epoch
                ));
                cluster.nodes.start(killed).await?;
                *self = LeaderFall::Over;
            }
            (LeaderFall::Ahead | LeaderFall::Down(..) | LeaderFall::Over, _) => {}
        }
        Ok(())
    }
}
