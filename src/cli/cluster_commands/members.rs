//! The members of a running cluster.

use std::io::Write as _;
use std::time::Duration;

use reelyard_access::rights::AccessScope;
use reelyard_api::{
    ClusterView, LeadTransfer, MemberInfo, MemberRank, NewTokenInfo, ProblemKind,
    SnapshotProgressView, Ttl, WantedToken,
};
use reelyard_core::durations::in_words;

use crate::cli::client::NodeClient;
use crate::cli::output::cell::{count, maybe, state, text};
use crate::cli::output::{ListColumn, ListTable, Printer};
use crate::cli::support::failure::CommandFailure;

/// Interval of the attempts to replace a member by one that is behind.
const REPLACE_RETRY: Duration = Duration::from_secs(1);

/// Prints the secret of an invitation, and the next command.
pub fn invite(client: &NodeClient, ttl: Ttl, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let cluster: ClusterView = client.get(&["cluster"], &[])?;
    let at = cluster.members.iter().find(|member| Some(member.number) == cluster.leader);
    let Some(at) = at.filter(|member| !member.cluster_address.is_empty()) else {
        let detail = "the node has no address for other nodes: set cluster.listen in its configuration, and run \
                      \"reelyard config reload\"";
        return Err(CommandFailure::NotThere(detail.to_owned()));
    };
    let name = format!("invite-{:08x}", fastrand::u32(..)).parse();
    let wanted = WantedToken {
        name: Some(name.map_err(|error| CommandFailure::Usage(format!("{error}")))?),
        role: None,
        scopes: vec![AccessScope::ClusterJoin],
        worker: None,
        ttl: Some(ttl),
        expires_at: None,
        addresses: Vec::new(),
        replace: false,
        request_id: None,
    };
    let created: NewTokenInfo = client.post_body(&["tokens"], &wanted)?;
    if out.is_json() {
        return out.json(&created);
    }
    writeln!(out, "{}", created.token)?;
    // Not on standard output: a script reads only the secret there.
    writeln!(
        std::io::stderr(),
        "On the new machine: reelyard cluster join --at {} --secret SECRET --config node.toml",
        at.cluster_address
    )?;
    Ok(())
}

/// Prints the members.
pub fn show(client: &NodeClient, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let cluster: ClusterView = client.get(&["cluster"], &[])?;
    if out.is_json() {
        return out.json(&cluster);
    }
    let led = match cluster.leader {
        Some(leader) => format!("node {leader} leads"),
        None => "this node hears no leader".to_owned(),
    };
    writeln!(out, "cluster {}, {led}, epoch {}", cluster.cluster, cluster.epoch)?;
    let mut table = ListTable::new([
        ListColumn::right("NODE"),
        ListColumn::left("RANK"),
        ListColumn::name("ADDRESS"),
        ListColumn::name("API").leaves(2),
        ListColumn::right("BEHIND"),
        ListColumn::right("SINCE").leaves(2),
        ListColumn::right("CONTACT"),
        ListColumn::right("ROUND TRIP").leaves(1),
        ListColumn::right("SKEW").leaves(3),
        ListColumn::right("LEVEL").leaves(3),
        ListColumn::right("SNAPSHOT").leaves(3),
        ListColumn::reason("TROUBLE"),
    ]);
    for member in &cluster.members {
        let MemberInfo { number, rank, .. } = member;
        let is_own = *number == cluster.node;
        let rank = match rank {
            MemberRank::Leader => "leader",
            MemberRank::Voter => "voter",
            MemberRank::Learner => "learner",
        };
        let contact = maybe(member.contact_ms, |ms| text(in_words(Duration::from_millis(ms))));
        table.row([
            count(*number),
            state(rank),
            text(&member.cluster_address),
            text(&member.api_address),
            maybe(member.behind, count),
            maybe(member.behind_ms, |ms| text(in_words(Duration::from_millis(ms)))),
            if is_own { text("this node") } else { contact },
            maybe(member.round_trip_us, |us| text(in_words(Duration::from_micros(us)))),
            maybe(member.clock_skew_ms, |ms| text(format!("{ms} ms"))),
            count(u64::from(member.format_level)),
            maybe(member.snapshot, |snapshot| text(sent(snapshot))),
            maybe(member.trouble.as_ref(), text),
        ]);
    }
    out.table(&table)?;
    let ClusterView { leader_changes, forwarded, .. } = cluster;
    out.remark(&format!(
        "Node {} saw {leader_changes} leaders begin since its start, and passed on {forwarded} requests",
        cluster.node
    ))?;
    if !cluster.refused.is_empty() {
        let reasons = cluster.refused.iter().map(|(reason, count)| format!("{count} {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        out.remark(&format!("Refused connections between nodes: {reasons}"))?;
    }
    for warning in cluster.hindrance.iter().chain(&cluster.warnings) {
        out.remark(&format!("warning: {warning}"))?;
    }
    Ok(())
}

/// How much of a snapshot has arrived.
fn sent(snapshot: SnapshotProgressView) -> String {
    let SnapshotProgressView { sent, bytes } = snapshot;
    let percent = (sent.saturating_mul(100)).checked_div(bytes).unwrap_or(100);
    format!("{percent}%")
}

/// Gives a learner a vote.
pub fn promote(
    client: &NodeClient,
    number: u64,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    client.post_for_nothing(&["cluster", "members", &number.to_string(), "promote"], &[])?;
    if !out.is_json() {
        writeln!(out, "node {number} votes")?;
    }
    Ok(())
}

/// Gives the vote of a member to another one, once that is up to date.
pub fn replace(
    client: &NodeClient,
    old: u64,
    new: u64,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let path = ["cluster", "members", &old.to_string(), "replace"];
    let by = new.to_string();
    let mut is_waiting = false;
    while let Err(failure) = client.post_for_nothing(&path, &[("by", &by)]) {
        let why = match &failure {
            CommandFailure::Node { kind: Some(ProblemKind::Busy), why, .. } => why,
            CommandFailure::Refused(problem)
                if problem.known_kind() == Some(ProblemKind::ChangedMeanwhile) =>
            {
                &problem.detail
            }
            _ => return Err(failure),
        };
        if !is_waiting {
            out.remark(&format!("waiting: {why}"))?;
            out.flush()?;
        }
        is_waiting = true;
        std::thread::sleep(REPLACE_RETRY);
    }
    if !out.is_json() {
        writeln!(
            out,
            "node {new} votes, and node {old} is no member any more: stop it, and remove its data directory"
        )?;
    }
    Ok(())
}

/// Makes another voter the leader.
pub fn transfer(
    client: &NodeClient,
    number: Option<u64>,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let number = number.map(|number| number.to_string());
    let query: Vec<(&str, &str)> = number.iter().map(|number| ("to", number.as_str())).collect();
    let done: LeadTransfer = client.post_with(&["cluster", "transfer"], &query)?;
    if out.is_json() {
        return out.json(&done);
    }
    Ok(writeln!(out, "node {} leads", done.leader)?)
}

/// Removes a member.
pub fn remove(
    client: &NodeClient,
    number: u64,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    client.delete(&["cluster", "members", &number.to_string()])?;
    if !out.is_json() {
        writeln!(
            out,
            "node {number} is no member any more: stop it, and remove its data directory"
        )?;
    }
    Ok(())
}
