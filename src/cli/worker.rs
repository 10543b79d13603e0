//! `reelyard worker`.

use reelyard_core::clock::Clock;

use crate::cli::support::failure::CommandFailure;
use crate::cli::support::layers::RunArgs;
use crate::worker::{LoadedWorkerConfig, Worker, WorkerReloader, WorkerSettings};
use crate::{logging, role};

/// Runs a worker until a stop signal.
pub fn run(args: RunArgs) -> Result<(), CommandFailure> {
    let configured = LoadedWorkerConfig::read(args.layers.layers())?;
    logging::start(&configured.config.log)?;
    configured.warn_of_doubts();
    let settings = WorkerSettings::of(&configured.config)?;
    role::run(args.until_stdin_closes, |mut stop| async move {
        // Installed first: without a handler SIGHUP would end the process.
        let mut hang_ups = role::reload_signals()?;
        let worker = Worker::start(settings, Clock::system()).await?;
        let reloader = WorkerReloader::new(configured);
        loop {
            tokio::select! {
                why = stop.requested() => {
                    tracing::info!(why, "stopping");
                    break;
                }
                Some(()) = hang_ups.recv() => {
                    tracing::info!("SIGHUP: reloading the configuration");
                    reloader.reload_and_log(&worker).await;
                }
            }
        }
        worker.stop().await;
        Ok(())
    })?;
    Ok(())
}
