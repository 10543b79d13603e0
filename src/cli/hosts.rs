//! `reelyard hosts`

use std::io::Write;

use clap::Args;
use comfy_table::Cell;
use reelyard_actors::clock::Clock;
use reelyard_actors::host::HostKind;
use reelyard_actors::wire::api::HostView;

use super::client::{Client, NodeArgs, PageArgs};
use super::failure::Failure;
use super::output::{self, age, maybe, number, plain, size};

#[derive(Debug, Args)]
pub struct HostsArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    page: PageArgs,
}

/// Prints the hosts.
pub fn run(args: HostsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let client = Client::new(&args.node)?;
    let hosts = client.list::<HostView>(&["hosts"], &[], &args.page)?;
    if args.node.json {
        return Ok(output::json(&hosts, out)?);
    }
    let now = Clock::system().now();
    let mut table = output::table(&[
        "HOST", "ROLE", "KIND", "HEALTH", "FOR", "LATENCY", "FILES", "DISK", "ROOM", "COPIES",
        "LIMIT", "WHY",
    ]);
    for host in &hosts.items {
        let why = host
            .back_off
            .as_ref()
            .map(|back_off| format!("left alone until {}: {}", back_off.until, back_off.reason));
        let why = why.or_else(|| host.failure.clone());
        table.add_row([
            Cell::new(host.host),
            Cell::new(format!("{:?}", host.role).to_lowercase()),
            Cell::new(kind(host.kind)),
            Cell::new(format!("{:?}", host.health).to_lowercase()),
            maybe(host.health_since, |since| Cell::new(age(since, now))),
            maybe(host.latency_ms, |ms| number(format!("{ms}ms"))),
            maybe(host.files, number),
            maybe(host.disk, |disk| number(format!("{}%", disk.used_percent))),
            maybe(host.room, size),
            Cell::new(format!("{} out, {} in", host.serving, host.fetching)),
            maybe(limit(host), Cell::new),
            maybe(why, |why| Cell::new(plain(&why))),
        ]);
    }
    Ok(output::print(&table, out)?)
}

/// What the host may send and receive now, where that is limited.
fn limit(host: &HostView) -> Option<String> {
    let sends = host.sends_below.map(|rate| format!("{rate} out"));
    let receives = host.receives_below.map(|rate| format!("{rate} in"));
    let limits: Vec<String> = sends.into_iter().chain(receives).collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

fn kind(kind: HostKind) -> &'static str {
    match kind {
        HostKind::Unknown => "-",
        HostKind::Cfw => "cfw",
        HostKind::Reelyard { .. } => "reelyard",
    }
}
