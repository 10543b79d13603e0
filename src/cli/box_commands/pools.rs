//! `reelyard box pools`

use std::collections::BTreeMap;
use std::io::Write;

use clap::{Args, Subcommand};
use reelyard_api::{Page, PoolAdoption, PoolInfo, PoolRemoval, Span, WantedPool, WantedSlots};
use reelyard_boxes::box_lease::PoolSpec;
use reelyard_console::pages::boxes::BoxesPageQuery;
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{BoxNumber, HooksName, PoolName, SlotId};

use super::box_tables;
use crate::cli::client::{NodeArgs, NodeClient, PageArgs, ViewArgs, web_query};
use crate::cli::output::Printer;
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct PoolsArgs {
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(subcommand)]
    command: Option<PoolsCommand>,
}

#[derive(Debug, Subcommand)]
enum PoolsCommand {
    /// Show a pool: its settings, the state of its boxes, and its counters.
    Show {
        /// Name of the pool.
        #[arg(value_parser = PoolName::new)]
        pool: PoolName,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Create or change a pool. Options that you omit keep their value, or their default in a new
    /// pool.
    Put(Box<PutArgs>),
    /// Remove a pool. It grants no more boxes and disappears with its last lease.
    Remove {
        /// Name of the pool.
        #[arg(value_parser = PoolName::new)]
        pool: PoolName,
        /// Revoke its leases instead of waiting for their end.
        #[arg(long)]
        revoke: bool,
    },
    /// Assign the boxes on the pool's host to this pool. Use it when the host knows them as boxes
    /// of a removed pool or a replaced cluster. A pool that still uses them loses them.
    Adopt {
        /// Name of the pool.
        #[arg(value_parser = PoolName::new)]
        pool: PoolName,
    },
    /// Let the host check the free boxes before they are granted.
    Recheck {
        /// Name of the pool.
        #[arg(value_parser = PoolName::new)]
        pool: PoolName,
    },
}

#[derive(Debug, Args)]
struct PutArgs {
    /// Name of the pool.
    #[arg(value_parser = PoolName::new)]
    pool: PoolName,
    /// Number of boxes; required for a new pool.
    #[arg(long)]
    size: Option<u32>,
    /// Number of the first box.
    #[arg(long)]
    first_id: Option<u32>,
    /// Range of the ids that holders see, for example 1000..1500, so that a late holder cannot
    /// use the box of another one. "none": the number of the box is its id.
    #[arg(long, value_parser = slots, value_name = "FIRST..END")]
    slots: Option<ValueOrNone<(SlotId, u32)>>,
    /// Time before an id is used again after its lease ended.
    #[arg(long)]
    slots_rest: Option<Span>,
    /// Worker that runs the hooks of the boxes. "none": a pool without hooks.
    #[arg(long, value_parser = given::<HostAddr>)]
    host: Option<ValueOrNone<HostAddr>>,
    /// Name of the hooks in the worker's configuration. "none": the name of the pool.
    #[arg(long, value_parser = hooks)]
    hooks: Option<ValueOrNone<HooksName>>,
    /// Label, for example site=a. Repeatable. The given labels replace all labels of the pool.
    #[arg(long = "label", value_parser = label, value_name = "KEY=VALUE")]
    labels: Vec<(String, String)>,
    /// Default lifetime of a lease.
    #[arg(long)]
    ttl_default: Option<Span>,
    /// Longest lifetime of a lease without a renewal.
    #[arg(long)]
    ttl_max: Option<Span>,
    /// Longest time that one lease may hold a box. "none": no limit.
    #[arg(long, value_parser = given::<Span>)]
    max_hold: Option<ValueOrNone<Span>>,
    /// Pause before the box of an expired or revoked lease is cleaned.
    #[arg(long)]
    grace: Option<Span>,
    /// Largest number of waiting requests.
    #[arg(long)]
    queue_limit: Option<u32>,
    /// Largest number of boxes that one holder has or waits for. 0: no limit.
    #[arg(long)]
    quota: Option<u32>,
    /// After this wait a request counts like one of the next higher priority.
    #[arg(long)]
    priority_ages: Option<Span>,
    /// Number of failed cleanups after which a box is quarantined.
    #[arg(long)]
    clean_attempts: Option<u32>,
    /// First pause before a failed cleanup is tried again.
    #[arg(long)]
    clean_again_after: Option<Span>,
    /// Longest pause before a failed cleanup is tried again.
    #[arg(long)]
    clean_again_at_most: Option<Span>,
}

/// A new value, or the removal of the setting.
#[derive(Clone, Debug)]
enum ValueOrNone<T> {
    This(T),
    None,
}

/// The word that removes a setting.
const NONE: &str = "none";

impl<T> ValueOrNone<T> {
    fn or(given: Option<Self>, before: Option<T>) -> Option<T> {
        match given {
            Some(ValueOrNone::This(value)) => Some(value),
            Some(ValueOrNone::None) => None,
            None => before,
        }
    }
}

fn given<T>(text: &str) -> Result<ValueOrNone<T>, String>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    if text == NONE {
        return Ok(ValueOrNone::None);
    }
    text.parse().map(ValueOrNone::This).map_err(|bad: T::Err| bad.to_string())
}

fn hooks(text: &str) -> Result<ValueOrNone<HooksName>, String> {
    if text == NONE {
        return Ok(ValueOrNone::None);
    }
    HooksName::new(text).map(ValueOrNone::This).map_err(|bad| bad.to_string())
}

fn slots(text: &str) -> Result<ValueOrNone<(SlotId, u32)>, String> {
    if text == NONE {
        return Ok(ValueOrNone::None);
    }
    let bad = || {
        format!(
            "\"{text}\" is not a range: expected FIRST..END such as 1000..1500; END is not included"
        )
    };
    let (first, end) = text.split_once("..").ok_or_else(bad)?;
    let (first, end): (u32, u32) =
        (first.parse().map_err(|_| bad())?, end.parse().map_err(|_| bad())?);
    let count = end.checked_sub(first).filter(|count| *count > 0).ok_or_else(bad)?;
    Ok(ValueOrNone::This((SlotId(first), count)))
}

fn label(text: &str) -> Result<(String, String), String> {
    let bad = || format!("\"{text}\" is not a label: expected KEY=VALUE such as site=a");
    let (key, value) = text.split_once('=').ok_or_else(bad)?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Runs `reelyard box pools`.
pub fn run(
    args: PoolsArgs,
    node: &NodeArgs,
    client: &NodeClient,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let Some(command) = args.command else {
        return args.view.show(node, BoxesPageQuery::path(), out, |out| {
            let page: Page<PoolInfo> = client.list(&["pools"], &[], &args.page)?;
            out.list(&page, box_tables::pools)
        });
    };
    out.refuse_csv()?;
    match command {
        PoolsCommand::Show { pool, view } => {
            let of_pool = [("pool", Some(pool.to_string()))];
            let web = BoxesPageQuery::parse(&web_query(&of_pool)).address();
            view.show(node, &web, out, |out| {
                print_pool(&client.get(&["pools", pool.as_str()], &[])?, out)
            })
        }
        PoolsCommand::Put(wanted) => print_pool(&put(*wanted, client)?, out),
        PoolsCommand::Remove { pool, revoke } => {
            let revoke = if revoke { "true" } else { "false" };
            let path = ["pools", pool.as_str()];
            let removal: PoolRemoval = client.remove_with(&path, &[("revoke", revoke)])?;
            if out.is_json() {
                return out.json(&removal);
            }
            let message = if removal.gone {
                "the pool was removed"
            } else {
                "the pool disappears with its last box"
            };
            Ok(writeln!(out, "{message}")?)
        }
        PoolsCommand::Adopt { pool } => {
            let adoption: PoolAdoption = client.post(&["pools", pool.as_str(), "adopt"])?;
            if out.is_json() {
                return out.json(&adoption);
            }
            let from: Vec<&str> = adoption.from.iter().map(PoolName::as_str).collect();
            let from = match from[..] {
                [] => "no other pool had them".to_owned(),
                _ => format!("taken from {}", from.join(", ")),
            };
            Ok(writeln!(out, "the boxes on its host now belong to pool {pool}: {from}")?)
        }
        PoolsCommand::Recheck { pool } => {
            client.post_for_nothing(&["pools", pool.as_str(), "recheck"], &[])
        }
    }
}

fn print_pool(pool: &PoolInfo, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if out.is_json() { out.json(pool) } else { box_tables::pool(pool, out) }
}

fn put(wanted: PutArgs, client: &NodeClient) -> Result<PoolInfo, CommandFailure> {
    let pool = wanted.pool.clone();
    let path = ["pools", pool.as_str()];
    let before: Option<PoolInfo> = match client.get(&path, &[]) {
        Ok(known) => Some(known),
        Err(CommandFailure::Refused(problem)) if problem.status == 404 => None,
        Err(failure) => return Err(failure),
    };
    let before = match (before, wanted.size) {
        (Some(known), _) => known.spec,
        (None, Some(size)) => WantedPool::from(&PoolSpec::of(0, size)),
        (None, None) => {
            return Err(CommandFailure::Usage(format!(
                "--size is required: pool {pool} does not exist yet"
            )));
        }
    };
    client.put(&path, &wanted.over(before)?)
}

impl PutArgs {
    /// Applies the given options to the existing settings.
    fn over(self, before: WantedPool) -> Result<WantedPool, CommandFailure> {
        let slots = match (self.slots, before.slots) {
            (Some(ValueOrNone::This((first, count))), before) => {
                let rest = before.map(|before| before.rest).unwrap_or_default();
                Some(WantedSlots { first, count, rest })
            }
            (Some(ValueOrNone::None), _) => None,
            (None, before) => before,
        };
        let slots = match (slots, self.slots_rest) {
            (Some(slots), Some(rest)) => Some(WantedSlots { rest, ..slots }),
            (None, Some(_)) => {
                return Err(CommandFailure::Usage("--slots-rest: requires --slots".into()));
            }
            (slots, None) => slots,
        };
        let labels: BTreeMap<String, String> = self.labels.into_iter().collect();
        Ok(WantedPool {
            size: self.size.unwrap_or(before.size),
            first_id: self.first_id.map_or(before.first_id, BoxNumber),
            slots,
            host: ValueOrNone::or(self.host, before.host),
            hooks: ValueOrNone::or(self.hooks, before.hooks),
            labels: if labels.is_empty() { before.labels } else { labels },
            ttl_default: self.ttl_default.unwrap_or(before.ttl_default),
            ttl_max: self.ttl_max.unwrap_or(before.ttl_max),
            max_hold: ValueOrNone::or(self.max_hold, before.max_hold),
            grace: self.grace.unwrap_or(before.grace),
            queue_limit: self.queue_limit.unwrap_or(before.queue_limit),
            quota: self.quota.unwrap_or(before.quota),
            priority_ages: self.priority_ages.unwrap_or(before.priority_ages),
            clean_attempts: self.clean_attempts.unwrap_or(before.clean_attempts),
            clean_again_after: self.clean_again_after.unwrap_or(before.clean_again_after),
            clean_again_at_most: self.clean_again_at_most.unwrap_or(before.clean_again_at_most),
        })
    }
}
