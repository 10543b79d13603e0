//! The end of a token and of its session while the clock of one node is ahead. Every node refuses both by that clock: an
//! end that one node has reached is reached everywhere.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use reelyard_api::Rfc3339;
use reelyard_core::clock::Clock;
use serde_json::{Value, json};

use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};
use crate::rigs::node_cluster::NodeCluster;

/// Lifetime of the token.
const LIFETIME: Duration = Duration::from_secs(3);

/// A slow machine may need more than one.
const ATTEMPTS: usize = 5;

/// Checks that all nodes refuse a token and its session before their end by a right clock.
///
/// # Errors
/// A node accepts one of them until that end.
pub fn check(cluster: &ChaosCluster) -> Result<()> {
    for _ in 0..ATTEMPTS {
        if ends_early(&cluster.nodes)? {
            return Ok(());
        }
    }
    bail!("a token or a session was accepted after its end by the clock that is ahead")
}

fn ends_early(nodes: &NodeCluster) -> Result<bool> {
    let name = format!("short-{:08x}", fastrand::u32(..));
    let ttl = format!("{}s", LIFETIME.as_secs());
    let token =
        make(nodes, "/api/v1/tokens", &json!({ "name": name, "role": "viewer", "ttl": ttl }))?;
    let ends_at: Rfc3339 = serde_json::from_value(token["expires_at"].clone())?;
    let token = token["token"].as_str().context("no token")?.to_owned();
    let session = make(nodes, "/api/v1/sessions", &json!({ "token": token }))?;
    let session = session["secret"].as_str().context("no session")?.to_owned();
    while Clock::system().now() < ends_at.0 {
        let is_refused = |place: NodePlace| {
            [&token, &session]
                .into_iter()
                .all(|secret| nodes.status_for(place.0, secret) == Some(401))
        };
        if NodePlace::ALL.into_iter().all(is_refused) {
            return Ok(Clock::system().now() < ends_at.0);
        }
    }
    Ok(false)
}

fn make(nodes: &NodeCluster, path: &str, body: &Value) -> Result<Value> {
    let made = nodes.request(0, "POST", path, &body.to_string()).context("no answer")?;
    ensure!(made.status == 201, "{path}: {made:?}");
    Ok(serde_json::from_str(&made.body)?)
}
