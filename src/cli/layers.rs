//! The arguments that say where settings come from.

use std::path::PathBuf;

use clap::Args;

use crate::config::Layers;

/// Where settings come from, besides the environment.
#[derive(Clone, Debug, Args)]
pub struct LayerArgs {
    /// The configuration file (TOML); without one every setting has its default
    #[arg(short, long, value_name = "FILE", env = "REELYARD_CONFIG", global = true)]
    config: Option<PathBuf>,
    /// Set one setting, before what file and environment say; can be repeated. One entry of a table is
    /// set by its dotted key, as in share.roots.media=/data/media
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    set: Vec<String>,
}

impl LayerArgs {
    /// These and the environment.
    pub fn layers(self) -> Layers {
        Layers::of_process(self.config, self.set)
    }
}

/// How a role is run.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub layers: LayerArgs,
    /// Stop in order when standard input is closed, as when the parent process has ended
    #[arg(long)]
    pub until_stdin_closes: bool,
}
