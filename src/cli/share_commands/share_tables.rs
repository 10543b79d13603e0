//! Output of `reelyard share`: shares, webhooks and moves.

use std::io::Write;

use comfy_table::Cell;
use reelyard_api::{DownloadInfo, FileMoveInfo, HookInfo, Page, ReclaimView, Rfc3339, ShareInfo};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::counted::counted;

use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, maybe, number, plain};

pub(in crate::cli) fn show_hooks(
    hooks: &[HookInfo],
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    if hooks.is_empty() {
        return Ok(());
    }
    let now = Clock::system().now();
    let header = ["HOOK", "DELIVERED", "FAILED TRIES", "DROPPED", "BACKLOG", "OLDEST", "STATE"];
    let mut table = output::table(&header);
    for hook in hooks {
        table.add_row([
            Cell::new(&hook.name),
            number(hook.delivered),
            number(hook.failed_tries),
            number(hook.dropped),
            number(hook.backlog),
            maybe(hook.oldest, |at| Cell::new(output::age(at, now))),
            Cell::new(hook_state(hook, now)),
        ]);
    }
    Ok(output::print(&table, out)?)
}

pub(in crate::cli) fn show_downloads(
    page: &Page<DownloadInfo>,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    if json {
        return Ok(output::json(page, out)?);
    }
    let mut table = output::table(&["TIME", "ADDRESS", "PART", "STATUS", "SIZE", "USER AGENT"]);
    for download in &page.items {
        table.add_row([
            Cell::new(plain(&download.at)),
            Cell::new(plain(&download.address)),
            Cell::new(plain(&download.part)),
            number(download.status),
            output::size(download.bytes),
            maybe(download.user_agent.as_deref(), |agent| Cell::new(plain(agent))),
        ]);
    }
    output::print(&table, out)?;
    Ok(output::more(page, out)?)
}

pub(in crate::cli) fn show_moves(
    moves: &[FileMoveInfo],
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let now = Clock::system().now();
    let mut table = output::table(&["NUMBER", "FROM", "TO", "ASKED BY", "SINCE", "WHY"]);
    for unsettled in moves {
        let FileMoveInfo { from, to, asked_by, since: Rfc3339(since), why, .. } = unsettled;
        table.add_row([
            number(unsettled.number),
            Cell::new(plain(from)),
            Cell::new(plain(to)),
            Cell::new(plain(asked_by)),
            Cell::new(output::age(*since, now)),
            maybe(why.as_deref(), |why| Cell::new(plain(why))),
        ]);
    }
    Ok(output::print(&table, out)?)
}

fn hook_state(hook: &HookInfo, now: Millis) -> String {
    match &hook.failing {
        Some(failing) => {
            let (reason, again) = (plain(&failing.reason), failing.tried_again);
            format!("fails: {reason}; next try in {}", output::age(now, again))
        }
        None if !hook.is_active => "sent by the leader".to_owned(),
        None if hook.delivered_up_to.is_none() => "starting".to_owned(),
        None => "works".to_owned(),
    }
}

/// Prints a new share. Only its link goes to standard output, so that a script can use it.
pub fn created(share: &ShareInfo, json: bool, out: &mut dyn Write) -> Result<(), CommandFailure> {
    if json {
        return Ok(output::json(share, out)?);
    }
    writeln!(out, "{}", share.url)?;
    let ends = share.expires_at.map_or("without a deadline".to_owned(), |at| format!("until {at}"));
    eprintln!("{} {ends}", plain(&share.path));
    Ok(())
}

/// Prints all properties of a share.
pub fn show(share: &ShareInfo, json: bool, out: &mut dyn Write) -> Result<(), CommandFailure> {
    if json {
        return Ok(output::json(share, out)?);
    }
    let mut table = output::table(&["", ""]);
    let mut row = |what: &str, value: String| {
        table.add_row([Cell::new(what), Cell::new(value)]);
    };
    row("link", share.url.clone());
    row("path", plain(&share.path));
    row("state", enum_word::of(share.state));
    row("created", share.created_at.to_string());
    row("ends", share.expires_at.map_or("never".to_owned(), |at| at.to_string()));
    row("password", if share.has_password { "yes" } else { "no" }.to_owned());
    let downloads = match (share.max_downloads, share.downloads) {
        (Some(most), Some(taken)) => format!("{taken} of {most}"),
        _ => format!("{} since the node started, no limit", share.uses),
    };
    row("downloads", downloads);
    if let Some(owner) = &share.owner {
        row("owner", plain(owner.as_str()));
    }
    if let Some(note) = &share.note {
        row("note", plain(note.as_str()));
    }
    Ok(output::print(&table, out)?)
}

/// Downloads taken and allowed; without a limit, the downloads since the node started.
pub fn downloads(share: &ShareInfo) -> Cell {
    match (share.downloads, share.max_downloads) {
        (Some(taken), Some(most)) => number(format!("{taken}/{most}")),
        _ => number(share.uses),
    }
}

/// The remaining time in its two largest units.
pub fn ends_in(at: Option<Rfc3339>, now: Millis) -> String {
    match at {
        None => "never".to_owned(),
        Some(Rfc3339(at)) if at <= now => "due".to_owned(),
        Some(Rfc3339(at)) => output::age(now, at),
    }
}

/// Prints the state of shares and their reclaim.
pub fn status(view: &ReclaimView, json: bool, out: &mut dyn Write) -> Result<(), CommandFailure> {
    if json {
        return Ok(output::json(view, out)?);
    }
    if let Some(by) = &view.paused_by {
        writeln!(out, "reclaim is paused by {}; links are refused at their deadlines", plain(by))?;
    }
    if let Some(trouble) = &view.clock {
        writeln!(out, "{}", plain(trouble))?;
    }
    let ReclaimView { shares, backlog, tombstones, totals, .. } = view;
    let shares = counted(shares, "share", "shares");
    let tombstones = counted(tombstones, "tombstone", "tombstones");
    writeln!(out, "{shares}, {backlog} of them past their deadline; {tombstones}")?;
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
