//! `reelyard hosts`

use std::io::Write;

use clap::{Args, Subcommand};
use reelyard_api::{
    BackOffView, BreakerOf, BreakerState, BreakerView, DrainView, HostAdopted, HostChange,
    HostProbed, HostReset, HostView, StaysView, WantedMode, WantedRole,
};
use reelyard_console::address::host_page;
use reelyard_console::pages::hosts::HostsPageQuery;
use reelyard_core::counted::counted;
use reelyard_core::host::{BitsPerSecond, HostAddr, HostKind, HostMode, HostRole};
use reelyard_core::traffic::Traffic;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::LinkLoad;

use crate::cli::client::{NodeArgs, NodeClient, PageArgs, ViewArgs, filters, web_query};
use crate::cli::output::cell::{count, maybe, state, text, unit};
use crate::cli::output::{
    DetailSheet, ListCell, ListColumn, ListTable, PrintStyle, Printer, plain,
};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct HostsArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    filter: HostFilter,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    view: ViewArgs,
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
    /// Only hosts with this text in their address.
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
}

#[derive(Debug, Subcommand)]
enum HostsCommand {
    /// Show one host.
    Show {
        /// Address of the host (ip:port).
        host: HostAddr,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Close the circuit breaker and end backoff and probation of hosts, after you repaired them.
    Reset {
        /// Addresses of the hosts (ip:port).
        #[arg(required = true)]
        hosts: Vec<HostAddr>,
    },
    /// Probe hosts now, and print the results. The node probes them in any case, every `heartbeat.interval`.
    Probe {
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
    let HostsArgs { node, filter, page, view, command } = args;
    let out = &mut node.output.printer(out);
    let client = NodeClient::new(&node)?;
    let Some(command) = command else {
        let list = |out: &mut Printer<'_>| list(&client, &filter, &page, out);
        return view.show(&node, &filter.web_page(), out, list);
    };
    out.refuse_csv()?;
    match command {
        HostsCommand::Show { host, view } => {
            let web = host_page(&host.to_string());
            view.show(&node, &web, out, |out| show(&client, host, out))
        }
        HostsCommand::Reset { hosts } => {
            hosts.iter().try_for_each(|host| reset(&client, *host, out))
        }
        HostsCommand::Probe { hosts } => {
            hosts.iter().try_for_each(|host| probe(&client, *host, out))
        }
        HostsCommand::Adopt { hosts } => {
            hosts.iter().try_for_each(|host| adopt(&client, *host, out))
        }
        other => change(other, &client, out),
    }
}

/// Changes hosts.
fn change(
    command: HostsCommand,
    client: &NodeClient,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let mut each = |hosts: Vec<HostAddr>,
                    change: &dyn Fn(&NodeClient, HostAddr) -> HostChangeResult| {
        hosts.into_iter().try_for_each(|host| print_change(&change(client, host)?, out))
    };
    match command {
        HostsCommand::Drain { hosts } => {
            each(hosts, &|client, host| set(client, host, HostMode::Draining))
        }
        HostsCommand::Maintain { hosts } => {
            each(hosts, &|client, host| set(client, host, HostMode::Maintenance))
        }
        HostsCommand::Activate { hosts } => {
            each(hosts, &|client, host| set(client, host, HostMode::Active))
        }
        HostsCommand::Add { hosts, role } => each(hosts, &|client, host| {
            let change = client.put(&["hosts", &host.to_string()], &WantedRole { role })?;
            Ok((change, format!("{host} is now a host of the yard")))
        }),
        HostsCommand::Remove { hosts } => each(hosts, &|client, host| {
            let change = client.remove(&["hosts", &host.to_string()])?;
            Ok((change, format!("{host} is no longer a host of the yard")))
        }),
        // These print something else.
        HostsCommand::Show { .. }
        | HostsCommand::Reset { .. }
        | HostsCommand::Probe { .. }
        | HostsCommand::Adopt { .. } => Ok(()),
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
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.json(change);
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

fn reset(client: &NodeClient, host: HostAddr, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let done: HostReset = client.post(&["hosts", &host.to_string(), "reset"])?;
    if out.is_json() {
        return out.json(&done);
    }
    let back_offs = done.back_offs;
    writeln!(out, "{host} was reset; {back_offs} backoffs of its copies were ended")?;
    Ok(())
}

fn probe(client: &NodeClient, host: HostAddr, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let done: HostProbed = client.post(&["hosts", &host.to_string(), "probe"])?;
    if out.is_json() {
        return out.json(&done);
    }
    let health = enum_word::of(done.health);
    match (done.latency_ms, &done.failure) {
        (Some(ms), _) => writeln!(out, "{host} answered in {ms} ms; it is {health}")?,
        (None, failure) => {
            let why = plain(failure.as_deref().unwrap_or_default());
            writeln!(out, "{host} did not answer: {why}; it is {health}")?;
        }
    }
    Ok(())
}

fn adopt(client: &NodeClient, host: HostAddr, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let done: HostAdopted = client.post(&["hosts", &host.to_string(), "adopt"])?;
    if out.is_json() {
        return out.json(&done);
    }
    let HostAdopted { epoch, before, .. } = done;
    writeln!(out, "{host} obeys this cluster in epoch {epoch}; its epoch was {before}")?;
    Ok(())
}

impl HostFilter {
    /// The filter as a query of the API.
    fn query(&self) -> [(&'static str, Option<String>); 4] {
        let [role, health, mode] = self.states();
        [role, health, mode, ("contains", self.contains.clone())]
    }

    fn states(&self) -> [(&'static str, Option<String>); 3] {
        [
            ("role", self.role.map(enum_word::of)),
            ("health", self.health.map(enum_word::of)),
            ("mode", self.mode.map(enum_word::of)),
        ]
    }

    /// The page of the console with the same filter.
    fn web_page(&self) -> String {
        let [role, health, mode] = self.states();
        let filters = [("q", self.contains.clone()), role, health, mode];
        HostsPageQuery::parse(&web_query(&filters)).address()
    }
}

fn list(
    client: &NodeClient,
    filter: &HostFilter,
    page: &PageArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let hosts = client.list::<HostView>(&["hosts"], &filters(&filter.query()), page)?;
    out.list(&hosts, table)?;
    if !out.is_json() {
        print_foreign_managers(&hosts.items, out)?;
    }
    Ok(())
}

/// The table of hosts.
pub fn table(hosts: &[HostView], style: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("HOST"),
        ListColumn::left("ROLE").leaves(4),
        ListColumn::left("KIND").leaves(8),
        ListColumn::left("MODE").leaves(5),
        ListColumn::left("HEALTH"),
        ListColumn::left("SINCE").leaves(2),
        ListColumn::right("LATENCY").leaves(7),
        ListColumn::right("FILES").leaves(3),
        ListColumn::right("DISK"),
        ListColumn::right("ROOM").leaves(1),
        ListColumn::left("TRAFFIC").leaves(9).if_known(),
        ListColumn::left("COPIES").leaves(6),
        ListColumn::left("LIMIT").leaves(10),
        ListColumn::reason("WHY"),
    ]);
    for host in hosts {
        let why = whys(host, style);
        table.row([
            text(host.host),
            text(enum_word::of(host.role)),
            maybe(kind(host.kind), text),
            mode(host.mode),
            state(enum_word::of(host.health)),
            maybe(host.health_since, ListCell::Since),
            maybe(host.latency_ms, |ms| unit(ms, " ms")),
            maybe(host.files, count),
            maybe(host.disk, |disk| unit(disk.used_percent, "%")),
            maybe(host.room, ListCell::Bytes),
            maybe(host.traffic.as_ref().map(traffic), text),
            text(format!("{} out, {} in", host.serving, host.fetching)),
            maybe(limit(host), text),
            maybe(Some(why).filter(|why| !why.is_empty()), |why| text(why.join("; "))),
        ]);
    }
    table
}

/// The mode, as a state if a person has changed it.
fn mode(mode: HostMode) -> ListCell {
    if mode == HostMode::Active { text(mode) } else { state(mode) }
}

/// Prints all details of one host.
fn show(client: &NodeClient, host: HostAddr, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let host: HostView = client.get(&["hosts", &host.to_string()], &[])?;
    if out.is_json() {
        return out.json(&host);
    }
    let mut sheet = DetailSheet::default();
    sheet.row("host", text(host.host));
    sheet.row("role", text(enum_word::of(host.role)));
    sheet.row("kind", maybe(kind(host.kind), text));
    sheet.row("mode", text(host.mode));
    sheet.row("health", text(enum_word::of(host.health)));
    sheet.row("since", maybe(host.health_since, ListCell::Since));
    sheet.row("latency", maybe(host.latency_ms, |ms| unit(ms, " ms")));
    sheet.row("files", maybe(host.files, count));
    sheet.row("disk used", maybe(host.disk, |disk| unit(disk.used_percent, "%")));
    sheet.row("room", maybe(host.room, ListCell::Bytes));
    sheet.row("copies", text(format!("{} out, {} in", host.serving, host.fetching)));
    sheet.row("limit", maybe(limit(&host), text));
    sheet.row("traffic", maybe(host.traffic.as_ref().map(traffic), text));
    for why in whys(&host, out.style()) {
        sheet.row("why", text(why));
    }
    sheet.print(out)?;
    print_foreign_managers(&[host], out)
}

/// Why a host gets no new copies or fewer.
fn whys(host: &HostView, style: &PrintStyle) -> Vec<String> {
    let breakers = host.breakers.iter().map(|one| breaker(one, style));
    state_text(host, style).into_iter().chain(breakers).chain(host.failure.clone()).collect()
}

/// Prints the signs of another manager of these hosts.
fn print_foreign_managers(hosts: &[HostView], out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    for host in hosts {
        for manager in &host.foreign_managers {
            let how_sure = if manager.sure { "manages" } else { "may manage" };
            let (addr, what) = (host.host, plain(&manager.what));
            let (times, last) = (counted(manager.times, "time", "times"), out.clock(manager.last));
            out.remark(&format!(
                "another manager {how_sure} {addr}: {what} ({times}, last seen at {last})"
            ))?;
        }
    }
    Ok(())
}

/// Unusual recorded states of a host, as text.
fn state_text(host: &HostView, style: &PrintStyle) -> Vec<String> {
    let draining = host.draining.as_ref().map(|DrainView { left, only_here, stays }| {
        let stay: u64 = stays.iter().map(|stays| stays.files).sum();
        let left = counted(left, "file", "files");
        format!("{left} left, {only_here} of them only there, {stay} cannot leave")
    });
    let silent = host.silent_since.map(|since| format!("silent since {}", style.clock(since)));
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
fn breaker(breaker: &BreakerView, style: &PrintStyle) -> String {
    let of = match breaker.of {
        BreakerOf::Source => "as source",
        BreakerOf::Destination => "as destination",
        BreakerOf::Calls => "calls",
    };
    let BackOffView { until, reason, .. } = &breaker.back_off;
    match breaker.state {
        BreakerState::Open => {
            let until = style.clock(*until);
            format!("{of}: circuit breaker open until {until}: {reason}")
        }
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

fn kind(kind: HostKind) -> Option<&'static str> {
    match kind {
        HostKind::Unknown => None,
        HostKind::Cfw => Some("cfw"),
        HostKind::Reelyard { .. } => Some("reelyard"),
    }
}
