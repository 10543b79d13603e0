//! `reelyard hosts`

use std::io::Write;

use bytesize::ByteSize;
use clap::{Args, Subcommand};
use comfy_table::Cell;
use reelyard_api::{
    BackOffView, BreakerOf, BreakerState, BreakerView, DrainView, HostAdopted, HostChange,
    HostReset, HostView, StaysView, WantedMode, WantedRole,
};
use reelyard_core::clock::Clock;
use reelyard_core::counted::counted;
use reelyard_core::host::{BitsPerSecond, HostAddr, HostKind, HostMode, HostRole};
use reelyard_core::traffic::Traffic;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::plan::LinkLoad;

use crate::cli::client::{NodeArgs, NodeClient, PageArgs, filters};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, age, maybe, number, plain, size};

/// Index of the optional column about traffic.
const TRAFFIC_AT: usize = 10;

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
    /// Only hosts with this role.
    #[arg(long, value_parser = enum_word::parser::<HostRole>())]
    role: Option<HostRole>,
    /// Only hosts with this health.
    #[arg(long, value_parser = enum_word::parser::<Health>())]
    health: Option<Health>,
    /// Only hosts in this mode.
    #[arg(long, value_parser = enum_word::parser::<HostMode>())]
    mode: Option<HostMode>,
}

#[derive(Debug, Subcommand)]
enum HostsCommand {
    /// Show one host.
    Show {
        /// Address of the host (ip:port).
        host: HostAddr,
    },
    /// Close the circuit breaker and end backoff and probation of hosts, after you repaired them.
    Reset {
        /// Addresses of the hosts (ip:port).
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
    },
    /// Let workers obey this cluster, also if they obeyed another cluster or saw a wrong epoch.
    Adopt {
        /// Addresses of the hosts (ip:port).
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
    },
    /// Give hosts no new copies, and copy their only copies to other hosts.
    Drain {
        /// Addresses of the hosts (ip:port).
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
    },
    /// Stop all calls to hosts during maintenance; their silence is not a failure.
    Maintain {
        /// Addresses of the hosts (ip:port).
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
    },
    /// End draining or maintenance of hosts.
    Activate {
        /// Addresses of the hosts (ip:port).
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
    },
    /// Add hosts to the yard, in addition to those of the configuration.
    Add {
        /// Addresses of the hosts (ip:port).
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
        /// Role of the hosts.
        #[arg(long, value_parser = enum_word::parser::<HostRole>())]
        role: HostRole,
    },
    /// Remove hosts that were added, and forget their files.
    Remove {
        /// Addresses of the hosts (ip:port).
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
    },
}

/// Prints hosts or changes them.
pub fn run(args: HostsArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let client = NodeClient::new(&args.node)?;
    let json = args.node.json;
    let mut each = |hosts: Vec<HostAddr>,
                    change: &dyn Fn(&NodeClient, HostAddr) -> HostChangeResult| {
        hosts.into_iter().try_for_each(|host| print_change(&change(&client, host)?, json, out))
    };
    match args.command {
        None => list(&client, &args.filter, &args.page, json, out),
        Some(HostsCommand::Show { host }) => show(&client, host, json, out),
        Some(HostsCommand::Reset { hosts }) => {
            hosts.iter().try_for_each(|host| reset(&client, *host, json, out))
        }
        Some(HostsCommand::Adopt { hosts }) => {
            hosts.iter().try_for_each(|host| adopt(&client, *host, json, out))
        }
        Some(HostsCommand::Drain { hosts }) => {
            each(hosts, &|client, host| set(client, host, HostMode::Draining))
        }
        Some(HostsCommand::Maintain { hosts }) => {
            each(hosts, &|client, host| set(client, host, HostMode::Maintenance))
        }
        Some(HostsCommand::Activate { hosts }) => {
            each(hosts, &|client, host| set(client, host, HostMode::Active))
        }
        Some(HostsCommand::Add { hosts, role }) => each(hosts, &|client, host| {
            let change = client.put(&["hosts", &host.to_string()], &WantedRole { role })?;
            Ok((change, format!("{host} is now a host of the yard")))
        }),
        Some(HostsCommand::Remove { hosts }) => each(hosts, &|client, host| {
            let change = client.remove(&["hosts", &host.to_string()])?;
            Ok((change, format!("{host} is no longer a host of the yard")))
        }),
    }
}

/// The result of a change, and a line that describes it.
type HostChangeResult = Result<(HostChange, String), CommandFailure>;

fn set(client: &NodeClient, host: HostAddr, mode: HostMode) -> HostChangeResult {
    let change = client.put(&["hosts", &host.to_string(), "mode"], &WantedMode { mode })?;
    let is_now = match mode {
        HostMode::Active => "takes part",
        HostMode::Draining => "is being drained",
        HostMode::Maintenance => "is in maintenance: it gets no calls and no copies",
    };
    Ok((change, format!("{host} {is_now}")))
}

fn print_change(
    (change, is_now): &(HostChange, String),
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    if json {
        return Ok(output::json(change, out)?);
    }
    writeln!(out, "{is_now}")?;
    if change.taken_back > 0 {
        writeln!(out, "  running copies that are cancelled: {}", change.taken_back)?;
    }
    let is_there = change.mode == Some(HostMode::Active);
    if let Some(holds) = change.holds.as_ref().filter(|holds| holds.left > 0 && !is_there) {
        let DrainView { left, only_here, stays } = holds;
        writeln!(out, "  files on it: {left}; only there: {only_here}")?;
        if change.mode == Some(HostMode::Draining) {
            for StaysView { why, files } in stays {
                writeln!(out, "  files that cannot leave, reason {why}: {files}")?;
            }
        }
    }
    Ok(())
}

fn reset(
    client: &NodeClient,
    host: HostAddr,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let done: HostReset = client.post(&["hosts", &host.to_string(), "reset"])?;
    if json {
        return Ok(output::json(&done, out)?);
    }
    let back_offs = done.back_offs;
    writeln!(out, "{host} was reset; {back_offs} backoffs of its copies were ended")?;
    Ok(())
}

fn adopt(
    client: &NodeClient,
    host: HostAddr,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let done: HostAdopted = client.post(&["hosts", &host.to_string(), "adopt"])?;
    if json {
        return Ok(output::json(&done, out)?);
    }
    let HostAdopted { epoch, before, .. } = done;
    writeln!(out, "{host} obeys this cluster in epoch {epoch}; its epoch was {before}")?;
    Ok(())
}

fn list(
    client: &NodeClient,
    filter: &HostFilter,
    page: &PageArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let filter = [
        ("role", filter.role.map(enum_word::of)),
        ("health", filter.health.map(enum_word::of)),
        ("mode", filter.mode.map(enum_word::of)),
    ];
    let hosts = client.list::<HostView>(&["hosts"], &filters(&filter), page)?;
    if json {
        return Ok(output::json(&hosts, out)?);
    }
    let now = Clock::system().now();
    // The column is shown only if the traffic of any host is known.
    let with_traffic = hosts.items.iter().any(|host| host.traffic.is_some());
    let mut header = vec![
        "HOST", "ROLE", "KIND", "MODE", "HEALTH", "FOR", "LATENCY", "FILES", "DISK", "ROOM",
        "COPIES", "LIMIT", "WHY",
    ];
    if with_traffic {
        header.insert(TRAFFIC_AT, "TRAFFIC");
    }
    let mut table = output::table(&header);
    for host in &hosts.items {
        let why = whys(host);
        let mut row = vec![
            Cell::new(host.host),
            Cell::new(format!("{:?}", host.role).to_lowercase()),
            Cell::new(kind(host.kind)),
            Cell::new(host.mode),
            Cell::new(format!("{:?}", host.health).to_lowercase()),
            maybe(host.health_since, |since| Cell::new(age(since, now))),
            maybe(host.latency_ms, |ms| number(format!("{ms} ms"))),
            maybe(host.files, number),
            maybe(host.disk, |disk| number(format!("{}%", disk.used_percent))),
            maybe(host.room, size),
            Cell::new(format!("{} out, {} in", host.serving, host.fetching)),
            maybe(limit(host), Cell::new),
            maybe(Some(why).filter(|why| !why.is_empty()), |why| Cell::new(plain(&why.join("; ")))),
        ];
        if with_traffic {
            row.insert(TRAFFIC_AT, maybe(host.traffic.as_ref().map(traffic), Cell::new));
        }
        table.add_row(row);
    }
    output::print(&table, out)?;
    output::more(&hosts, out)?;
    print_foreign_managers(&hosts.items, out)
}

/// Prints all details of one host.
fn show(
    client: &NodeClient,
    host: HostAddr,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let host: HostView = client.get(&["hosts", &host.to_string()], &[])?;
    if json {
        return Ok(output::json(&host, out)?);
    }
    let now = Clock::system().now();
    let lines = [
        ("host", Some(host.host.to_string())),
        ("role", Some(enum_word::of(host.role))),
        ("kind", Some(kind(host.kind).to_owned())),
        ("mode", Some(host.mode.to_string())),
        ("health", Some(enum_word::of(host.health))),
        ("for", host.health_since.map(|since| age(since, now))),
        ("latency", host.latency_ms.map(|ms| format!("{ms} ms"))),
        ("files", host.files.map(|files| files.to_string())),
        ("disk used", host.disk.map(|disk| format!("{} %", disk.used_percent))),
        ("room", host.room.map(|room| ByteSize::b(room).to_string())),
        ("copies", Some(format!("{} out, {} in", host.serving, host.fetching))),
        ("limit", limit(&host)),
        ("traffic", host.traffic.as_ref().map(traffic)),
    ];
    for (label, value) in lines {
        writeln!(out, "{label:<11}{}", value.as_deref().unwrap_or("-"))?;
    }
    for why in whys(&host) {
        writeln!(out, "{:<11}{}", "why", plain(&why))?;
    }
    print_foreign_managers(&[host], out)
}

/// Why a host gets no new copies or fewer.
fn whys(host: &HostView) -> Vec<String> {
    let breakers = host.breakers.iter().map(breaker);
    state_text(host).into_iter().chain(breakers).chain(host.failure.clone()).collect()
}

/// Prints the signs of another manager of these hosts.
fn print_foreign_managers(hosts: &[HostView], out: &mut dyn Write) -> Result<(), CommandFailure> {
    for host in hosts {
        for manager in &host.foreign_managers {
            let how_sure = if manager.sure { "manages" } else { "may manage" };
            let (addr, what) = (host.host, plain(&manager.what));
            let (times, last) = (counted(manager.times, "time", "times"), manager.last);
            writeln!(
                out,
                "another manager {how_sure} {addr}: {what} ({times}, last seen at {last})"
            )?;
        }
    }
    Ok(())
}

/// Unusual recorded states of a host, as text.
fn state_text(host: &HostView) -> Vec<String> {
    let draining = host.draining.as_ref().map(|DrainView { left, only_here, stays }| {
        let stay: u64 = stays.iter().map(|stays| stays.files).sum();
        let left = counted(left, "file", "files");
        format!("{left} left, {only_here} of them only there, {stay} cannot leave")
    });
    let silent = host.silent_since.map(|since| format!("silent since {since}"));
    let lost = host.lost.then(|| "presumed lost: its copies do not count".to_owned());
    let added = (!host.configured).then(|| "added at run time".to_owned());
    let source = host.source_link.and_then(|link| too_busy("source", link));
    let destination = host.destination_link.and_then(|link| too_busy("destination", link));
    let agent = host.agent_failure.as_ref().map(|failure| format!("its agent {failure}"));
    let token = host.token_trouble.clone();
    [token, draining, lost, silent, added, source, destination, agent]
        .into_iter()
        .flatten()
        .collect()
}

/// The text for a host whose link is too busy for new copies; none if it is not.
fn too_busy(as_what: &str, link: LinkLoad) -> Option<String> {
    let (used, mark) = (link.used_percent, link.mark_percent?);
    let words =
        format!("as {as_what}: other traffic uses {used}% of its link, over the mark of {mark}%");
    link.is_too_busy().then_some(words)
}

/// The measured load of a link.
fn traffic(traffic: &Traffic) -> String {
    let Traffic { all, speed, .. } = traffic;
    let of = speed.map(|speed| format!(" of {speed}")).unwrap_or_default();
    format!("{} out, {} in{of}", rough(all.sends), rough(all.receives))
}

/// A measured rate with three digits.
fn rough(rate: BitsPerSecond) -> String {
    let units = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)];
    let bits = rate.0 as f64;
    match units.into_iter().find(|(_, unit)| bits >= *unit) {
        Some((word, unit)) => {
            let value = bits / unit;
            let digits = if value >= 100.0 {
                0
            } else if value >= 10.0 {
                1
            } else {
                2
            };
            format!("{value:.digits$}{word}")
        }
        None => format!("{}bit/s", rate.0),
    }
}

/// A circuit breaker as text.
fn breaker(breaker: &BreakerView) -> String {
    let of = match breaker.of {
        BreakerOf::Source => "as source",
        BreakerOf::Destination => "as destination",
        BreakerOf::Calls => "calls",
    };
    let BackOffView { until, reason, .. } = &breaker.back_off;
    match breaker.state {
        BreakerState::Open => format!("{of}: circuit breaker open until {until}: {reason}"),
        BreakerState::Probation => format!("{of}: on probation after {reason}"),
    }
}

/// The current rate limits of a host; none without a limit.
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
