//! `reelyard worker`.

use super::failure::Failure;
use super::layers::RunArgs;
use crate::config::load_worker;
use crate::worker::{Worker, WorkerSettings};
use crate::{logging, role};
use reelyard_actors::clock::Clock;

/// Runs a worker until it is told to stop.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let config = load_worker(&args.layers.layers())?;
    logging::start(&config.log)?;
    let settings = WorkerSettings::from(&config);
    role::run(args.until_stdin_closes, |mut stop| async move {
        let worker = Worker::start(settings, Clock::system()).await?;
        let why = stop.given().await;
        tracing::info!(why, "stopping");
        worker.stop().await;
        Ok(())
    })?;
    Ok(())
}
