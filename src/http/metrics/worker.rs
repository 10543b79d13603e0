//! The metrics page of a worker.

use std::fmt;

use actix_web::HttpResponse;
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::traffic::{Rates, Traffic};
use reelyard_file_server::data_port::{DataPortCounters, DataPortMeter};
use reelyard_worker::box_host::{BoxHostHandle, BoxHostView};
use reelyard_worker::downloader::{DownloaderHandle, DownloaderView};

use super::page::metrics_writer::MetricsWriter;

/// Sources of the metrics of a worker.
pub struct WorkerFigures {
    /// Start time of the worker.
    pub started: Millis,
    /// Counters of the port that serves masters and copies.
    pub data_port: DataPortMeter,
    /// Its copies; none for a worker that is only a source.
    pub downloads: Option<DownloaderHandle>,
    /// The hosted boxes.
    pub boxes: BoxHostHandle,
}

impl WorkerFigures {
    /// Answers with the page in the format that `accept` selects. `epoch` is the highest known one,
    /// `unlistable` the number of names that the last list omitted, and `traffic` the load of the
    /// link.
    pub fn page(
        &self,
        epoch: Epoch,
        unlistable: u64,
        traffic: Option<Traffic>,
        accept: &str,
    ) -> HttpResponse {
        let (started, port) = (self.started, self.data_port.counters());
        let (downloads, host) = (self.downloads.clone(), self.boxes.clone());
        let page = MetricsWriter::page(move |sheet| {
            super::about(sheet, "worker", started)?;
            let of_downloads = downloads.as_ref().map(DownloaderHandle::status);
            let actors: Vec<_> = of_downloads.into_iter().chain([host.status()]).collect();
            super::actors::write(sheet, &actors)?;
            boxes(sheet, &host.view())?;
            if let Some(downloads) = &downloads {
                copies(sheet, &downloads.view())?;
            }
            serving(sheet, &port)?;
            if let Some(traffic) = &traffic {
                link(sheet, traffic)?;
            }
            sheet.gauge("worker_epoch", "Highest epoch that this worker knows", epoch.0)?;
            let help = "File names that the last list could not contain";
            sheet.gauge("unlistable_names", help, unlistable)
        });
        super::answer(page, accept)
    }
}

fn copies(sheet: &mut MetricsWriter<'_>, view: &DownloaderView) -> fmt::Result {
    let counters = &view.counters;
    sheet.counter("copies_begun", "Copies started", counters.begun)?;
    let outcomes =
        [("done", counters.done), ("failed", counters.failed), ("given_up", counters.given_up)];
    let outcomes = outcomes.map(|(outcome, count)| ([("outcome", outcome)], count));
    sheet.counters("copies_ended", "Copies that ended", outcomes)?;
    sheet.counter("copied_bytes", "Bytes of finished copies", counters.bytes)?;
    sheet.gauge("copies_under_way", "Running copies", view.under_way.len())?;
    sheet.gauge("copies_waiting", "Copies that wait for a free slot", view.waiting)?;
    let help = "Reports that the node has not taken yet";
    sheet.gauge("reports_unacknowledged", help, view.unacknowledged)
}

fn boxes(sheet: &mut MetricsWriter<'_>, view: &BoxHostView) -> fmt::Result {
    let kinds = [("init", &view.inits), ("cleanup", &view.cleanups)];
    let outcomes = kinds.into_iter().flat_map(|(kind, counts)| {
        let all = [("done", counts.done), ("failed", counts.failed), ("given_up", counts.given_up)];
        all.map(|(outcome, count)| ([("kind", kind), ("outcome", outcome)], count))
    });
    sheet.counters("box_hooks_ended", "Hooks of boxes that ended", outcomes)?;
    let help = "Cleanups repeated at once because of their exit code";
    sheet.counter("box_cleanups_again", help, view.cleanups_again)?;
    let help = "Refused hooks of boxes";
    sheet.counter("box_hooks_refused", help, view.refused)?;
    sheet.gauge("box_hooks_running", "Running hooks of boxes", view.running)?;
    sheet.gauge("box_hooks_waiting", "Boxes that wait for a hook", view.waiting)?;
    let help = "Time to prepare a box, in seconds";
    sheet.durations("box_init_seconds", help, &view.inits.took)?;
    let help = "Time to clean a box, in seconds";
    sheet.durations("box_cleanup_seconds", help, &view.cleanups.took)?;
    sheet.counter("boxes_looked_at", "Boxes checked", view.looked_at)?;
    sheet.counter("boxes_found_dirty", "Boxes found dirty by a check", view.found_dirty)
}

fn link(sheet: &mut MetricsWriter<'_>, traffic: &Traffic) -> fmt::Result {
    let directions = |rates: Rates| {
        [("out", rates.sends), ("in", rates.receives)]
            .map(|(direction, rate)| ([("direction", direction)], rate.0))
    };
    let help = "Load of the network link, in bits per second";
    sheet.gauges("link_bits_per_second", help, directions(traffic.all))?;
    let help = "Part of the load that is copies, in bits per second";
    sheet.gauges(
        "link_copies_bits_per_second",
        help,
        directions(traffic.copies.unwrap_or_default()),
    )?;
    let speed = traffic.speed.map(|speed| ([("interface", traffic.interface.as_str())], speed.0));
    let help = "Speed of the link in each direction, in bits per second";
    sheet.gauges("link_speed_bits_per_second", help, speed)
}

fn serving(sheet: &mut MetricsWriter<'_>, port: &DataPortCounters) -> fmt::Result {
    sheet.gauge("data_port_connections", "Connections of the data port", port.connections)?;
    sheet.counter("data_port_requests", "Requests to the data port", port.requests)?;
    sheet.counter("data_port_sent_bytes", "Bytes of files sent", port.bytes)?;
    let refused = [("busy", port.refused_busy), ("ticket", port.refused_ticket)];
    let refused = refused.map(|(reason, count)| ([("reason", reason)], count));
    sheet.counters("data_port_refused", "Connections and requests refused", refused)
}
