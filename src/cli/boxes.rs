//! `reelyard box`

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use reelyard_actors::box_lease::{
    BoxPhase, FenceToken, Holder, LeaseId, PoolName, Priority, Reason,
};
use reelyard_actors::wire::api::{
    AuditLine, BoxShown, Granted, LeaseEnded, LeaseShown, LeaseToken, LeaseTold, LeaseVerified,
    Page, Problem, Span, WaitShown, WantedLease, WantedLeaseRevocation, WantedQuarantine,
    WantedRenewal,
};
use serde::de::DeserializeOwned;

use super::box_run::{self, BecomeArgs, BoxRunArgs};
use super::box_tables;
use super::client::{Client, NodeArgs, PageArgs, filters};
use super::event_stream::Event;
use super::failure::Failure;
use super::output;
use super::pools::{self, PoolsArgs};
use super::word;

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
    /// Show a lease; of one that has ended, when and how
    Lease {
        /// Its id
        lease: LeaseId,
    },
    /// Wait for boxes and lease them: all that are asked for, or none
    Acquire(AcquireArgs),
    /// Have a lease last longer, from now on
    Renew {
        #[command(flatten)]
        lease: LeaseArgs,
        /// How long from now on; as long as it was asked for first if not given
        #[arg(long)]
        ttl: Option<Span>,
    },
    /// Give a box back
    Release(LeaseArgs),
    /// Tell whether a lease is valid
    Verify(LeaseArgs),
    /// Take a box away from its holder
    Revoke {
        /// The id of its lease
        lease: LeaseId,
        /// Why
        #[arg(long, value_parser = Reason::new)]
        reason: Option<Reason>,
    },
    /// List the boxes of a pool: where each stands, and who has it
    List(ListArgs),
    /// Show a box, and the evidence if it is out of use
    Show(PlaceArgs),
    /// Take a box out of use that nobody has
    Quarantine {
        #[command(flatten)]
        place: PlaceArgs,
        /// Why
        #[arg(long, value_parser = Reason::new)]
        reason: Reason,
    },
    /// Have a box cleaned that is out of use, to be used again
    Unquarantine(PlaceArgs),
    /// Show what happened to the boxes of a pool, or to one, newest first
    Audit(AuditArgs),
    /// Run a command that has a box for as long as it runs
    #[command(after_help = box_run::AFTER_HELP)]
    Run(BoxRunArgs),
    /// What `run` starts: it becomes the command
    #[command(hide = true)]
    Become(BecomeArgs),
}

/// A lease, by its id and its token.
#[derive(Debug, Args)]
struct LeaseArgs {
    /// Its id
    lease: LeaseId,
    /// Its fencing token; `--token` is another one, which the node shares with its clients
    #[arg(value_parser = fence, value_name = "FENCING_TOKEN")]
    fence: FenceToken,
}

/// A box, by its pool and its number.
#[derive(Debug, Args)]
struct PlaceArgs {
    /// The pool
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Its number
    number: u32,
}

#[derive(Debug, Args)]
struct LeasesArgs {
    /// The pool
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Only those of this holder
    #[arg(long, value_parser = Holder::new)]
    holder: Option<Holder>,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// The pool
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Only those that are free, unchecked, preparing, leased, draining or quarantined
    #[arg(long, value_parser = word::read::<BoxPhase>)]
    state: Option<BoxPhase>,
    #[command(flatten)]
    page: PageArgs,
}

/// What is asked for.
#[derive(Debug, Args)]
struct AcquireArgs {
    /// The pool
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Who wants them
    #[arg(long, value_parser = Holder::new)]
    holder: Holder,
    /// How long the lease lasts, as in 10s; as the pool says if not given
    #[arg(long)]
    ttl: Option<Span>,
    /// How long to wait, as in 10s; not at all if not given
    #[arg(long, default_value = "0s")]
    wait: Span,
    /// How urgent it is, from -100 to 100
    #[arg(long, default_value = "0", allow_negative_numbers = true, value_parser = priority)]
    priority: Priority,
    /// How many boxes
    #[arg(long, default_value_t = 1)]
    count: u32,
    /// Names this one request: repeated under the same name it answers the same leases, and is refused
    /// once one of them has ended
    #[arg(long)]
    request_id: Option<String>,
    /// Go on with what another holder was granted by the same request, which must have ended
    #[arg(long, requires = "request_id")]
    take_over: bool,
}

#[derive(Debug, Args)]
struct AuditArgs {
    /// The pool
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Only this box
    number: Option<u32>,
    /// Only leases of this holder
    #[arg(long, value_parser = Holder::new)]
    holder: Option<Holder>,
    /// Only the lease of this token, and what was run after it
    #[arg(long, value_name = "TOKEN")]
    fence: Option<u64>,
    /// Only what is of this kind, as in expired or clean_failed
    #[arg(long)]
    what: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

fn fence(text: &str) -> Result<FenceToken, std::num::ParseIntError> {
    text.parse().map(FenceToken)
}

pub fn priority(text: &str) -> Result<Priority, String> {
    let number: i64 = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    Priority::try_from(number).map_err(|bad| bad.to_string())
}

/// Leases boxes and looks after them.
pub fn run(args: BoxArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    match args.command {
        BoxCommand::Run(command) => return box_run::run(&args.node, command),
        BoxCommand::Become(command) => return Ok(box_run::become_command(command)),
        asks => ask(&args.node, asks, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(node: &NodeArgs, command: BoxCommand, out: &mut dyn Write) -> Result<(), Failure> {
    let (client, json) = (Client::new(node)?, node.json);
    match command {
        BoxCommand::Pools(args) => pools::run(args, &client, json, out),
        BoxCommand::Leases(wanted) => leases(&client, &wanted, json, out),
        BoxCommand::Lease { lease } => {
            let lease: LeaseShown = client.get(&["leases", &lease.to_string()], &[])?;
            told(&lease, json, out, box_tables::lease)
        }
        BoxCommand::Acquire(wanted) => {
            let (pool, wanted) = wanted.read();
            let granted = acquire(&client, &pool, &wanted)?;
            told(&granted, json, out, |granted, out| box_tables::told(&granted.leases, out))
        }
        BoxCommand::Renew { lease, ttl } => {
            let wanted = WantedRenewal { token: lease.fence, ttl };
            let lease: LeaseTold = lease.call(&client, "renew", &wanted)?;
            told(&lease, json, out, |lease, out| {
                Ok(writeln!(out, "box {} until {}", lease.box_id, lease.expires_at)?)
            })
        }
        BoxCommand::Release(lease) => {
            let wanted = LeaseToken { token: lease.fence };
            ended(&lease.call(&client, "release", &wanted)?, json, out)
        }
        BoxCommand::Verify(lease) => {
            let wanted = LeaseToken { token: lease.fence };
            let valid: LeaseVerified = lease.call(&client, "verify", &wanted)?;
            told(&valid, json, out, box_tables::verified)
        }
        BoxCommand::Revoke { lease, reason } => {
            let path = ["leases", &lease.to_string(), "revoke"];
            ended(&client.post_body(&path, &WantedLeaseRevocation { reason })?, json, out)
        }
        BoxCommand::List(wanted) => list(&client, &wanted, json, out),
        BoxCommand::Show(place) => {
            let number = place.number.to_string();
            let path = ["pools", place.pool.as_str(), "boxes", &number];
            told(&client.get(&path, &[])?, json, out, box_tables::one)
        }
        BoxCommand::Quarantine { place, reason } => {
            let number = place.number.to_string();
            let path = ["pools", place.pool.as_str(), "boxes", &number, "quarantine"];
            let shown = client.post_body(&path, &WantedQuarantine { reason })?;
            told(&shown, json, out, box_tables::one)
        }
        BoxCommand::Unquarantine(place) => {
            let number = place.number.to_string();
            let path = ["pools", place.pool.as_str(), "boxes", &number, "unquarantine"];
            told(&client.post(&path)?, json, out, box_tables::one)
        }
        BoxCommand::Audit(wanted) => audit(&client, &wanted, json, out),
        // They ask in their own way.
        BoxCommand::Run(_) | BoxCommand::Become(_) => Ok(()),
    }
}

impl LeaseArgs {
    fn call<T: DeserializeOwned>(
        &self,
        client: &Client,
        what: &str,
        wanted: &impl serde::Serialize,
    ) -> Result<T, Failure> {
        client.post_body(&["leases", &self.lease.to_string(), what], wanted)
    }
}

impl AcquireArgs {
    fn read(self) -> (PoolName, WantedLease) {
        let AcquireArgs { pool, holder, ttl, wait, priority, count, request_id, take_over } = self;
        (pool, WantedLease { holder, ttl, wait, priority, count, request_id, take_over })
    }
}

/// Waits for boxes. Whoever sits at a terminal sees how it goes.
pub fn acquire(client: &Client, pool: &PoolName, wanted: &WantedLease) -> Result<Granted, Failure> {
    let is_watched = io::stderr().is_terminal();
    client.post_and_follow(&["pools", pool.as_str(), "leases"], wanted, |event| {
        if let Some(problem) = read::<Problem>(&event, "refused") {
            return Err(client.refused(problem));
        }
        if let Some(granted) = read(&event, "granted") {
            return Ok(ControlFlow::Break(granted));
        }
        if let Some(wait) = read::<WaitShown>(&event, "waiting").filter(|_| is_watched) {
            let about = wait.estimate.map(|estimate| format!(", about {estimate}"));
            let about = about.unwrap_or_default();
            writeln!(io::stderr(), "waiting: place {}{about}", wait.position)?;
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// What an event of this kind says.
fn read<T: DeserializeOwned>(event: &Event, kind: &str) -> Option<T> {
    if event.kind == kind { serde_json::from_str(&event.data).ok() } else { None }
}

/// Tells an answer: as JSON, or for people.
fn told<T: serde::Serialize>(
    answer: &T,
    json: bool,
    out: &mut dyn Write,
    show: impl FnOnce(&T, &mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if json { Ok(output::json(answer, out)?) } else { show(answer, out) }
}

fn ended(lease: &LeaseEnded, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    told(lease, json, out, |lease, out| Ok(writeln!(out, "{}", word::of(lease.state))?))
}

fn leases(
    client: &Client,
    wanted: &LeasesArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let query = [("holder", wanted.holder.as_ref().map(ToString::to_string))];
    let path = ["pools", wanted.pool.as_str(), "leases"];
    let page: Page<LeaseShown> = client.list(&path, &filters(&query), &wanted.page)?;
    listed(&page, json, out, box_tables::leases)
}

fn list(
    client: &Client,
    wanted: &ListArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let query = [("state", wanted.state.map(word::of))];
    let path = ["pools", wanted.pool.as_str(), "boxes"];
    let page: Page<BoxShown> = client.list(&path, &filters(&query), &wanted.page)?;
    listed(&page, json, out, box_tables::boxes)
}

fn audit(
    client: &Client,
    wanted: &AuditArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
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
    listed(&page, json, out, box_tables::audit)
}

fn listed<T: serde::Serialize>(
    page: &Page<T>,
    json: bool,
    out: &mut dyn Write,
    show: impl FnOnce(&[T], &mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if json {
        return Ok(output::json(page, out)?);
    }
    show(&page.items, out)?;
    Ok(output::more(page, out)?)
}
