//! The leader, as the nodes of the demo show it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reelyard_api::ClusterView;
use reelyard_core::event::Epoch;
use tokio::time::sleep;

use super::nodes::place_of;
use crate::demo::api::DemoApi;

/// Pause between two requests to a node.
const PAUSE: Duration = Duration::from_millis(100);

/// The newest view of each node that answers, by number. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LeaderWatch(Arc<Mutex<BTreeMap<u64, ClusterView>>>);

/// A node that leads, and the term in which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenLeader {
    /// Number of the node.
    pub node: u64,
    /// The term.
    pub epoch: Epoch,
}

impl LeaderWatch {
    /// The node that leads in the newest term. None while no node that answers leads.
    pub fn leader(&self) -> Option<SeenLeader> {
        let views = self.views();
        // A leader that was cut off or paused can still believe in its old term.
        let leading = views.values().filter(|view| view.leader == Some(view.node));
        let seen = leading.map(|view| SeenLeader { node: view.node, epoch: view.epoch });
        seen.max_by_key(|seen| seen.epoch)
    }

    /// Asks a node again and again, and makes `api` prefer the leader.
    pub async fn follow(self, number: u64, api: DemoApi) {
        loop {
            let answer = api.get_from(place_of(number), "cluster").await;
            match answer {
                Ok(view) => self.views().insert(number, view),
                Err(_) => self.views().remove(&number),
            };
            if let Some(leader) = self.leader() {
                api.prefer(place_of(leader.node));
            }
            sleep(PAUSE).await;
        }
    }

    fn views(&self) -> MutexGuard<'_, BTreeMap<u64, ClusterView>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
