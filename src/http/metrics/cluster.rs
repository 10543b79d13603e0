//! Metrics of the cluster, as this node sees it.

use std::fmt;

use reelyard_api::{ClusterView, MemberInfo, MemberRank};
use reelyard_core::clock::Millis;
use reelyard_core::display_text::word;
use reelyard_replication::FORMAT_LEVEL;

use super::page::metrics_writer::{MetricsWriter, seconds};

/// Writes the members, and the counts of this node. `certificate_end` is the end of its certificate.
pub fn write(
    sheet: &mut MetricsWriter<'_>,
    view: &ClusterView,
    certificate_end: Option<Millis>,
) -> fmt::Result {
    let count = |wanted: fn(&MemberInfo) -> bool| {
        view.members.iter().filter(|member| wanted(member)).count() as u64
    };
    sheet.gauge("cluster_members", "Members of the cluster", count(|_| true))?;
    let voters = count(|member| member.rank != MemberRank::Learner);
    sheet.gauge("cluster_voters", "Members that vote", voters)?;
    let troubles = count(|member| member.trouble.is_some());
    sheet.gauge("cluster_members_in_trouble", "Members that do not take part", troubles)?;
    let help = "Members whose file has other settings of the cluster than this node";
    sheet.gauge("cluster_settings_differ", help, count(|member| member.settings_differ))?;
    sheet.gauge("cluster_warnings", "Warnings about the cluster", view.warnings.len() as u64)?;
    let led = u64::from(view.hindrance.is_none());
    sheet.gauge("cluster_led", "1 if this node leads or hears the leader", led)?;
    let lowest = view.members.iter().map(|member| member.format_level).min();
    let level = u64::from(lowest.unwrap_or(FORMAT_LEVEL));
    sheet.gauge("cluster_format_level", "The lowest format level of all members", level)?;
    let help = "Leaders that began since the start of this node";
    sheet.counter("cluster_leader_changes", help, view.leader_changes)?;
    let help = "Requests that this node passed on to the leader";
    sheet.counter("cluster_forwarded_requests", help, view.forwarded)?;
    let help = "Connections between nodes that one side refused, by reason";
    let refused = view.refused.iter().map(|(reason, count)| ([("reason", reason.clone())], *count));
    sheet.counters("cluster_refused_connections", help, refused)?;
    let help = "End of the certificate for other nodes, in seconds since 1970";
    sheet.maybe_gauge("cluster_certificate_end_seconds", help, certificate_end.map(seconds))?;
    of_members(sheet, &view.members)
}

fn of_members(sheet: &mut MetricsWriter<'_>, members: &[MemberInfo]) -> fmt::Result {
    let each = |value: fn(&MemberInfo) -> Option<f64>| {
        let series = move |member: &MemberInfo| {
            Some(([("member", member.number.to_string())], value(member)?))
        };
        members.iter().filter_map(series).collect::<Vec<_>>()
    };
    let help = "Entries that a member is behind the leader; only on the leader";
    let behind = each(|member| member.behind.map(|behind| behind as f64));
    sheet.gauges("cluster_member_behind_entries", help, behind)?;
    let help = "About how many bytes of the log a member is behind; only on the leader";
    let behind = each(|member| member.behind_bytes.map(|behind| behind as f64));
    sheet.gauges("cluster_member_behind_bytes", help, behind)?;
    let help = "For how long a member lacks an entry, in seconds; only on the leader";
    let behind = each(|member| member.behind_ms.map(|ms| ms as f64 / 1e3));
    sheet.gauges("cluster_member_behind_seconds", help, behind)?;
    let help = "The highest format level of the program of a member";
    let level = each(|member| Some(f64::from(member.format_level)));
    sheet.gauges("cluster_member_format_level", help, level)?;
    let rank = |member: &MemberInfo| {
        let labels = [("member", member.number.to_string()), ("rank", word(&member.rank))];
        (labels, 1.0)
    };
    let help = "1 for the rank of each member: leader, voter or learner";
    sheet.gauges("cluster_member_rank", help, members.iter().map(rank))?;
    let help = "Time since the last message of a member, in seconds";
    let contact = each(|member| member.contact_ms.map(|ms| ms as f64 / 1e3));
    sheet.gauges("cluster_member_contact_seconds", help, contact)?;
    let help = "Time of a small message to a member and back, in seconds";
    let trip = each(|member| member.round_trip_us.map(|us| us as f64 / 1e6));
    sheet.gauges("cluster_member_round_trip_seconds", help, trip)?;
    let help = "How far the wall clock of a member is ahead, in seconds";
    let skew = each(|member| member.clock_skew_ms.map(|ms| ms as f64 / 1e3));
    sheet.gauges("cluster_member_clock_skew_seconds", help, skew)?;
    let help = "Bytes that a member has of the snapshot on its way to it";
    let sent = each(|member| member.snapshot.map(|snapshot| snapshot.sent as f64));
    sheet.gauges("cluster_member_snapshot_sent_bytes", help, sent)?;
    let help = "Bytes of the snapshot on its way to a member";
    let bytes = each(|member| member.snapshot.map(|snapshot| snapshot.bytes as f64));
    sheet.gauges("cluster_member_snapshot_bytes", help, bytes)
}
