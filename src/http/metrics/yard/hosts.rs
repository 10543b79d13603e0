//! Metrics of the hosts: counts by state, and a few series per host.

use std::collections::HashMap;
use std::fmt;

use prometheus_client::encoding::EncodeGaugeValue;
use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_yard::cfw_worker::CfwWorkerView;
use reelyard_yard::heartbeat::{Health, HostBeats};
use reelyard_yard::task_manager::{PlannedHost, TaskManagerView};

use crate::http::access::WorkerRefusals;
use crate::http::metrics::page::metrics_writer::MetricsWriter;
use crate::node::Wiring;

/// Hosts with series of their own. With more the page would be larger than a megabyte.
const MOST_HOSTS: usize = 1_000;

/// A host as its CfwWorker, the HeartbeatSupervisor and the TaskManager show it.
struct HostMetrics<'a> {
    label: String,
    called: std::sync::Arc<CfwWorkerView>,
    /// Whether the node refuses the calls of its worker.
    is_refused: bool,
    beats: Option<&'a HostBeats>,
    planned: Option<&'a PlannedHost>,
    serving: u64,
    fetching: u64,
}

impl HostMetrics<'_> {
    fn health(&self) -> Health {
        self.beats.map(|beats| beats.health).unwrap_or_default()
    }
}

/// Writes the metrics of the hosts.
pub fn write(
    sheet: &mut MetricsWriter<'_>,
    actors: &Wiring,
    (refusals, now): (&WorkerRefusals, Millis),
) -> fmt::Result {
    let (beats, tasks) = (actors.heartbeat_view.load(), actors.task_views.load());
    let of_heartbeat: HashMap<_, _> = beats.hosts.iter().map(|one| (one.host, &**one)).collect();
    let of_tasks: HashMap<_, _> = tasks.hosts.iter().map(|one| (one.host, one)).collect();
    let copies = copies_of(&tasks);
    let present = actors.hosts.present();
    let hosts: Vec<HostMetrics<'_>> = present
        .iter()
        .map(|(host, actor)| {
            let (serving, fetching) = copies.get(host).copied().unwrap_or_default();
            HostMetrics {
                label: host.to_string(),
                called: actor.view.load(),
                is_refused: refusals.of(*host, now).is_some(),
                beats: of_heartbeat.get(host).copied(),
                planned: of_tasks.get(host).copied(),
                serving,
                fetching,
            }
        })
        .collect();
    sheet.counter("host_probes", "Probes of hosts", beats.probes)?;
    sheet.counter("host_probes_missed", "Probes without an answer", beats.misses)?;
    together(sheet, &hosts)?;
    // The first ones by address, so that a host keeps its series.
    let (shown, others) = hosts.split_at(hosts.len().min(MOST_HOSTS));
    let help = "Hosts without series of their own, because there are too many hosts";
    sheet.gauge("hosts_without_series", help, others.len())?;
    each(sheet, shown)
}

/// Number of running copies from and to each host.
fn copies_of(tasks: &TaskManagerView) -> HashMap<HostAddr, (u64, u64)> {
    let mut copies: HashMap<HostAddr, (u64, u64)> = HashMap::new();
    for task in tasks.open.values() {
        copies.entry(task.source).or_default().0 += 1;
        copies.entry(task.destination).or_default().1 += 1;
    }
    copies
}

/// Writes the counts over all hosts.
fn together(sheet: &mut MetricsWriter<'_>, hosts: &[HostMetrics<'_>]) -> fmt::Result {
    let roles = [
        ("source", HostRole::Source),
        ("destination", HostRole::Destination),
        ("both", HostRole::Both),
    ];
    let healths = [
        ("unknown", Health::Unknown),
        ("up", Health::Up),
        ("suspect", Health::Suspect),
        ("down", Health::Down),
    ];
    let mut counts = Vec::new();
    for (role_word, role) in roles {
        for (health_word, health) in healths {
            let so = hosts.iter().filter(|one| one.called.role == role && one.health() == health);
            counts.push(([("role", role_word), ("health", health_word)], so.count()));
        }
    }
    sheet.gauges("hosts", "Hosts of the yard, by role and health", counts)?;
    let open = hosts.iter().filter(|one| one.called.calls.is_open()).count();
    let help = "Hosts with an open circuit breaker";
    sheet.gauge("hosts_not_called", help, open)?;
    let looks = hosts.iter().map(|one| one.called.looks).sum();
    sheet.counter("host_looks", "Inventories of hosts: files and disk", looks)?;
    let failed = hosts.iter().map(|one| one.called.failed_looks).sum();
    sheet.counter("host_looks_failed", "Failed inventories of hosts", failed)
}

/// Writes the series of each host.
fn each(sheet: &mut MetricsWriter<'_>, hosts: &[HostMetrics<'_>]) -> fmt::Result {
    fn of<'a, V: EncodeGaugeValue>(
        hosts: &'a [HostMetrics<'a>],
        figure: impl Fn(&HostMetrics<'_>) -> Option<V> + 'a,
    ) -> impl Iterator<Item = ([(&'static str, &'a str); 1], V)> + 'a {
        hosts.iter().filter_map(move |one| Some(([("host", one.label.as_str())], figure(one)?)))
    }
    let up = |one: &HostMetrics<'_>| Some(u64::from(one.health() == Health::Up));
    sheet.gauges("host_up", "1 if the host is up", of(hosts, up))?;
    let trouble = |one: &HostMetrics<'_>| {
        Some(u64::from(one.is_refused || one.called.token_trouble.is_some()))
    };
    let help = "1 if the host and the node refuse calls of each other because of a token";
    sheet.gauges("host_token_trouble", help, of(hosts, trouble))?;
    let latency = |one: &HostMetrics<'_>| Some(one.called.latency_ms? as f64 / 1000.0);
    let help = "Time of the last answered probe, in seconds";
    sheet.gauges("host_probe_seconds", help, of(hosts, latency))?;
    let files = |one: &HostMetrics<'_>| Some(one.called.inventory?.files);
    sheet.gauges("host_files", "Files on the host", of(hosts, files))?;
    let used = |one: &HostMetrics<'_>| Some(one.called.disk?.used);
    sheet.gauges("host_disk_used_bytes", "Used bytes on the host's disk", of(hosts, used))?;
    let avail = |one: &HostMetrics<'_>| Some(one.called.disk?.avail);
    let help = "Free bytes on the host's disk";
    sheet.gauges("host_disk_available_bytes", help, of(hosts, avail))?;
    let room = |one: &HostMetrics<'_>| one.planned?.room;
    let help = "Bytes that the host may still take below its limit, running copies counted";
    sheet.gauges("host_room_bytes", help, of(hosts, room))?;
    let out = |one: &HostMetrics<'_>| Some(one.called.traffic.as_ref()?.all.sends.0);
    let help = "Outgoing load of the host's link, in bits per second";
    sheet.gauges("host_traffic_out_bits_per_second", help, of(hosts, out))?;
    let into = |one: &HostMetrics<'_>| Some(one.called.traffic.as_ref()?.all.receives.0);
    let help = "Incoming load of the host's link, in bits per second";
    sheet.gauges("host_traffic_in_bits_per_second", help, of(hosts, into))?;
    let speed = |one: &HostMetrics<'_>| Some(one.called.traffic.as_ref()?.speed?.0);
    let help = "Speed of the host's link in each direction, in bits per second";
    sheet.gauges("host_link_bits_per_second", help, of(hosts, speed))?;
    let serving = |one: &HostMetrics<'_>| Some(one.serving);
    sheet.gauges("host_copies_out", "Running copies from the host", of(hosts, serving))?;
    let fetching = |one: &HostMetrics<'_>| Some(one.fetching);
    sheet.gauges("host_copies_in", "Running copies to the host", of(hosts, fetching))
}
