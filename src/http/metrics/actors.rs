//! Metrics of the actors, by name. The actors of all hosts are summed up.

use std::collections::BTreeMap;
use std::fmt;

use reelyard_core::supervision::SupervisionStatus;

use super::page::metrics_writer::MetricsWriter;

/// The sums over all actors of one kind.
#[derive(Default)]
struct Sum {
    actors: u64,
    running: u64,
    handled: u64,
    waiting: u64,
    refused: u64,
    restarts: u64,
}

/// Writes the metrics of the actors.
pub fn write(sheet: &mut MetricsWriter<'_>, statuses: &[SupervisionStatus]) -> fmt::Result {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for status in statuses {
        let sum = sums.entry(kind(&status.name)).or_default();
        sum.actors += 1;
        sum.running += u64::from(status.running);
        sum.handled += status.handled;
        sum.waiting += status.waiting as u64;
        sum.refused += status.refused;
        sum.restarts += status.starts.saturating_sub(1);
    }
    let of = |figure: fn(&Sum) -> u64| {
        sums.iter().map(move |(name, sum)| ([("actor", *name)], figure(sum)))
    };
    sheet.gauges("actors", "Actors that should run", of(|sum| sum.actors))?;
    sheet.gauges("actors_running", "Actors that run", of(|sum| sum.running))?;
    let help = "Messages handled by actors";
    sheet.counters("actor_messages_handled", help, of(|sum| sum.handled))?;
    let help = "Messages waiting in mailboxes";
    sheet.gauges("actor_mailbox_messages", help, of(|sum| sum.waiting))?;
    let help = "Requests refused because the actor had too many";
    sheet.counters("actor_requests_refused", help, of(|sum| sum.refused))?;
    sheet.counters("actor_restarts", "Restarts after a panic", of(|sum| sum.restarts))
}

/// The kind of an actor, from its name: `cfw_worker 10.0.0.1:8888` is one of many.
fn kind(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}
