//! `reelyard demo`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use bytesize::ByteSize;
use clap::Args;
use reelyard_core::counted::counted;
use reelyard_core::host::BitsPerSecond;

use crate::cli::output::cell::{self, count, maybe, text, texts};
use crate::cli::output::{ListCell, ListColumn, ListTable, OutputArgs, plain};
use crate::cli::support::failure::CommandFailure;
use crate::config::size_argument;
use crate::demo::{self, DemoCatalog, DemoResult, NodeCount};

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
        print: print_result,
    };
    Ok(demo::run(&options)?)
}

/// Prints the table of files and the summary.
fn print_result(result: &DemoResult) -> io::Result<()> {
    let mut table = ListTable::new([
        ListColumn::right("RANK"),
        ListColumn::name("FILE"),
        ListColumn::right("SIZE").leaves(1),
        ListColumn::right("HITS").leaves(2),
        ListColumn::right("TRIES").leaves(3),
        ListColumn::left("PLACED ON"),
        ListColumn::left("VERIFIED"),
    ]);
    for (rank, row) in (1_u64..).zip(&result.rows) {
        table.row([
            count(rank),
            cell::name(&row.name),
            ListCell::Bytes(row.size),
            maybe(Some(row.hits).filter(|hits| *hits > 0), count),
            text(row.tries),
            texts(row.copies.iter().map(|(host, _)| host)),
            text(row.word()),
        ]);
    }
    OutputArgs::default().printer(&mut io::stdout()).table(&table)?;
    let expected = result.rows.iter().filter(|row| !row.ignored).count();
    let verified = result.rows.iter().filter(|row| !row.ignored && row.is_good()).count();
    let retried: usize = result.rows.iter().map(|row| row.tries.saturating_sub(1)).sum();
    let overtaking = result.rows.iter().filter(|row| row.hits > 0 && row.overtook > 0).count();
    println!("placed and verified  {verified} of {expected} files, each on one destination");
    let overtaking = counted(overtaking, "file", "files");
    println!("hot                  {overtaking} overtook better-ranked ones");
    println!("retried              {}", counted(retried, "copy", "copies"));
    for failure in &result.failures {
        println!("  {}", plain(failure));
    }
    Ok(())
}
