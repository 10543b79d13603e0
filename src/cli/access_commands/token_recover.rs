//! `reelyard token recover`: the way back after the administrator's token was lost.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use clap::Args;

use crate::cli::support::failure::CommandFailure;
use crate::cli::support::layers::LayerArgs;
use crate::config::load_node;
use crate::node::AdminTokenFiles;

#[derive(Debug, Args)]
pub struct RecoverArgs {
    #[command(flatten)]
    layers: LayerArgs,
}

/// Requests a new token by a file in the data directory, which only the user of the node can write.
pub fn run(args: RecoverArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let config = load_node(&args.layers.layers())?;
    let files = AdminTokenFiles::new(&config.data_dir);
    files.request_recovery().map_err(|error| {
        let path = files.recovery();
        CommandFailure::Failed(anyhow::anyhow!("{} cannot be created: {error}", path.display()))
    })?;
    writeln!(
        out,
        "Now reload the node: send it SIGHUP, or restart it. Then {} holds a new token, and the old one is refused. A node \
         of a cluster does that while it leads: request it on the host of the leader, or remove {} again.",
        files.token().display(),
        files.recovery().display()
    )?;
    Ok(())
}

/// Creates a file that only its owner can read.
pub(super) fn create_private(path: &Path) -> Result<File, CommandFailure> {
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    created.map_err(|error| {
        let path = path.display();
        CommandFailure::Failed(anyhow::anyhow!("{path} cannot be created: {error}"))
    })
}
