//! Metrics of webhooks.

use std::fmt;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_shares::webhook::WebhookView;

use super::page::metrics_writer::MetricsWriter;

/// Writes the state of each webhook.
pub fn write(
    sheet: &mut MetricsWriter<'_>,
    hooks: &[Arc<WebhookView>],
    now: Millis,
) -> fmt::Result {
    let of = |figure: fn(&WebhookView) -> u64| {
        hooks.iter().map(move |hook| ([("hook", hook.name.as_str())], figure(hook)))
    };
    let help = "Events that the receiver accepted";
    sheet.counters("webhook_delivered", help, of(|hook| hook.counters.delivered))?;
    let help = "Failed deliveries of events";
    sheet.counters("webhook_failed_tries", help, of(|hook| hook.counters.failed_tries))?;
    let help = "Events dropped because they were too old";
    sheet.counters("webhook_dropped", help, of(|hook| hook.counters.dropped))?;
    let help = "Events that wait for delivery, on the leader";
    sheet.gauges("webhook_backlog", help, of(|hook| hook.backlog))?;
    let help = "1 if deliveries to the receiver fail at present";
    sheet.gauges("webhook_failing", help, of(|hook| u64::from(hook.trouble.is_some())))?;
    let ages = hooks.iter().map(|hook| {
        let age = hook.oldest.map_or(0.0, |at| now.since(at).as_secs_f64());
        ([("hook", hook.name.as_str())], age)
    });
    let help = "Age of the oldest waiting event, in seconds; 0 if none waits";
    sheet.gauges("webhook_oldest_age_seconds", help, ages)
}
