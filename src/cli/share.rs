//! `reelyard share`

use std::io::{self, Write};
use std::num::NonZeroU32;

use clap::{Args, Subcommand};
use comfy_table::Cell;
use reelyard_actors::clock::{Clock, Millis};
use reelyard_actors::share_expiry::{Moved, Note, OnlyIf, Owner, Revoked, ShareId, ShareState};
use reelyard_actors::wire::api::{
    HookShown, MoveShown, Page, Password, ReclaimView, Rfc3339, ShareShown, Ttl, WantedMove,
    WantedReclaim, WantedRevocation, WantedShare, WantedTerms,
};
use serde::Serialize;

use super::client::{Client, NodeArgs, PageArgs, filters};
use super::events;
use super::failure::Failure;
use super::output::{self, maybe, number, plain};
use super::share_tables::{show_hooks, show_moves};
use super::word;

#[derive(Debug, Args)]
pub struct ShareArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(subcommand)]
    command: ShareCommand,
}

#[derive(Debug, Subcommand)]
enum ShareCommand {
    /// Make a link to a file or a directory, and print it
    Create(CreateArgs),
    /// List the shares that have not ended
    List(ListArgs),
    /// Show one
    Show {
        /// Its id, or its link
        share: ShareRef,
    },
    /// Give one another deadline, or other terms
    Extend(ExtendArgs),
    /// Take shares back
    Revoke(RevokeArgs),
    /// Move or rename a file or directory: every link to it, and to what is in it, goes on
    Move(MoveArgs),
    /// List the moves in progress, and those of which only the disk knows what became of them
    Moves,
    /// Reclaim nothing for a while: links are refused at their deadlines all the same
    PauseReclaim,
    /// Reclaim what is due again
    ResumeReclaim,
    /// Print what happens to shares, until it is ended: of each what webhooks are told
    Events {
        /// Begin with the happening of this number; 0 for all that are kept
        #[arg(long, value_name = "NUMBER")]
        from: Option<u64>,
    },
    /// Show how many there are, what became of all, and how reclaim and webhooks stand
    Status,
}

/// A share, by its id or its link.
#[derive(Clone, Copy, Debug)]
struct ShareRef(ShareId);

impl std::str::FromStr for ShareRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = text.rsplit_once("/s/").map_or(text, |(_, id)| id);
        id.parse().map(ShareRef).map_err(|_| format!("\"{text}\" is neither an id nor a link"))
    }
}

#[derive(Debug, Args)]
struct TermArgs {
    /// How long it lasts, as in 7d, "1h 30m", or never
    #[arg(long)]
    ttl: Option<Ttl>,
    /// Until when it lasts, as in 2026-12-31T18:00:00+09:00
    #[arg(long, conflicts_with = "ttl", value_name = "INSTANT")]
    until: Option<Rfc3339>,
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// What: the name of a root, and the path below it, as in movies/new/a.mpg
    path: String,
    #[command(flatten)]
    term: TermArgs,
    /// Ask for a password, which is read from standard input
    #[arg(long)]
    password: bool,
    /// How many downloads it allows
    #[arg(long)]
    max_downloads: Option<NonZeroU32>,
    /// Whose it is
    #[arg(long, value_parser = Owner::new)]
    owner: Option<Owner>,
    /// A note, which whoever has the link does not see
    #[arg(long, value_parser = Note::new)]
    note: Option<Note>,
    /// Names the request: repeated under the same name it answers the same share
    #[arg(long)]
    request_id: Option<String>,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only those of this owner
    #[arg(long)]
    owner: Option<String>,
    /// Only those of this path, and of all below it
    #[arg(long)]
    path: Option<String>,
    /// Only those in this state: live, exhausted or due
    #[arg(long, value_parser = word::read::<ShareState>)]
    state: Option<ShareState>,
    /// Only those that are due before this instant
    #[arg(long, value_name = "INSTANT")]
    due_before: Option<Rfc3339>,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, Args)]
struct ExtendArgs {
    /// Its id, or its link
    share: ShareRef,
    #[command(flatten)]
    term: TermArgs,
    /// Only if its deadline is such: none, exists, greater (the new one is later) or less
    #[arg(long = "if", value_parser = word::read::<OnlyIf>)]
    only_if: Option<OnlyIf>,
    /// How many downloads it allows in all
    #[arg(long)]
    max_downloads: Option<NonZeroU32>,
}

#[derive(Debug, Args)]
struct RevokeArgs {
    /// Their ids, or their links
    #[arg(required_unless_present_any = ["owner", "path"])]
    shares: Vec<ShareRef>,
    /// All of this owner
    #[arg(long, value_parser = Owner::new, conflicts_with = "shares")]
    owner: Option<Owner>,
    /// All of this path, and of all below it
    #[arg(long, conflicts_with = "shares")]
    path: Option<String>,
    /// Cut downloads that are running
    #[arg(long)]
    hard: bool,
}

#[derive(Debug, Args)]
struct MoveArgs {
    /// What: the name of a root, and the path below it, as in movies/new/a.mpg
    from: String,
    /// Its new path, with its own name at the end, as in movies/old/a.mpg
    to: String,
    /// Overwrite what is there; its links end
    #[arg(long)]
    overwrite: bool,
    /// Names the request, so that repeating it is safe
    #[arg(long)]
    request_id: Option<String>,
}

/// Makes, lists and ends shares.
pub fn run(args: ShareArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let client = Client::new(&args.node)?;
    let json = args.node.json;
    match args.command {
        ShareCommand::Create(wanted) => {
            let share: ShareShown = client.post_body(&["shares"], &wanted.read()?)?;
            created(&share, json, out)
        }
        ShareCommand::List(wanted) => list(&client, &wanted, json, out),
        ShareCommand::Show { share } => {
            let share = client.get(&["shares", &share.0.to_string()], &[])?;
            show(&share, json, out)
        }
        ShareCommand::Extend(wanted) => {
            let path = ["shares", &wanted.share.0.to_string()];
            let terms = WantedTerms {
                ttl: wanted.term.ttl,
                expires_at: wanted.term.until,
                only_if: wanted.only_if,
                max_downloads: wanted.max_downloads.map(Some),
                ..WantedTerms::default()
            };
            show(&client.patch(&path, &terms)?, json, out)
        }
        ShareCommand::Revoke(wanted) => {
            let ids = wanted.shares.iter().map(|share| share.0).collect::<Vec<_>>();
            let ids = (!ids.is_empty()).then_some(ids);
            let RevokeArgs { owner, path, hard, .. } = wanted;
            let wanted = WantedRevocation { ids, owner, path, hard };
            let revoked: Revoked = client.post_body(&["shares", "revoke"], &wanted)?;
            if json {
                return Ok(output::json(&revoked, out)?);
            }
            let others = match revoked.others {
                0 => String::new(),
                others => format!("; {others} had ended before, or were never there"),
            };
            Ok(writeln!(out, "{} ended{others}", revoked.ended)?)
        }
        ShareCommand::Move(wanted) => {
            let MoveArgs { from, to, overwrite, request_id } = wanted;
            let wanted = WantedMove { from, to, overwrite, request_id };
            let moved: Moved = client.post_body(&["files", "move"], &wanted)?;
            if json {
                return Ok(output::json(&moved, out)?);
            }
            let ended = match moved.ended {
                0 => String::new(),
                ended => format!("; {ended} of what was there have ended"),
            };
            Ok(writeln!(out, "moved; {} shares have followed{ended}", moved.followed)?)
        }
        ShareCommand::Moves => {
            let moves: Page<MoveShown> = client.get(&["files", "moves"], &[])?;
            if json {
                return Ok(output::json(&moves.items, out)?);
            }
            show_moves(&moves.items, out)
        }
        ShareCommand::Events { from } => {
            // The first time, and behind whatever was heard from then on.
            let from = from.map(|from| from.to_string());
            let query: Vec<_> = from.iter().map(|from| ("from", from.as_str())).collect();
            events::follow(&client, &["shares", "events"], &query, String::new(), json, out)
        }
        ShareCommand::PauseReclaim => {
            status(&client.put(&["shares", "reclaim"], &WantedReclaim { paused: true })?, json, out)
        }
        ShareCommand::ResumeReclaim => {
            let wanted = WantedReclaim { paused: false };
            status(&client.put(&["shares", "reclaim"], &wanted)?, json, out)
        }
        ShareCommand::Status => {
            let reclaim = client.get(&["shares", "reclaim"], &[])?;
            let hooks: Page<HookShown> = client.get(&["shares", "hooks"], &[])?;
            if json {
                return Ok(output::json(&ShareStatus { reclaim, hooks: hooks.items }, out)?);
            }
            status(&reclaim, json, out)?;
            show_hooks(&hooks.items, out)
        }
    }
}

/// How shares and webhooks stand, for programs.
#[derive(Serialize)]
struct ShareStatus {
    #[serde(flatten)]
    reclaim: ReclaimView,
    hooks: Vec<HookShown>,
}

impl CreateArgs {
    fn read(self) -> Result<WantedShare, Failure> {
        Ok(WantedShare {
            path: self.path,
            ttl: self.term.ttl,
            expires_at: self.term.until,
            password: if self.password { Some(password()?) } else { None },
            max_downloads: self.max_downloads,
            owner: self.owner,
            note: self.note,
            request_id: self.request_id,
        })
    }
}

/// The first line of standard input: on a command line others would see it.
fn password() -> Result<Password, Failure> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(Password(line.trim_end_matches(['\n', '\r']).to_owned()))
}

fn created(share: &ShareShown, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if json {
        return Ok(output::json(share, out)?);
    }
    writeln!(out, "{}", share.url)?;
    let until = share.expires_at.map_or("never".to_owned(), |at| at.to_string());
    Ok(writeln!(out, "{} until {until}", plain(&share.path))?)
}

fn list(
    client: &Client,
    wanted: &ListArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let query = [
        ("owner", wanted.owner.clone()),
        ("path", wanted.path.clone()),
        ("state", wanted.state.map(word::of)),
        ("due_before", wanted.due_before.map(|at| at.to_string())),
    ];
    let page: Page<ShareShown> = client.list(&["shares"], &filters(&query), &wanted.page)?;
    if json {
        return Ok(output::json(&page, out)?);
    }
    let now = Clock::system().now();
    let mut table = output::table(&["ID", "PATH", "STATE", "ENDS IN", "DOWNLOADS", "OWNER"]);
    for share in &page.items {
        table.add_row([
            Cell::new(share.id),
            Cell::new(plain(&share.path)),
            Cell::new(word::of(share.state)),
            Cell::new(ends_in(share.expires_at, now)),
            downloads(share),
            maybe(share.owner.as_ref(), |owner| Cell::new(plain(owner.as_str()))),
        ]);
    }
    output::print(&table, out)?;
    Ok(output::more(&page, out)?)
}

fn show(share: &ShareShown, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if json {
        return Ok(output::json(share, out)?);
    }
    let mut table = output::table(&["", ""]);
    let mut row = |what: &str, value: String| {
        table.add_row([Cell::new(what), Cell::new(value)]);
    };
    row("link", share.url.clone());
    row("path", plain(&share.path));
    row("state", word::of(share.state));
    row("created", share.created_at.to_string());
    row("ends", share.expires_at.map_or("never".to_owned(), |at| at.to_string()));
    row("password", if share.has_password { "yes" } else { "no" }.to_owned());
    if let (Some(most), Some(taken)) = (share.max_downloads, share.downloads) {
        row("downloads", format!("{taken} of {most}"));
    }
    if let Some(owner) = &share.owner {
        row("owner", plain(owner.as_str()));
    }
    if let Some(note) = &share.note {
        row("note", plain(note.as_str()));
    }
    Ok(output::print(&table, out)?)
}

fn downloads(share: &ShareShown) -> Cell {
    match (share.downloads, share.max_downloads) {
        (Some(taken), Some(most)) => number(format!("{taken}/{most}")),
        _ => Cell::new("-"),
    }
}

/// How long something still lasts, in its two largest units.
fn ends_in(at: Option<Rfc3339>, now: Millis) -> String {
    match at {
        None => "never".to_owned(),
        Some(Rfc3339(at)) if at <= now => "due".to_owned(),
        Some(Rfc3339(at)) => output::age(now, at),
    }
}

fn status(view: &ReclaimView, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if json {
        return Ok(output::json(view, out)?);
    }
    if let Some(by) = &view.paused_by {
        writeln!(out, "reclaim is paused by {}; links are refused at their deadlines", plain(by))?;
    }
    let ReclaimView { shares, backlog, tombstones, totals, .. } = view;
    writeln!(out, "{shares} shares, {backlog} of them due; {tombstones} ended ones remembered")?;
    Ok(writeln!(
        out,
        "of {} created: {} expired, {} exhausted, {} revoked, {} removed, {} root gone, {} evicted",
        totals.created,
        totals.expired,
        totals.exhausted,
        totals.revoked,
        totals.removed,
        totals.root_gone,
        totals.evicted,
    )?)
}
