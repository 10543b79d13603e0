//! A destination in its own process, for tests that kill it: `worker_process LISTEN NODE BASE_DIR STATE_DIR`.

use anyhow::Context;
use reelyard::worker::Worker;
use reelyard_core::clock::Clock;
use reelyard_integration_tests::rigs::worker::worker_rig::settings_at;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().context("LISTEN NODE BASE_DIR STATE_DIR are wanted");
    let (listen, node, base_dir, state_dir) = (next()?, next()?, next()?, next()?);
    let mut settings = settings_at(listen.parse()?, state_dir.into());
    settings.nodes = vec![node.parse()?];
    settings.base_dir = Some(base_dir.into());
    settings.storage_limit_percent = 100;
    settings.resume.keep_every = std::time::Duration::from_millis(20);
    actix_rt::System::new().block_on(async {
        let _worker = Worker::start(settings, Clock::system()).await?;
        // Waits for the signal that kills the process.
        std::future::pending::<anyhow::Result<()>>().await
    })
}
