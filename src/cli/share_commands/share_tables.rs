//! Output of `reelyard share`: shares, webhooks and moves.

use std::io::Write;

use reelyard_api::{DownloadInfo, FileMoveInfo, HookInfo, ReclaimView, Rfc3339, ShareInfo};
use reelyard_core::counted::counted;

use crate::cli::output::cell::{count, maybe, state, text};
use crate::cli::output::{
    DetailSheet, ListCell, ListColumn, ListTable, PrintStyle, Printer, plain,
};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;

/// The table of shares.
pub fn table(shares: &[ShareInfo], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("ID"),
        ListColumn::name("PATH"),
        ListColumn::left("STATE"),
        ListColumn::left("ENDS IN"),
        ListColumn::right("DOWNLOADS"),
        ListColumn::left("PASSWORD").leaves(2),
        ListColumn::left("OWNER").leaves(1),
        ListColumn::left("CREATED").wide(),
        ListColumn::left("NOTE").wide(),
    ]);
    for share in shares {
        table.row([
            text(share.id),
            text(&share.path),
            state(enum_word::of(share.state)),
            share.expires_at.map_or_else(|| text("never"), |Rfc3339(at)| ListCell::Until(at)),
            downloads(share),
            text(if share.has_password { "yes" } else { "no" }),
            maybe(share.owner.as_ref(), |owner| text(owner.as_str())),
            ListCell::At(share.created_at.0),
            maybe(share.note.as_ref(), |note| text(note.as_str())),
        ]);
    }
    table
}

/// Prints the webhooks, if there are any.
pub fn show_hooks(hooks: &[HookInfo], out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if hooks.is_empty() {
        return Ok(());
    }
    let mut table = ListTable::new([
        ListColumn::left("HOOK"),
        ListColumn::right("DELIVERED"),
        ListColumn::right("FAILED TRIES").leaves(2),
        ListColumn::right("DROPPED").leaves(1),
        ListColumn::right("BACKLOG"),
        ListColumn::left("OLDEST").leaves(3),
        ListColumn::left("STATE"),
        ListColumn::reason("WHY"),
    ]);
    for hook in hooks {
        let (word, why) = hook_state(hook, out.style());
        table.row([
            text(&hook.name),
            count(hook.delivered),
            count(hook.failed_tries),
            count(hook.dropped),
            count(hook.backlog),
            maybe(hook.oldest, ListCell::Since),
            state(word),
            maybe(why, text),
        ]);
    }
    Ok(out.table(&table)?)
}

/// The table of downloads of a share.
pub fn downloads_table(downloads: &[DownloadInfo], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("TIME"),
        ListColumn::left("ADDRESS"),
        ListColumn::name("PART"),
        ListColumn::right("STATUS"),
        ListColumn::right("SIZE"),
        ListColumn::name("USER AGENT").leaves(1),
    ]);
    for download in downloads {
        // The log has the text of an instant.
        let at = download.at.parse::<Rfc3339>();
        table.row([
            at.map_or_else(|_| text(&download.at), |Rfc3339(at)| ListCell::At(at)),
            text(&download.address),
            text(&download.part),
            text(download.status),
            ListCell::Bytes(download.bytes),
            maybe(download.user_agent.as_deref(), text),
        ]);
    }
    table
}

/// The table of moves in progress.
pub fn moves_table(moves: &[FileMoveInfo]) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::right("NUMBER"),
        ListColumn::name("FROM"),
        ListColumn::name("TO"),
        ListColumn::left("ASKED BY").leaves(1),
        ListColumn::left("SINCE"),
        ListColumn::reason("WHY"),
    ]);
    for unsettled in moves {
        let FileMoveInfo { from, to, asked_by, since: Rfc3339(since), why, .. } = unsettled;
        table.row([
            text(unsettled.number),
            text(from),
            text(to),
            text(asked_by),
            ListCell::Since(*since),
            maybe(why.as_deref(), text),
        ]);
    }
    table
}

/// The state of a webhook in one word, and the reason of a failure.
fn hook_state(hook: &HookInfo, style: &PrintStyle) -> (&'static str, Option<String>) {
    match &hook.failing {
        Some(failing) => {
            let again = style.clock(failing.tried_again);
            ("failed", Some(format!("{}; next try at {again}", failing.reason)))
        }
        None if !hook.is_active => ("sent by the leader", None),
        None if hook.delivered_up_to.is_none() => ("starting", None),
        None => ("works", None),
    }
}

/// Prints a new share. Only its link goes to standard output, so that a script can use it.
pub fn created(share: &ShareInfo, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.json(share);
    }
    writeln!(out, "{}", share.url)?;
    let until = |Rfc3339(at)| format!("until {}", out.exact(at));
    let ends = share.expires_at.map_or("without a deadline".to_owned(), until);
    eprintln!("{} {ends}", plain(&share.path));
    Ok(())
}

/// Prints all properties of a share.
pub fn show(share: &ShareInfo, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.json(share);
    }
    let mut sheet = DetailSheet::default();
    sheet.row("link", text(&share.url));
    sheet.row("path", text(&share.path));
    sheet.row("state", text(enum_word::of(share.state)));
    sheet.row("created", ListCell::Since(share.created_at.0));
    let never = || text("never");
    sheet.row("ends", share.expires_at.map_or_else(never, |Rfc3339(at)| ListCell::Until(at)));
    sheet.row("password", text(if share.has_password { "yes" } else { "no" }));
    let downloads = match (share.max_downloads, share.downloads) {
        (Some(most), Some(taken)) => format!("{taken} of {most}"),
        _ => format!("{} since the node started, no limit", share.uses),
    };
    sheet.row("downloads", text(downloads));
    sheet.maybe("owner", share.owner.as_ref(), |owner| text(owner.as_str()));
    sheet.maybe("note", share.note.as_ref(), |note| text(note.as_str()));
    Ok(sheet.print(out)?)
}

/// Downloads taken and allowed; without a limit, the downloads since the node started.
fn downloads(share: &ShareInfo) -> ListCell {
    match (share.downloads, share.max_downloads) {
        (Some(taken), Some(most)) => text(format!("{taken}/{most}")),
        _ => count(share.uses),
    }
}

/// Prints the state of shares and their reclaim.
pub fn status(view: &ReclaimView, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.json(view);
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
