//! `reelyard demo`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use bytesize::ByteSize;
use clap::Args;
use reelyard_core::host::BitsPerSecond;

use crate::cli::support::failure::CommandFailure;
use crate::config::size_argument;
use crate::demo::{self, DemoCatalog, NodeCount};

/// Options of the demo.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// End when every file is placed. The exit code is 0 only if every copy exists with the right
    /// hash.
    #[arg(long)]
    once: bool,
    /// Number of nodes. On a terminal, keys kill, pause and cut off the nodes of a cluster. With --once, the demo kills
    /// its leader itself.
    #[arg(long, value_name = "N", default_value = "1")]
    nodes: NodeCount,
    /// Replay this load-balancer log. Its most requested files become the catalog.
    #[arg(long, value_name = "FILE")]
    event_log: Option<PathBuf>,
    /// Server in that log whose hits make a file hot [default: the one with the most hits].
    #[arg(long, value_name = "IP", requires = "event_log")]
    watch_address: Option<IpAddr>,
    /// Number of files.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(8..))]
    files: u16,
    /// Mean size of a file.
    #[arg(long, default_value = "12MiB", value_parser = size_argument)]
    size: ByteSize,
    /// Highest rate of one copy, in Mbit/s.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    megabits: u64,
    /// Address of the first node [default: a free port of a loopback address].
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
}

/// Runs `reelyard demo`.
pub fn run(args: DemoArgs) -> Result<ExitCode, CommandFailure> {
    let options = demo::DemoOptions {
        once: args.once,
        nodes: args.nodes,
        catalog: DemoCatalog {
            event_log: args.event_log,
            watch_address: args.watch_address,
            files: usize::from(args.files),
            mean_size: args.size.as_u64(),
        },
        copy_speed: BitsPerSecond(args.megabits.saturating_mul(1_000_000)),
        listen: args.listen,
    };
    Ok(demo::run(&options)?)
}
