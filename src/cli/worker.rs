//! `reelyard worker`.

use std::path::PathBuf;

use anyhow::Context;
use reelyard_actors::clock::Clock;
use reelyard_actors::downloader::partials::KeepFor;
use reelyard_actors::traffic::gauge::LinkSettings;

use super::failure::Failure;
use super::layers::RunArgs;
use crate::config::{NodeAddr, WorkerConfig, load_worker};
use crate::worker::{ExternalSettings, Worker, WorkerSettings};
use crate::{logging, role};

/// Runs a worker until it is told to stop.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let config = load_worker(&args.layers.layers())?;
    logging::start(&config.log)?;
    let settings = settings(&config)?;
    role::run(args.until_stdin_closes, |mut stop| async move {
        let worker = Worker::start(settings, Clock::system()).await?;
        let why = stop.given().await;
        tracing::info!(why, "stopping");
        worker.stop().await;
        Ok(())
    })?;
    Ok(())
}

/// From what is configured to what a worker is run with.
fn settings(config: &WorkerConfig) -> Result<WorkerSettings, Failure> {
    let external = &config.external_downloader;
    let with_program = |program: &PathBuf| ExternalSettings {
        program: program.clone(),
        success: external.success_pattern.regex().clone(),
        timeout: external.timeout,
        grace: external.stop_grace,
    };
    let node = |node: &NodeAddr| node.to_string().parse().context("the setting node");
    let (listen, data_listen) = (config.listen, config.data_addr());
    let defaults = WorkerSettings::new(listen, data_listen, config.state_dir.clone());
    Ok(WorkerSettings {
        nodes: config.node.iter().map(node).collect::<Result<_, _>>()?,
        base_dir: config.base_dir.clone(),
        source_dirs: config.source_dirs.clone(),
        token: config.token.clone(),
        storage_limit_percent: config.storage.limit_percent.get(),
        copies_at_once: config.copies_at_once.get() as usize,
        poll_interval: config.poll_interval,
        capacity: config.capacity,
        keep_for: KeepFor { partial: config.resume_within, unknown: config.stale_after },
        link: LinkSettings {
            interface: config.network.interface.as_ref().map(|name| name.as_str().to_owned()),
            speed: config.network.link_speed,
            sysfs: config.network.sysfs.clone(),
            ..defaults.link
        },
        external: external.program.as_ref().map(with_program),
        ..defaults
    })
}
