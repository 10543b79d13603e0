//! Output of `reelyard box`: pools, boxes, leases and the audit.

use std::io::Write;

use reelyard_api::{
    AuditLine, BoxInfo, BoxLogLine, BoxStateCounts, GrantedLease, LeaseInfo, LeaseVerified,
    PoolInfo, PoolTotalsInfo, Rfc3339, Span,
};
use reelyard_core::durations::{in_all_words, in_words, rounded};

use crate::cli::output::cell::{count, maybe, state, text};
use crate::cli::output::{
    DetailSheet, ListCell, ListColumn, ListTable, PrintStyle, Printer, plain,
};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;

/// The table of pools.
pub fn pools(pools: &[PoolInfo], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("POOL"),
        ListColumn::right("SIZE"),
        ListColumn::right("FREE"),
        ListColumn::right("LEASED"),
        ListColumn::right("CLEANING").leaves(2),
        ListColumn::right("QUARANTINED").leaves(1),
        ListColumn::right("WAITING"),
        ListColumn::left("HOST").leaves(3),
        ListColumn::left("STATE"),
    ]);
    for pool in pools {
        let boxes = pool.boxes;
        table.row([
            text(&pool.name),
            count(pool.spec.size),
            count(boxes.free),
            count(boxes.leased + boxes.preparing),
            count(boxes.draining + boxes.unchecked),
            count(boxes.quarantined),
            count(pool.waiting),
            maybe(pool.spec.host, text),
            state(match &pool.host_is_silent {
                _ if pool.goes => "being removed",
                Some(_) => "host does not answer",
                None if pool.hindered_by.is_some() => "hindered",
                None => "in use",
            }),
        ]);
    }
    table
}

pub(in crate::cli) fn pool(pool: &PoolInfo, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let spec = &pool.spec;
    let mut sheet = DetailSheet::default();
    sheet.row("pool", text(&pool.name));
    if pool.goes {
        sheet.row("state", text("being removed: it disappears with its last box"));
    }
    sheet.row("boxes", text(format!("{}, numbered from {}", spec.size, spec.first_id)));
    sheet.maybe("ids", spec.slots, |slots| {
        let (first, end) = (slots.first.0, slots.first.0.saturating_add(slots.count));
        text(format!("{first}..{end}, reused after {}", in_all_words(slots.rest.0)))
    });
    let host = spec.host.map_or("none: a logical pool".to_owned(), |host| host.to_string());
    sheet.row("host", text(host));
    sheet.maybe("host does not answer", pool.host_is_silent.as_deref(), text);
    sheet.maybe("hindered by", pool.hindered_by.as_deref(), text);
    sheet.maybe("hooks", spec.hooks.as_ref(), text);
    let labels: Vec<String> =
        spec.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    sheet.maybe("labels", (!labels.is_empty()).then(|| labels.join(", ")), text);
    let (by_default, at_most) = (in_all_words(spec.ttl_default.0), in_all_words(spec.ttl_max.0));
    sheet.row("leases", text(format!("{by_default} by default, at most {at_most}")));
    sheet.maybe("max hold", spec.max_hold, |Span(hold)| text(in_all_words(hold)));
    sheet.row("grace", text(in_all_words(spec.grace.0)));
    sheet.row("queue", text(format!("{} waiting, limit {}", pool.waiting, spec.queue_limit)));
    let quota = if spec.quota == 0 { "none".to_owned() } else { spec.quota.to_string() };
    sheet.row("quota", text(quota));
    sheet.row("priority ages in", text(in_all_words(spec.priority_ages.0)));
    let after = in_all_words(spec.clean_again_after.0);
    let at_most = in_all_words(spec.clean_again_at_most.0);
    let attempts = spec.clean_attempts;
    sheet.row("cleanup", text(format!("{attempts} attempts, {after} to {at_most} apart")));
    sheet.row("states", text(state_counts(&pool.boxes)));
    sheet.maybe("held on average", pool.mean_hold, |Span(hold)| text(in_words(hold)));
    sheet.row("last token", text(pool.last_token));
    sheet.row("so far", text(so_far(&pool.totals)));
    Ok(sheet.print(out)?)
}

fn state_counts(boxes: &BoxStateCounts) -> String {
    let BoxStateCounts { free, unchecked, preparing, leased, draining, quarantined } = boxes;
    format!(
        "{free} free, {unchecked} unchecked, {preparing} preparing, {leased} leased, {draining} draining, \
         {quarantined} quarantined"
    )
}

fn so_far(totals: &PoolTotalsInfo) -> String {
    let PoolTotalsInfo { granted, renewed, released, expired, revoked, not_taken, .. } = totals;
    let PoolTotalsInfo { init_failed, cleaned, clean_failures, quarantined, .. } = totals;
    format!(
        "{granted} granted, {renewed} renewed, {released} released, {expired} expired, {revoked} revoked, \
         {not_taken} not taken, {init_failed} init failed; {cleaned} cleaned, {clean_failures} \
         failures, {quarantined} quarantined"
    )
}

/// The table of leases that were just granted.
pub fn granted_leases(leases: &[GrantedLease]) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("LEASE"),
        ListColumn::right("BOX"),
        ListColumn::right("TOKEN"),
        ListColumn::left("UNTIL"),
    ]);
    for lease in leases {
        table.row([
            text(lease.lease_id),
            text(lease.box_id),
            text(lease.token),
            ListCell::At(lease.expires_at.0),
        ]);
    }
    table
}

/// Prints a valid lease.
pub fn verified(lease: &LeaseVerified, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let LeaseVerified { pool, box_id, token, holder, expires_at, .. } = lease;
    let (holder, until) = (plain(holder.as_str()), out.clock(expires_at.0));
    Ok(writeln!(out, "valid: {holder} has box {pool}/{box_id}, token {token}, until {until}")?)
}

/// The table of leases.
pub fn leases(leases: &[LeaseInfo], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("LEASE"),
        ListColumn::right("BOX"),
        ListColumn::right("TOKEN").leaves(2),
        ListColumn::name("HOLDER"),
        ListColumn::left("STATE"),
        ListColumn::left("SINCE").leaves(1),
        ListColumn::left("ENDS IN"),
        ListColumn::right("RENEWALS").leaves(3),
    ]);
    for lease in leases {
        table.row([
            text(lease.lease_id),
            text(lease.box_id),
            text(lease.token),
            text(lease.holder.as_str()),
            state(enum_word::of(lease.state)),
            ListCell::Since(lease.granted_at.0),
            maybe(lease.expires_at, |Rfc3339(at)| ListCell::Until(at)),
            count(lease.renewals),
        ]);
    }
    table
}

/// Prints all properties of a lease.
pub fn lease(lease: &LeaseInfo, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let mut sheet = DetailSheet::default();
    sheet.row("lease", text(lease.lease_id));
    sheet.row("box", text(format!("{}/{}", lease.pool, lease.number)));
    if lease.box_id != lease.number.0 {
        sheet.row("id", text(lease.box_id));
    }
    sheet.row("token", text(lease.token));
    sheet.row("holder", text(lease.holder.as_str()));
    sheet.row("state", text(enum_word::of(lease.state)));
    sheet.row("granted", ListCell::Since(lease.granted_at.0));
    sheet.maybe("until", lease.expires_at, |Rfc3339(at)| ListCell::Until(at));
    sheet.row("renewals", text(format!("{}, for {} each", lease.renewals, lease.ttl)));
    sheet.maybe("ended", lease.ended_at, |Rfc3339(at)| ListCell::Since(at));
    sheet.maybe("by", lease.ended_by.as_deref(), text);
    sheet.maybe("reason", lease.reason.as_ref().map(|reason| reason.as_str()), text);
    Ok(sheet.print(out)?)
}

/// The table of boxes.
pub fn boxes(boxes: &[BoxInfo], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::right("BOX"),
        ListColumn::left("STATE"),
        ListColumn::left("SINCE"),
        ListColumn::right("TOKEN").leaves(2),
        ListColumn::right("ID").leaves(3),
        ListColumn::name("HOLDER"),
        ListColumn::right("FAILURES").leaves(1),
        ListColumn::reason("OUTPUT"),
    ]);
    for one in boxes {
        let retiring = if one.retiring { ", retiring" } else { "" };
        table.row([
            text(one.number),
            state(format!("{}{retiring}", enum_word::of(one.state))),
            ListCell::Since(one.since.0),
            maybe(one.token, text),
            maybe(one.slot, text),
            maybe(one.lease.as_ref(), |lease| text(lease.holder.as_str())),
            count(one.failures),
            maybe(one.output.as_deref(), text),
        ]);
    }
    table
}

/// Prints all properties of a box.
pub fn one(info: &BoxInfo, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let mut sheet = DetailSheet::default();
    sheet.row("box", text(info.number));
    sheet.row("state", text(enum_word::of(info.state)));
    sheet.row("since", ListCell::Since(info.since.0));
    if info.retiring {
        sheet.row("retiring", text("it disappears as soon as it is free"));
    }
    sheet.maybe("token", info.token, text);
    sheet.maybe("id", info.slot, text);
    if let Some(lease) = &info.lease {
        sheet.row("holder", text(lease.holder.as_str()));
        sheet.row("lease", text(lease.lease_id));
        sheet.maybe("until", lease.expires_at, |Rfc3339(at)| ListCell::Until(at));
    }
    sheet.maybe("after", info.after.map(enum_word::of), text);
    if info.failures > 0 {
        sheet.row("failures", count(info.failures));
    }
    sheet.maybe("output", info.output.as_deref(), text);
    sheet.maybe("quarantined by", info.quarantined_by.as_deref(), text);
    Ok(sheet.print(out)?)
}

/// The table of the audit of boxes.
pub fn audit(lines: &[AuditLine], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("AT"),
        ListColumn::right("BOX"),
        ListColumn::right("TOKEN").leaves(1),
        ListColumn::left("WHAT"),
        ListColumn::name("WHO"),
        ListColumn::reason("OUTPUT"),
    ]);
    for line in lines {
        match line {
            AuditLine::Lease(lease) => table.row(lease_line(lease)),
            AuditLine::BoxLog(log) => table.row(audit_line(log)),
        }
    }
    table
}

fn lease_line(lease: &LeaseInfo) -> [ListCell; 6] {
    let ended = lease.ended_at.unwrap_or(lease.granted_at);
    let held = in_words(rounded(ended.0.since(lease.granted_at.0)));
    let by = lease.ended_by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    [
        ListCell::At(ended.0),
        text(lease.number),
        text(lease.token),
        text(format!("{}{by} after {held}", enum_word::of(lease.state))),
        text(lease.holder.as_str()),
        maybe(lease.reason.as_ref(), |reason| text(reason.as_str())),
    ]
}

fn audit_line(log: &BoxLogLine) -> [ListCell; 6] {
    let attempt = log.attempt.map(|attempt| format!(", attempt {attempt}")).unwrap_or_default();
    [
        ListCell::At(log.at.0),
        text(log.number),
        maybe(log.token, text),
        text(format!("{}{attempt}", enum_word::of(log.what))),
        maybe(log.by.as_deref(), text),
        maybe(log.output.as_deref(), text),
    ]
}
