//! `reelyard node`.

use reelyard_actors::clock::Clock;

use super::failure::Failure;
use super::layers::RunArgs;
use crate::config::load_node;
use crate::node::Node;
use crate::{logging, role};

/// Runs a node until it is told to stop.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let config = load_node(&args.layers.layers())?;
    logging::start(&config.log)?;
    role::run(args.until_stdin_closes, |mut stop| async move {
        let node = Node::start(config, Clock::system()).await?;
        let failed = tokio::select! {
            why = stop.given() => {
                tracing::info!(why, "stopping");
                None
            }
            why = node.failed() => Some(why),
        };
        node.stop().await;
        match failed {
            None => Ok(()),
            Some(why) => Err(anyhow::anyhow!("the journal cannot go on: {why}")),
        }
    })?;
    Ok(())
}
