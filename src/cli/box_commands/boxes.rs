//! `reelyard box`

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use reelyard_api::{
    AuditLine, BoxInfo, BoxLogKind, Granted, GrantedLease, LeaseEnded, LeaseInfo, LeaseToken,
    LeaseVerified, Page, Problem, QueueWait, Span, WantedLease, WantedLeaseRevocation,
    WantedQuarantine, WantedRenewal,
};
use reelyard_boxes::box_lease::{BoxPhase, LeaseEnd};
use reelyard_console::pages::boxes::BoxesPageQuery;
use reelyard_protocol::boxes::{FenceToken, Holder, LeaseId, PoolName, Reason};
use serde::de::DeserializeOwned;

use super::box_run::{self, BecomeArgs, BoxRunArgs};
use super::box_tables;
use super::lease_options::LeaseOptions;
use super::option_values::fence;
use super::pools::{self, PoolsArgs};
use crate::box_client;
use crate::cli::client::{
    NodeArgs, NodeClient, PageArgs, ServerSentEvent, ViewArgs, filters, web_query,
};
use crate::cli::output::Printer;
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct BoxArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(subcommand)]
    command: BoxCommand,
}

#[derive(Debug, Subcommand)]
enum BoxCommand {
    /// List, show, create, change and remove pools
    Pools(PoolsArgs),
    /// List the live leases of a pool
    Leases(LeasesArgs),
    /// Show a lease; for an ended one, when and how it ended.
    Lease {
        /// Id of the lease.
        lease: LeaseId,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Lease boxes, and wait for them if needed: all requested boxes or none.
    Acquire(AcquireArgs),
    /// Renew a lease from now on.
    Renew {
        #[command(flatten)]
        lease: LeaseArgs,
        /// New lifetime from now on [default: the lifetime of the first request].
        #[arg(long)]
        ttl: Option<Span>,
    },
    /// Release a lease: give its box back.
    Release(LeaseArgs),
    /// Check whether a lease is valid.
    Verify(LeaseArgs),
    /// Revoke a lease: take its box from the holder.
    Revoke {
        /// Id of the lease.
        lease: LeaseId,
        /// Reason, for the audit.
        #[arg(long, value_parser = Reason::new)]
        reason: Option<Reason>,
    },
    /// List the boxes of a pool with their state and holder.
    List(BoxListArgs),
    /// Show a box; for a quarantined one also the evidence.
    Show {
        #[command(flatten)]
        place: BoxNumberArgs,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Quarantine a free box.
    Quarantine {
        #[command(flatten)]
        place: BoxNumberArgs,
        /// Reason, for the audit.
        #[arg(long, value_parser = Reason::new)]
        reason: Reason,
    },
    /// Clean a quarantined box and use it again.
    Unquarantine(BoxNumberArgs),
    /// Show the audit of a pool or of one box, newest first.
    Audit(AuditArgs),
    /// Run a command that holds a box while it runs.
    #[command(after_help = box_run::AFTER_HELP)]
    Run(BoxRunArgs),
    /// Become the command of a lease. Only `reelyard box run` starts this.
    #[command(hide = true)]
    Become(BecomeArgs),
}

/// A lease, by id and fencing token.
#[derive(Debug, Args)]
struct LeaseArgs {
    /// Id of the lease.
    lease: LeaseId,
    /// Fencing token of the lease. The option --token is the API token.
    #[arg(value_parser = fence, value_name = "FENCE")]
    fence: FenceToken,
}

/// A box, by pool and number.
#[derive(Debug, Args)]
struct BoxNumberArgs {
    /// Name of the pool.
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Number of the box.
    number: u32,
}

#[derive(Debug, Args)]
struct LeasesArgs {
    /// Name of the pool.
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Only leases of this holder.
    #[arg(long, value_parser = Holder::new)]
    holder: Option<Holder>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Debug, Args)]
struct BoxListArgs {
    /// Name of the pool.
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Only boxes in this state.
    #[arg(long, value_parser = enum_word::parser::<BoxPhase>())]
    state: Option<BoxPhase>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    view: ViewArgs,
}

/// Options of `reelyard box acquire`.
#[derive(Debug, Args)]
struct AcquireArgs {
    /// Name of the pool.
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Name of the holder.
    #[arg(long, value_parser = Holder::new)]
    holder: Holder,
    /// Number of boxes.
    #[arg(long, default_value_t = 1)]
    count: u32,
    #[command(flatten)]
    options: LeaseOptions,
}

/// The kinds of audit entries: the ends of leases, and the events of boxes.
fn audit_kinds() -> PossibleValuesParser {
    let ends = LeaseEnd::ALL.map(LeaseEnd::word);
    // The failure of a preparation ends a lease and is an event of its box.
    let events = enum_word::words::<BoxLogKind>().iter().copied();
    let others = events.filter(|word| !ends.contains(word));
    PossibleValuesParser::new(ends.into_iter().chain(others))
}

#[derive(Debug, Args)]
struct AuditArgs {
    /// Name of the pool.
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Number of the box [default: all boxes].
    number: Option<u32>,
    /// Only leases of this holder
    #[arg(long, value_parser = Holder::new)]
    holder: Option<Holder>,
    /// Only the lease with this fencing token, and its cleanups.
    #[arg(long, value_name = "TOKEN")]
    fence: Option<u64>,
    /// Only entries of this kind.
    #[arg(long, value_parser = audit_kinds())]
    what: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    view: ViewArgs,
}

/// Runs `reelyard box`.
pub fn run(args: BoxArgs, out: &mut dyn Write) -> Result<ExitCode, CommandFailure> {
    match args.command {
        BoxCommand::Run(command) => return box_run::run(&args.node, command),
        BoxCommand::Become(command) => return Ok(box_run::become_command(command)),
        asks => ask(&args.node, asks, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(node: &NodeArgs, command: BoxCommand, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut node.output.printer(out);
    let client = NodeClient::new(node)?;
    match command {
        BoxCommand::Pools(args) => pools::run(args, node, &client, out),
        BoxCommand::Leases(wanted) => {
            let web = page_of(&wanted.pool, None);
            wanted.view.show(node, &web, out, |out| leases(&client, &wanted, out))
        }
        BoxCommand::List(wanted) => {
            let web = page_of(&wanted.pool, None);
            wanted.view.show(node, &web, out, |out| list(&client, &wanted, out))
        }
        BoxCommand::Audit(wanted) => {
            let web = page_of(&wanted.pool, wanted.number);
            wanted.view.show(node, &web, out, |out| audit(&client, &wanted, out))
        }
        other => {
            out.refuse_csv()?;
            ask_for_one(node, &client, other, out)
        }
    }
}

/// The page of the console with a pool, and a box of it.
fn page_of(pool: &PoolName, number: Option<u32>) -> String {
    let filters =
        [("pool", Some(pool.to_string())), ("number", number.map(|number| number.to_string()))];
    BoxesPageQuery::parse(&web_query(&filters)).address()
}

/// Shows or changes one lease or one box.
fn ask_for_one(
    node: &NodeArgs,
    client: &NodeClient,
    command: BoxCommand,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    match command {
        BoxCommand::Lease { lease, view } => view.show(node, BoxesPageQuery::path(), out, |out| {
            let lease: LeaseInfo = client.get(&["leases", &lease.to_string()], &[])?;
            print_answer(&lease, out, box_tables::lease)
        }),
        BoxCommand::Acquire(wanted) => {
            let AcquireArgs { pool, holder, count, options } = wanted;
            let granted = acquire(client, &pool, &options.request(holder, count))?;
            print_answer(&granted, out, |granted, out| {
                Ok(out.table(&box_tables::granted_leases(&granted.leases))?)
            })
        }
        BoxCommand::Renew { lease, ttl } => {
            let wanted = WantedRenewal { token: lease.fence, ttl };
            let lease: GrantedLease = lease.call(client, "renew", &wanted)?;
            print_answer(&lease, out, |lease, out| {
                let until = out.clock(lease.expires_at.0);
                Ok(writeln!(out, "box {} until {until}", lease.box_id)?)
            })
        }
        BoxCommand::Release(lease) => {
            let wanted = LeaseToken { token: lease.fence };
            ended(&lease.call(client, "release", &wanted)?, out)
        }
        BoxCommand::Verify(lease) => {
            let wanted = LeaseToken { token: lease.fence };
            let valid: LeaseVerified = lease.call(client, "verify", &wanted)?;
            print_answer(&valid, out, box_tables::verified)
        }
        BoxCommand::Revoke { lease, reason } => {
            let path = ["leases", &lease.to_string(), "revoke"];
            ended(&client.post_body(&path, &WantedLeaseRevocation { reason })?, out)
        }
        BoxCommand::Show { place, view } => {
            let number = place.number.to_string();
            let path = ["pools", place.pool.as_str(), "boxes", &number];
            view.show(node, &page_of(&place.pool, Some(place.number)), out, |out| {
                print_answer(&client.get(&path, &[])?, out, box_tables::one)
            })
        }
        BoxCommand::Quarantine { place, reason } => {
            let number = place.number.to_string();
            let path = ["pools", place.pool.as_str(), "boxes", &number, "quarantine"];
            let answer = client.post_body(&path, &WantedQuarantine { reason })?;
            print_answer(&answer, out, box_tables::one)
        }
        BoxCommand::Unquarantine(place) => {
            let number = place.number.to_string();
            let path = ["pools", place.pool.as_str(), "boxes", &number, "unquarantine"];
            print_answer(&client.post(&path)?, out, box_tables::one)
        }
        // These are lists, or make their own calls.
        BoxCommand::Pools(_)
        | BoxCommand::Leases(_)
        | BoxCommand::List(_)
        | BoxCommand::Audit(_)
        | BoxCommand::Run(_)
        | BoxCommand::Become(_) => Ok(()),
    }
}

impl LeaseArgs {
    fn call<T: DeserializeOwned>(
        &self,
        client: &NodeClient,
        what: &str,
        wanted: &impl serde::Serialize,
    ) -> Result<T, CommandFailure> {
        client.post_body(&["leases", &self.lease.to_string(), what], wanted)
    }
}

/// Waits for boxes. On a terminal it shows the progress.
pub fn acquire(
    client: &NodeClient,
    pool: &PoolName,
    wanted: &WantedLease,
) -> Result<Granted, CommandFailure> {
    let is_watched = io::stderr().is_terminal();
    let wanted = box_client::named(wanted.clone()).map_err(anyhow::Error::from)?;
    let (until, is_first) = (box_client::end_of_wait(&wanted), AtomicBool::new(true));
    let body = || box_client::body_until(&wanted, until, &is_first);
    client.post_and_follow(&["pools", pool.as_str(), "leases"], body, until, |event| {
        if let Some(problem) = read::<Problem>(&event, "refused") {
            let is_passing = problem.is_of_this_node() || problem.leaves_outcome_open();
            let failure = client.refused(problem);
            return if is_passing { Err(failure) } else { Ok(ControlFlow::Break(Err(failure))) };
        }
        if let Some(granted) = read(&event, "granted") {
            return Ok(ControlFlow::Break(Ok(granted)));
        }
        if let Some(wait) = read::<QueueWait>(&event, "waiting").filter(|_| is_watched) {
            let about = wait.estimate.map(|estimate| format!(", about {estimate}"));
            let about = about.unwrap_or_default();
            writeln!(io::stderr(), "waiting: place {}{about}", wait.position)?;
        }
        Ok(ControlFlow::Continue(()))
    })?
}

/// Parses the data of an event, if it has this kind.
fn read<T: DeserializeOwned>(event: &ServerSentEvent, kind: &str) -> Option<T> {
    if event.kind == kind { serde_json::from_str(&event.data).ok() } else { None }
}

/// Prints an answer as JSON or in words.
fn print_answer<T: serde::Serialize>(
    answer: &T,
    out: &mut Printer<'_>,
    show: impl FnOnce(&T, &mut Printer<'_>) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    if out.is_json() { out.json(answer) } else { show(answer, out) }
}

fn ended(lease: &LeaseEnded, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    print_answer(lease, out, |lease, out| Ok(writeln!(out, "{}", enum_word::of(lease.state))?))
}

fn leases(
    client: &NodeClient,
    wanted: &LeasesArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let query = [("holder", wanted.holder.as_ref().map(ToString::to_string))];
    let path = ["pools", wanted.pool.as_str(), "leases"];
    let page: Page<LeaseInfo> = client.list(&path, &filters(&query), &wanted.page)?;
    out.list(&page, box_tables::leases)
}

fn list(
    client: &NodeClient,
    wanted: &BoxListArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let query = [("state", wanted.state.map(enum_word::of))];
    let path = ["pools", wanted.pool.as_str(), "boxes"];
    let page: Page<BoxInfo> = client.list(&path, &filters(&query), &wanted.page)?;
    out.list(&page, box_tables::boxes)
}

fn audit(
    client: &NodeClient,
    wanted: &AuditArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let query = [
        ("holder", wanted.holder.as_ref().map(ToString::to_string)),
        ("token", wanted.fence.map(|token| token.to_string())),
        ("what", wanted.what.clone()),
    ];
    let number = wanted.number.map(|number| number.to_string());
    let path = match &number {
        Some(number) => vec!["pools", wanted.pool.as_str(), "boxes", number, "audit"],
        None => vec!["pools", wanted.pool.as_str(), "audit"],
    };
    let page: Page<AuditLine> = client.list(&path, &filters(&query), &wanted.page)?;
    out.list(&page, box_tables::audit)
}
