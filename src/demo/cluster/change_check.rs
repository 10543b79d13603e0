//! The final check of the demo: whether the leader knows each acknowledged change.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use reelyard_shares::share_expiry::{ShareId, ShareState};
use tokio::time::{Instant, sleep};

use super::change_client::SharedRecord;
use super::leader_watch::LeaderWatch;
use super::nodes::place_of;
use crate::demo::api::DemoApi;

/// Time limit. Within it a cluster has a leader again, and a former leader notices that it is none.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// The answer of a leader to the question for all acknowledged changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedChanges {
    /// Number of the leader.
    pub leader: u64,
    /// The first change that is not there.
    pub loss: Option<String>,
}

/// Compares the record with the shares of the leader. No client may make changes meanwhile.
///
/// # Errors
/// No leader answers in time.
pub async fn check(
    api: &DemoApi,
    watch: &LeaderWatch,
    record: &SharedRecord,
) -> Result<CheckedChanges> {
    let until = Instant::now() + PATIENCE;
    let mut reason = "no node leads".to_owned();
    let mut found = None;
    loop {
        if let Some(leader) = watch.leader() {
            match live_shares(api, place_of(leader.node)).await {
                Ok(live) => {
                    let loss = record.lock().first_loss(&live);
                    let checked = CheckedChanges { leader: leader.node, loss };
                    if checked.loss.is_none() {
                        return Ok(checked);
                    }
                    // Another node may lead since a moment ago. A lost change stays lost.
                    found = Some(checked);
                }
                Err(error) => reason = format!("{error:#}"),
            }
        }
        if Instant::now() >= until {
            return found.ok_or_else(|| anyhow::anyhow!("the changes were not checked: {reason}"));
        }
        sleep(PAUSE).await;
    }
}

async fn live_shares(api: &DemoApi, place: usize) -> Result<BTreeSet<ShareId>> {
    let shares = api.shares(place).await?;
    Ok(shares.iter().filter(|one| one.state == ShareState::Live).map(|one| one.id).collect())
}
