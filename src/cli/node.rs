//! `reelyard node`.

use reelyard_core::clock::Clock;

use crate::cli::support::failure::CommandFailure;
use crate::cli::support::layers::RunArgs;
use crate::node::LoadedNodeConfig;
use crate::running_node::RunningNode;
use crate::{logging, role};

/// Runs a node until a stop signal.
pub fn run(args: RunArgs) -> Result<(), CommandFailure> {
    let configured = LoadedNodeConfig::read(args.layers.layers())?;
    logging::start(&configured.config.log)?;
    configured.warn_of_doubts();
    role::run(args.until_stdin_closes, |mut stop| async move {
        // Installed first: without a handler SIGHUP would end the process.
        let mut hang_ups = role::reload_signals()?;
        let node = RunningNode::start(configured, Clock::system()).await?;
        let failed = loop {
            tokio::select! {
                why = stop.requested() => {
                    tracing::info!(why, "stopping");
                    break None;
                }
                why = node.failed() => break Some(why),
                Some(()) = hang_ups.recv() => {
                    tracing::info!("SIGHUP: reloading the configuration");
                    node.reload().await;
                }
            }
        };
        // A second signal ends it at once.
        node.stop(stop.requested_again()).await;
        match failed {
            None => Ok(()),
            Some(why) => Err(anyhow::anyhow!("the journal has failed: {why}")),
        }
    })?;
    Ok(())
}
