//! `reelyard share`

use std::io::Write;
use std::num::NonZeroU32;

use clap::{Args, Subcommand};
use reelyard_api::{
    FileMoveInfo, HookInfo, Page, ProblemKind, ReclaimView, Rfc3339, ShareInfo, Ttl, WantedMove,
    WantedReclaim, WantedShare, WantedTerms,
};
use reelyard_console::address::encoded;
use reelyard_console::pages::shares::SharesPageQuery;
use reelyard_core::event::RequestId;
use reelyard_shares::share_expiry::{Moved, OnlyIf, ShareNote, ShareOwner, ShareState};
use serde::Serialize;

use super::share_ref::ShareRef;
use super::share_revoke::{RevokeArgs, revoke};
use super::share_tables::{self, created, downloads_table, moves_table, show, show_hooks, status};
use crate::cli::client::{NodeArgs, NodeClient, PageArgs, ViewArgs, filters, web_query};
use crate::cli::output::Printer;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::{enum_word, password};
use crate::cli::yard_commands::events;

#[derive(Debug, Args)]
pub struct ShareArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(subcommand)]
    command: ShareCommand,
}

#[derive(Debug, Subcommand)]
enum ShareCommand {
    /// Create a link to a file or directory, and print it.
    Create(CreateArgs),
    /// List the shares that have not ended
    List(ShareListArgs),
    /// Show one share.
    Show {
        /// Id or link of the share.
        #[arg(allow_hyphen_values = true)]
        share: ShareRef,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// List the logged downloads of a share, newest first.
    Downloads {
        /// Id or link of the share.
        #[arg(allow_hyphen_values = true)]
        share: ShareRef,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Change the deadline or the number of downloads of a share.
    Extend(ExtendArgs),
    /// Revoke shares: the named ones, or all of an owner, a path, or both.
    Revoke(RevokeArgs),
    /// Move or rename a shared file or directory; all links to it keep working.
    Move(MoveArgs),
    /// List the moves in progress, and moves whose result only the disk shows.
    Moves {
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Pause the reclaim of ended shares. Links still stop at their deadlines.
    PauseReclaim,
    /// Resume the reclaim of ended shares.
    ResumeReclaim,
    /// Confirm that the wall clock is right: shares use it at once. If it is ahead, due shares are
    /// reclaimed. If it is behind, ended links that were not reclaimed may come back
    ConfirmClock,
    /// Print the events of shares, as webhooks get them, until you stop the command.
    Events {
        /// Start after the event of this number; 0 prints all stored events.
        #[arg(long, value_name = "NUMBER")]
        after: Option<u64>,
        /// The earlier name: start with the event of this number.
        #[arg(long, hide = true, conflicts_with = "after")]
        from: Option<u64>,
    },
    /// Show counts of shares, and the state of reclaim and webhooks.
    Status {
        #[command(flatten)]
        view: ViewArgs,
    },
}

#[derive(Debug, Args)]
struct TermArgs {
    /// Lifetime: 7d, "1h 30m" or never.
    #[arg(long)]
    ttl: Option<Ttl>,
    /// Deadline, for example 2026-12-31T18:00:00+09:00.
    #[arg(long, conflicts_with = "ttl", value_name = "INSTANT")]
    until: Option<Rfc3339>,
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// Name of a root and the path below it, for example movies/new/a.mpg.
    path: String,
    #[command(flatten)]
    term: TermArgs,
    /// Protect the link with a password; it is read from standard input.
    #[arg(long)]
    password: bool,
    /// Number of downloads that the link allows.
    #[arg(long)]
    max_downloads: Option<NonZeroU32>,
    /// Owner of the share.
    #[arg(long, value_parser = ShareOwner::new)]
    owner: Option<ShareOwner>,
    /// Note for operators; visitors of the link do not see it.
    #[arg(long, value_parser = ShareNote::new)]
    note: Option<ShareNote>,
    /// Idempotency key. A repeated request with the same key returns the same share.
    #[arg(long)]
    request_id: Option<String>,
}

#[derive(Debug, Args)]
struct ShareListArgs {
    /// Only shares of this owner.
    #[arg(long)]
    owner: Option<String>,
    /// Only shares of this path and below it.
    #[arg(long)]
    path: Option<String>,
    /// Only shares with this text in their path or owner.
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
    /// Only shares in this state.
    #[arg(long, value_parser = enum_word::parser::<ShareState>())]
    state: Option<ShareState>,
    /// Only shares with a deadline before this time.
    #[arg(long, value_name = "INSTANT")]
    due_before: Option<Rfc3339>,
    /// Only shares with a deadline at this time or later.
    #[arg(long, value_name = "INSTANT")]
    due_after: Option<Rfc3339>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("other").required(true).multiple(true)))]
struct ExtendArgs {
    /// Id or link of the share.
    #[arg(allow_hyphen_values = true)]
    share: ShareRef,
    /// Lifetime from now on: 7d, "1h 30m" or never.
    #[arg(long, group = "other")]
    ttl: Option<Ttl>,
    /// Deadline, for example 2026-12-31T18:00:00+09:00.
    #[arg(long, group = "other", conflicts_with = "ttl", value_name = "INSTANT")]
    until: Option<Rfc3339>,
    /// Condition for the change: the share has no deadline, has one, or the new deadline is later
    /// (default) or earlier.
    #[arg(long = "if", value_parser = enum_word::parser::<OnlyIf>())]
    only_if: Option<OnlyIf>,
    /// Number of downloads that the link allows in total.
    #[arg(long, group = "other")]
    max_downloads: Option<NonZeroU32>,
}

#[derive(Debug, Args)]
struct MoveArgs {
    /// Name of a root and the path below it, for example movies/new/a.mpg.
    from: String,
    /// New path with the name at its end, for example movies/old/a.mpg.
    to: String,
    /// Overwrite an existing file; its links end.
    #[arg(long)]
    overwrite: bool,
    /// Idempotency key, so that you can repeat the request safely.
    #[arg(long)]
    request_id: Option<String>,
}

/// Runs `reelyard share`.
pub fn run(args: ShareArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let node = args.node;
    let out = &mut node.output.printer(out);
    let client = NodeClient::new(&node)?;
    match args.command {
        ShareCommand::List(wanted) => {
            let web = wanted.web_page();
            wanted.view.show(&node, &web, out, |out| list(&client, &wanted, out))
        }
        ShareCommand::Moves { view } => view.show(&node, SharesPageQuery::path(), out, |out| {
            let moves: Page<FileMoveInfo> = client.get(&["files", "moves"], &[])?;
            if out.is_json() {
                return out.json(&moves.items);
            }
            Ok(out.table(&moves_table(&moves.items))?)
        }),
        ShareCommand::Downloads { share, page, view } => {
            let id = share.0.to_string();
            view.show(&node, &page_of(&id), out, |out| {
                let path = ["shares", &id, "downloads"];
                out.list(&client.list(&path, &[], &page)?, downloads_table)
            })
        }
        other => {
            out.refuse_csv()?;
            act(&node, &client, other, out)
        }
    }
}

/// The page of the console with a share.
fn page_of(id: &str) -> String {
    format!("{}/{}", SharesPageQuery::path(), encoded(id))
}

/// Shows or changes shares.
fn act(
    node: &NodeArgs,
    client: &NodeClient,
    command: ShareCommand,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    match command {
        ShareCommand::Create(wanted) => {
            let share: ShareInfo = client.post_body(&["shares"], &wanted.read()?)?;
            created(&share, out)
        }
        ShareCommand::Show { share, view } => {
            let id = share.0.to_string();
            view.show(node, &page_of(&id), out, |out| {
                show(&client.get(&["shares", &id], &[])?, out)
            })
        }
        ShareCommand::Extend(wanted) => extend(client, &wanted, out),
        ShareCommand::Revoke(wanted) => revoke(client, wanted, out),
        ShareCommand::Move(wanted) => move_file(client, wanted, out),
        ShareCommand::Events { after, from } => {
            // Used for the first request; reconnects continue after the last received event.
            let from = from.or(after.map(first_after)).map(|from| from.to_string());
            let query: Vec<_> = from.iter().map(|from| ("from", from.as_str())).collect();
            events::follow(client, &["shares", "events"], &query, String::new(), out)
        }
        ShareCommand::PauseReclaim => pause_reclaim(client, true, out),
        ShareCommand::ResumeReclaim => pause_reclaim(client, false, out),
        ShareCommand::ConfirmClock => status(&client.post(&["shares", "clock", "confirm"])?, out),
        ShareCommand::Status { view } => {
            view.show(node, SharesPageQuery::path(), out, |out| status_of_all(client, out))
        }
        // These are lists.
        ShareCommand::List(_) | ShareCommand::Moves { .. } | ShareCommand::Downloads { .. } => {
            Ok(())
        }
    }
}

/// The number of the first event after `number`. From 0 the API sends all stored events.
fn first_after(number: u64) -> u64 {
    if number == 0 { 0 } else { number.saturating_add(1) }
}

fn extend(
    client: &NodeClient,
    wanted: &ExtendArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let path = ["shares", &wanted.share.0.to_string()];
    let terms = wanted.terms();
    let only_later = wanted.only_if.is_none() && terms.only_if.is_some();
    match client.patch(&path, &terms) {
        Err(CommandFailure::Refused(mut problem))
            if only_later && problem.known_kind() == Some(ProblemKind::ConditionFailed) =>
        {
            problem.detail.push_str(
                ": its current deadline is not earlier; use --if less to set an earlier one",
            );
            Err(CommandFailure::Refused(problem))
        }
        changed => show(&changed?, out),
    }
}

fn move_file(
    client: &NodeClient,
    wanted: MoveArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let MoveArgs { from, to, overwrite, request_id } = wanted;
    let wanted = WantedMove { from, to, overwrite, request_id };
    let moved: Moved = client.post_body(&["files", "move"], &wanted)?;
    if out.is_json() {
        return out.json(&moved);
    }
    let ended = match moved.ended {
        0 => String::new(),
        ended => format!("; ended shares of the replaced file: {ended}"),
    };
    Ok(writeln!(out, "moved; shares that followed: {}{ended}", moved.followed)?)
}

fn pause_reclaim(
    client: &NodeClient,
    paused: bool,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    status(&client.put(&["shares", "reclaim"], &WantedReclaim { paused })?, out)
}

fn status_of_all(client: &NodeClient, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let reclaim: ReclaimView = client.get(&["shares", "reclaim"], &[])?;
    let hooks: Page<HookInfo> = client.get(&["shares", "hooks"], &[])?;
    if out.is_json() {
        return out.json(&ShareStatus { reclaim, hooks: hooks.items });
    }
    status(&reclaim, out)?;
    show_hooks(&hooks.items, out)
}

/// The state of shares as JSON.
#[derive(Serialize)]
struct ShareStatus {
    #[serde(flatten)]
    reclaim: ReclaimView,
    hooks: Vec<HookInfo>,
}

impl ExtendArgs {
    /// The wanted terms. A deadline can become earlier only with an explicit condition.
    fn terms(&self) -> WantedTerms {
        let has_term = self.ttl.is_some() || self.until.is_some();
        WantedTerms {
            ttl: self.ttl,
            expires_at: self.until,
            only_if: self.only_if.or(has_term.then_some(OnlyIf::Greater)),
            max_downloads: self.max_downloads.map(Some),
            ..WantedTerms::default()
        }
    }
}

impl CreateArgs {
    fn read(self) -> Result<WantedShare, CommandFailure> {
        // So that the request can be repeated after a lost answer.
        let made_up = || RequestId::random().to_string();
        Ok(WantedShare {
            path: self.path,
            ttl: self.term.ttl,
            expires_at: self.term.until,
            password: if self.password { Some(password::ask()?) } else { None },
            max_downloads: self.max_downloads,
            owner: self.owner,
            note: self.note,
            request_id: Some(self.request_id.unwrap_or_else(made_up)),
        })
    }
}

impl ShareListArgs {
    /// The page of the console with the same filter.
    fn web_page(&self) -> String {
        let filters = [
            ("q", self.contains.clone().or(self.path.clone()).or(self.owner.clone())),
            ("state", self.state.map(enum_word::of)),
        ];
        SharesPageQuery::parse(&web_query(&filters)).address()
    }
}

fn list(
    client: &NodeClient,
    wanted: &ShareListArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let query = [
        ("owner", wanted.owner.clone()),
        ("path", wanted.path.clone()),
        ("contains", wanted.contains.clone()),
        ("state", wanted.state.map(enum_word::of)),
        ("due_before", wanted.due_before.map(|at| at.to_string())),
        ("due_after", wanted.due_after.map(|at| at.to_string())),
    ];
    let page: Page<ShareInfo> = client.list(&["shares"], &filters(&query), &wanted.page)?;
    out.list(&page, share_tables::table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_start_after_a_number_and_0_means_all() {
        assert_eq!(first_after(0), 0);
        assert_eq!(first_after(2), 3);
        assert_eq!(first_after(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_deadline_becomes_earlier_only_on_request() {
        #[derive(clap::Parser)]
        struct Extend {
            #[command(flatten)]
            args: ExtendArgs,
        }
        // It looks like an option.
        let id = format!("-h{}", "A".repeat(20));
        let read = |options: &[&str]| {
            let words = [&["extend", &id], options].concat();
            <Extend as clap::Parser>::try_parse_from(words).map(|extend| extend.args.terms()).ok()
        };
        let only_if = |options: &[&str]| read(options).unwrap().only_if;
        assert_eq!(only_if(&["--ttl", "1h"]), Some(OnlyIf::Greater));
        assert_eq!(only_if(&["--until", "2026-12-31T18:00:00Z"]), Some(OnlyIf::Greater));
        assert_eq!(only_if(&["--ttl", "1h", "--if", "less"]), Some(OnlyIf::Less));
        assert_eq!(only_if(&["--max-downloads", "3"]), None);
        for nothing in [&[][..], &["--if", "less"]] {
            assert!(read(nothing).is_none(), "{nothing:?}");
        }
    }
}
