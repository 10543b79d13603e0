//! Arguments that select the sources of settings.

use std::path::PathBuf;

use clap::Args;

use crate::config::Layers;

/// Sources of settings, besides the environment.
#[derive(Clone, Debug, Args)]
pub struct LayerArgs {
    /// Configuration file (TOML). Without it every setting has its default.
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "REELYARD_CONFIG",
        global = true,
        help_heading = "Configuration"
    )]
    config: Option<PathBuf>,
    /// Set one setting; overrides the file and the environment. Repeatable. A dotted key sets one
    /// entry of a table: share.roots.media=/data/media.
    #[arg(long, value_name = "KEY=VALUE", global = true, help_heading = "Configuration")]
    set: Vec<String>,
}

impl LayerArgs {
    /// The layers from these arguments and the environment.
    pub fn layers(self) -> Layers {
        Layers::of_process(self.config, self.set)
    }
}

/// Arguments of a role.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub layers: LayerArgs,
    /// Stop cleanly when standard input closes, for example when the parent process ends.
    #[arg(long)]
    pub until_stdin_closes: bool,
}
