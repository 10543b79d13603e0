//! `reelyard cluster`

use std::io::Write;

use clap::{Args, Subcommand};
use reelyard_api::{INVITATION_TTL, Ttl};
use reelyard_console::address::ROOT;

use super::{certs, forming, members};
use crate::cli::client::{NodeArgs, NodeClient, ViewArgs};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::layers::LayerArgs;

pub const AFTER_HELP: &str = "\
From one node to three:
  reelyard cluster init --config a.toml          on the first machine, then start its node
  reelyard cluster invite                        on the first machine: prints a secret
  reelyard cluster join --at 10.0.0.1:8082 --secret SECRET --config b.toml
                                                 on each further machine, then start its node
  reelyard cluster status                        who leads, who votes, who is behind

A node that runs alone becomes the first one without a restart: set cluster.listen in its file, and
run \"reelyard config reload\".";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ClusterArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    #[command(flatten)]
    Members(MemberCommand),
    /// Create the certificates for connections between nodes.
    Certs(certs::ClusterCertsArgs),
}

#[derive(Debug, Subcommand)]
enum MemberCommand {
    /// Prepare the empty data directory of the first node.
    Init {
        #[command(flatten)]
        layers: LayerArgs,
    },
    /// Print a secret with which further nodes can join for a short time.
    #[command(visible_alias = "add")]
    Invite {
        /// Lifetime of the secret.
        #[arg(long, default_value = INVITATION_TTL)]
        ttl: Ttl,
    },
    /// Make the node of this configuration a member. Its data directory must be empty.
    Join {
        /// Address of a member for other nodes (its cluster.listen), as HOST:PORT.
        #[arg(long, value_name = "ADDR")]
        at: String,
        /// The secret that "reelyard cluster invite" printed.
        #[arg(long)]
        secret: String,
        #[command(flatten)]
        layers: LayerArgs,
    },
    /// Show the members: who leads, who votes, who is behind, who cannot be reached.
    Status {
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Give a learner a vote at once. It gets one by itself after ten seconds without a gap. A learner that lacks more
    /// than 1,000 entries gets none.
    Promote {
        /// Number of the learner.
        number: u64,
    },
    /// Give the vote of a member to another one that has joined, and remove the former, in one step. It waits until
    /// the new one is up to date. If the new one votes already, the former is only removed. If the command is
    /// interrupted, run it again.
    Replace {
        /// Number of the member that leaves. It may be lost already.
        old: u64,
        /// Number of the member that comes.
        new: u64,
    },
    /// Make another voter the leader, without the wait of an election.
    Transfer {
        /// Number of the voter. Without it, the one that has most of the log.
        number: Option<u64>,
    },
    /// Remove a member. Its number is never given again.
    Remove {
        /// Number of the member.
        number: u64,
    },
}

/// Forms a cluster, and shows and changes its members.
pub fn run(args: ClusterArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    match args.command {
        ClusterCommand::Certs(args) => certs::run(args, out),
        ClusterCommand::Members(command) => change_members(&args.node, command, out),
    }
}

fn change_members(
    node: &NodeArgs,
    command: MemberCommand,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let out = &mut node.output.printer(out);
    out.refuse_csv()?;
    match command {
        MemberCommand::Init { layers } => forming::init(layers, out),
        MemberCommand::Join { at, secret, layers } => forming::join(&at, &secret, layers, out),
        MemberCommand::Invite { ttl } => members::invite(&NodeClient::new(node)?, ttl, out),
        MemberCommand::Status { view } => {
            let client = NodeClient::new(node)?;
            view.show(node, &format!("{ROOT}/cluster"), out, |out| members::show(&client, out))
        }
        MemberCommand::Promote { number } => members::promote(&NodeClient::new(node)?, number, out),
        MemberCommand::Replace { old, new } => {
            members::replace(&NodeClient::new(node)?, old, new, out)
        }
        MemberCommand::Transfer { number } => {
            members::transfer(&NodeClient::new(node)?, number, out)
        }
        MemberCommand::Remove { number } => members::remove(&NodeClient::new(node)?, number, out),
    }
}
