//! Commands about the nodes of a cluster.

mod certs;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct ClusterArgs {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    /// Create the certificates for connections between nodes.
    Certs(certs::ClusterCertsArgs),
}

/// Runs a command about the cluster.
pub fn run(args: ClusterArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    match args.command {
        ClusterCommand::Certs(args) => certs::run(args, out),
    }
}
