//! `reelyard hosts`

use std::io::Write;

use clap::{Args, Subcommand};
use comfy_table::Cell;
use reelyard_actors::clock::Clock;
use reelyard_actors::heartbeat::Health;
use reelyard_actors::host::{HostAddr, HostKind, HostRole};
use reelyard_actors::wire::api::{
    BackOffView, BreakerOf, BreakerState, BreakerView, HostReset, HostView,
};

use super::client::{Client, NodeArgs, PageArgs, filters};
use super::failure::Failure;
use super::output::{self, age, maybe, number, plain, size};
use super::word;

#[derive(Debug, Args)]
pub struct HostsArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    filter: HostFilter,
    #[command(flatten)]
    page: PageArgs,
    #[command(subcommand)]
    command: Option<HostsCommand>,
}

#[derive(Debug, Args)]
struct HostFilter {
    /// Only hosts that are for this: source, destination or both
    #[arg(long, value_parser = word::read::<HostRole>)]
    role: Option<HostRole>,
    /// Only hosts whose health is this: unknown, up, suspect or down
    #[arg(long, value_parser = word::read::<Health>)]
    health: Option<Health>,
}

#[derive(Debug, Subcommand)]
enum HostsCommand {
    /// Trust hosts again that are left alone or on probation, once what was wrong is mended
    Reset {
        /// Their addresses (ip:port)
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
    },
}

/// Prints the hosts, or resets some.
pub fn run(args: HostsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let client = Client::new(&args.node)?;
    match args.command {
        None => list(&client, &args.filter, &args.page, args.node.json, out),
        Some(HostsCommand::Reset { hosts }) => {
            hosts.iter().try_for_each(|host| reset(&client, *host, args.node.json, out))
        }
    }
}

fn reset(client: &Client, host: HostAddr, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let done: HostReset = client.post(&["hosts", &host.to_string(), "reset"])?;
    if json {
        return Ok(output::json(&done, out)?);
    }
    let back_offs = done.back_offs;
    writeln!(out, "{host} is trusted again; {back_offs} back-offs of its copies were forgotten")?;
    Ok(())
}

fn list(
    client: &Client,
    filter: &HostFilter,
    page: &PageArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let filter = [("role", filter.role.map(word::of)), ("health", filter.health.map(word::of))];
    let hosts = client.list::<HostView>(&["hosts"], &filters(&filter), page)?;
    if json {
        return Ok(output::json(&hosts, out)?);
    }
    let now = Clock::system().now();
    let mut table = output::table(&[
        "HOST", "ROLE", "KIND", "HEALTH", "FOR", "LATENCY", "FILES", "DISK", "ROOM", "COPIES",
        "LIMIT", "WHY",
    ]);
    for host in &hosts.items {
        let why: Vec<String> =
            host.breakers.iter().map(breaker).chain(host.failure.clone()).collect();
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
            maybe(Some(why).filter(|why| !why.is_empty()), |why| Cell::new(plain(&why.join("; ")))),
        ]);
    }
    output::print(&table, out)?;
    output::more(&hosts, out)?;
    print_strangers(&hosts.items, out)
}

/// Prints the signs that somebody else manages a host too.
fn print_strangers(hosts: &[HostView], out: &mut dyn Write) -> Result<(), Failure> {
    for host in hosts {
        for stranger in &host.strangers {
            let how_sure = if stranger.sure { "manages" } else { "may manage" };
            let (addr, what) = (host.host, plain(&stranger.what));
            let (times, last) = (stranger.times, stranger.last);
            writeln!(out, "somebody else {how_sure} {addr}: {what} ({times} times, last {last})")?;
        }
    }
    Ok(())
}

/// A breaker in words.
fn breaker(breaker: &BreakerView) -> String {
    let of = match breaker.of {
        BreakerOf::Source => "as source",
        BreakerOf::Destination => "as destination",
        BreakerOf::Calls => "calls",
    };
    let BackOffView { until, reason, .. } = &breaker.back_off;
    match breaker.state {
        BreakerState::Open => format!("{of}: left alone until {until}: {reason}"),
        BreakerState::Probation => format!("{of}: on probation after {reason}"),
    }
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
