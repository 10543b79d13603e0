//! Output of `reelyard box`: pools, boxes, leases and the audit.

use std::io::Write;

use comfy_table::{Cell, Table};
use reelyard_api::{
    AuditLine, BoxInfo, BoxLogLine, BoxStateCounts, GrantedLease, LeaseInfo, LeaseVerified,
    PoolInfo, PoolTotalsInfo, Rfc3339, Span,
};
use reelyard_core::clock::Clock;
use reelyard_core::durations::{in_all_words, in_words};

use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, age, maybe, number, plain};

/// A table with one line per property of a single object.
struct DetailTable(Table);

impl DetailTable {
    fn new() -> Self {
        DetailTable(output::table(&["", ""]))
    }

    fn row(&mut self, what: &str, value: impl ToString) {
        self.0.add_row([Cell::new(what), Cell::new(value.to_string())]);
    }

    fn maybe(&mut self, what: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.row(what, value);
        }
    }

    fn print(&self, out: &mut dyn Write) -> Result<(), CommandFailure> {
        Ok(output::print(&self.0, out)?)
    }
}

pub(in crate::cli) fn pools(pools: &[PoolInfo], out: &mut dyn Write) -> Result<(), CommandFailure> {
    let header =
        ["POOL", "SIZE", "FREE", "LEASED", "CLEANING", "QUARANTINED", "WAITING", "HOST", "STATE"];
    let mut table = output::table(&header);
    for pool in pools {
        let boxes = pool.boxes;
        table.add_row([
            Cell::new(&pool.name),
            number(pool.spec.size),
            number(boxes.free),
            number(boxes.leased + boxes.preparing),
            number(boxes.draining + boxes.unchecked),
            number(boxes.quarantined),
            number(pool.waiting),
            maybe(pool.spec.host, Cell::new),
            Cell::new(match &pool.host_is_silent {
                _ if pool.goes => "being removed",
                Some(_) => "host does not answer",
                None if pool.hindered_by.is_some() => "hindered",
                None => "in use",
            }),
        ]);
    }
    Ok(output::print(&table, out)?)
}

pub(in crate::cli) fn pool(pool: &PoolInfo, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let spec = &pool.spec;
    let mut sheet = DetailTable::new();
    sheet.row("pool", &pool.name);
    if pool.goes {
        sheet.row("state", "being removed: it disappears with its last box");
    }
    sheet.row("boxes", format!("{}, numbered from {}", spec.size, spec.first_id));
    sheet.maybe(
        "ids",
        spec.slots.map(|slots| {
            let (first, end) = (slots.first.0, slots.first.0.saturating_add(slots.count));
            format!("{first}..{end}, reused after {}", in_all_words(slots.rest.0))
        }),
    );
    sheet.row("host", spec.host.map_or("none: a logical pool".to_owned(), |host| host.to_string()));
    sheet.maybe("host does not answer", pool.host_is_silent.as_deref().map(plain));
    sheet.maybe("hindered by", pool.hindered_by.as_deref().map(plain));
    sheet.maybe("hooks", spec.hooks.as_ref());
    let labels: Vec<String> =
        spec.labels.iter().map(|(key, value)| plain(&format!("{key}={value}"))).collect();
    sheet.maybe("labels", (!labels.is_empty()).then(|| labels.join(", ")));
    sheet.row(
        "leases",
        format!(
            "{} by default, at most {}",
            in_all_words(spec.ttl_default.0),
            in_all_words(spec.ttl_max.0)
        ),
    );
    sheet.maybe("max hold", spec.max_hold.map(|Span(hold)| in_all_words(hold)));
    sheet.row("grace", in_all_words(spec.grace.0));
    sheet.row("queue", format!("{} waiting, limit {}", pool.waiting, spec.queue_limit));
    sheet.row("quota", if spec.quota == 0 { "none".to_owned() } else { spec.quota.to_string() });
    sheet.row("priority ages in", in_all_words(spec.priority_ages.0));
    let after = in_all_words(spec.clean_again_after.0);
    let at_most = in_all_words(spec.clean_again_at_most.0);
    let attempts = spec.clean_attempts;
    sheet.row("cleanup", format!("{attempts} attempts, {after} to {at_most} apart"));
    sheet.row("states", state_counts(&pool.boxes));
    sheet.maybe("held on average", pool.mean_hold.map(|Span(hold)| in_words(hold)));
    sheet.row("last token", pool.last_token);
    sheet.row("so far", so_far(&pool.totals));
    sheet.print(out)
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

/// Prints leases that were just granted.
pub(in crate::cli) fn granted_leases(
    leases: &[GrantedLease],
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let mut table = output::table(&["LEASE", "BOX", "TOKEN", "UNTIL"]);
    for lease in leases {
        table.add_row([
            Cell::new(lease.lease_id),
            number(lease.box_id),
            number(lease.token),
            Cell::new(lease.expires_at),
        ]);
    }
    Ok(output::print(&table, out)?)
}

pub(in crate::cli) fn verified(
    lease: &LeaseVerified,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let LeaseVerified { pool, box_id, token, holder, expires_at, .. } = lease;
    let holder = plain(holder.as_str());
    Ok(writeln!(out, "valid: {holder} has box {pool}/{box_id}, token {token}, until {expires_at}")?)
}

pub(in crate::cli) fn leases(
    leases: &[LeaseInfo],
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let now = Clock::system().now();
    let header = ["LEASE", "BOX", "TOKEN", "HOLDER", "STATE", "SINCE", "ENDS IN", "RENEWALS"];
    let mut table = output::table(&header);
    for lease in leases {
        table.add_row([
            Cell::new(lease.lease_id),
            number(lease.box_id),
            number(lease.token),
            Cell::new(plain(lease.holder.as_str())),
            Cell::new(enum_word::of(lease.state)),
            Cell::new(age(lease.granted_at.0, now)),
            maybe(lease.expires_at, |Rfc3339(at)| Cell::new(age(now, at))),
            number(lease.renewals),
        ]);
    }
    Ok(output::print(&table, out)?)
}

pub(in crate::cli) fn lease(lease: &LeaseInfo, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let mut sheet = DetailTable::new();
    sheet.row("lease", lease.lease_id);
    sheet.row("box", format!("{}/{}", lease.pool, lease.number));
    if lease.box_id != lease.number.0 {
        sheet.row("id", lease.box_id);
    }
    sheet.row("token", lease.token);
    sheet.row("holder", plain(lease.holder.as_str()));
    sheet.row("state", enum_word::of(lease.state));
    sheet.row("granted", lease.granted_at);
    sheet.maybe("until", lease.expires_at);
    sheet.row("renewals", format!("{}, for {} each", lease.renewals, lease.ttl));
    sheet.maybe("ended", lease.ended_at);
    sheet.maybe("by", lease.ended_by.as_deref().map(plain));
    sheet.maybe("reason", lease.reason.as_ref().map(|reason| plain(reason.as_str())));
    sheet.print(out)
}

pub(in crate::cli) fn boxes(boxes: &[BoxInfo], out: &mut dyn Write) -> Result<(), CommandFailure> {
    let now = Clock::system().now();
    let header = ["BOX", "STATE", "SINCE", "TOKEN", "ID", "HOLDER", "FAILURES", "OUTPUT"];
    let mut table = output::table(&header);
    for one in boxes {
        let retiring = if one.retiring { ", retiring" } else { "" };
        table.add_row([
            number(one.number),
            Cell::new(format!("{}{retiring}", enum_word::of(one.state))),
            Cell::new(age(one.since.0, now)),
            maybe(one.token, number),
            maybe(one.slot, number),
            maybe(one.lease.as_ref(), |lease| Cell::new(plain(lease.holder.as_str()))),
            number(one.failures),
            maybe(one.output.as_deref(), |output| Cell::new(plain(output))),
        ]);
    }
    Ok(output::print(&table, out)?)
}

pub(in crate::cli) fn one(info: &BoxInfo, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let now = Clock::system().now();
    let mut sheet = DetailTable::new();
    sheet.row("box", info.number);
    sheet.row("state", enum_word::of(info.state));
    sheet.row("since", format!("{}, {} ago", info.since, age(info.since.0, now)));
    if info.retiring {
        sheet.row("retiring", "it disappears as soon as it is free");
    }
    sheet.maybe("token", info.token);
    sheet.maybe("id", info.slot);
    if let Some(lease) = &info.lease {
        sheet.row("holder", plain(lease.holder.as_str()));
        sheet.row("lease", lease.lease_id);
        sheet.maybe("until", lease.expires_at);
    }
    sheet.maybe("after", info.after.map(enum_word::of));
    if info.failures > 0 {
        sheet.row("failures", info.failures);
    }
    sheet.maybe("output", info.output.as_deref().map(plain));
    sheet.maybe("quarantined by", info.quarantined_by.as_deref().map(plain));
    sheet.print(out)
}

pub(in crate::cli) fn audit(
    lines: &[AuditLine],
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let mut table = output::table(&["AT", "BOX", "TOKEN", "WHAT", "WHO", "OUTPUT"]);
    for line in lines {
        match line {
            AuditLine::Lease(lease) => table.add_row(lease_line(lease)),
            AuditLine::BoxLog(log) => table.add_row(audit_line(log)),
        };
    }
    Ok(output::print(&table, out)?)
}

fn lease_line(lease: &LeaseInfo) -> [Cell; 6] {
    let ended = lease.ended_at.unwrap_or(lease.granted_at);
    let held = age(lease.granted_at.0, ended.0);
    let by = lease.ended_by.as_deref().map(|by| format!(" by {}", plain(by))).unwrap_or_default();
    [
        Cell::new(ended),
        number(lease.number),
        number(lease.token),
        Cell::new(format!("{}{by} after {held}", enum_word::of(lease.state))),
        Cell::new(plain(lease.holder.as_str())),
        maybe(lease.reason.as_ref(), |reason| Cell::new(plain(reason.as_str()))),
    ]
}

fn audit_line(log: &BoxLogLine) -> [Cell; 6] {
    let attempt = log.attempt.map(|attempt| format!(", attempt {attempt}")).unwrap_or_default();
    [
        Cell::new(log.at),
        number(log.number),
        maybe(log.token, number),
        Cell::new(format!("{}{attempt}", enum_word::of(log.what))),
        maybe(log.by.as_deref(), |by| Cell::new(plain(by))),
        maybe(log.output.as_deref(), |output| Cell::new(plain(output))),
    ]
}
