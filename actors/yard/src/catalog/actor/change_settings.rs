//! Changes settings at run time: the affected inputs are read again. Until then the last good content stays
//! in use.

use std::sync::Arc;

use actix::prelude::*;
use reelyard_core::actor_parts::ChangeSettings;
use tracing::info;

use super::{Catalog, single_flight_log};
use crate::catalog::checkpoint::checkpoint_file::CheckpointFile;
use crate::catalog::files::ranking_inputs::RankingInputs;
use crate::catalog::messages::{RisingChanged, SetDestinations};
use crate::catalog::settings::CatalogSettings;
use crate::catalog::sources::source_dirs::SourceDirs;
use crate::catalog::views::CatalogView;
use crate::settings::popularity::PopularityMode;
use crate::settings::ranking::WatchMode;

/// The inputs that a change of settings affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touched {
    ranking: bool,
    masters: bool,
    log: bool,
}

impl Touched {
    fn by(before: &CatalogSettings, after: &CatalogSettings) -> Self {
        let watch = before.watch != after.watch;
        let debounce = (before.settle, before.settle_limit) != (after.settle, after.settle_limit);
        Touched {
            ranking: watch
                || debounce
                || before.grade_info_file != after.grade_info_file
                || before.hitcount_history_file != after.hitcount_history_file
                || before.destination_ips != after.destination_ips,
            masters: watch
                || before.source_dirs != after.source_dirs
                || before.relist_interval != after.relist_interval,
            log: watch || before.event_log != after.event_log,
        }
    }
}

impl Catalog {
    /// Applies `settings` from now on.
    fn go_by(&mut self, settings: CatalogSettings, ctx: &mut Context<Self>) {
        let before = std::mem::replace(&mut self.settings, settings);
        let touched = Touched::by(&before, &self.settings);
        let unread = CatalogView::of(&self.settings);
        if touched.ranking {
            self.ranking_inputs.replace(RankingInputs::new(&self.settings, self.names.clone()));
            self.view.grade_info = unread.grade_info;
            self.view.hitcount_history = unread.hitcount_history;
        }
        if touched.masters {
            self.source_dirs.replace(SourceDirs::new(&self.settings, self.names.clone()));
            self.view.source_dirs = unread.source_dirs;
        }
        if touched.log {
            self.replace_log();
            self.view.event_log = unread.event_log;
        }
        if self.settings.watch == WatchMode::Auto {
            self.watch(touched.ranking, touched.masters, touched.log, ctx);
        }
        if before.poll_interval != self.settings.poll_interval {
            self.sleep_until_poll(ctx);
        }
        self.look_at_all(ctx);
        self.publish();
    }

    /// Files that were hot under the old settings are no longer hot until the log is read with the new ones. The
    /// demand stays in use until then, unless it is no longer measured.
    fn replace_log(&mut self) {
        // A job of the earlier reader may still run.
        self.checkpoint = self.checkpoint.as_ref().map(CheckpointFile::hand_over);
        let log = self.new_log();
        match (&mut self.event_log, log) {
            (Some(single_flight), Some(log)) => single_flight.replace(log),
            (single_flight, log) => *single_flight = log.map(single_flight_log),
        }
        let mode = self.settings.event_log.as_ref().map(|log| log.popularity);
        if matches!(mode, None | Some(PopularityMode::Off)) {
            self.view.demand = None;
        }
        self.publish_ranking();
        self.view.rising = Arc::default();
        self.subscribers.rising.notify(&RisingChanged(Arc::clone(&self.view.rising)));
    }
}

/// The last good content stays in use until the inputs are read with these settings.
impl Handler<ChangeSettings<CatalogSettings>> for Catalog {
    type Result = ();

    fn handle(&mut self, change: ChangeSettings<CatalogSettings>, ctx: &mut Context<Self>) {
        let ChangeSettings(settings) = change;
        // The set of destinations arrives in its own message, from the actor that knows the hosts added
        // at run time.
        let destination_ips = self.settings.destination_ips.clone();
        let settings = CatalogSettings { destination_ips, ..settings };
        if settings != self.settings {
            info!("new settings for the inputs are in force");
            self.go_by(settings, ctx);
        }
    }
}

impl Handler<SetDestinations> for Catalog {
    type Result = ();

    fn handle(&mut self, SetDestinations { ips }: SetDestinations, ctx: &mut Context<Self>) {
        if ips != self.settings.destination_ips {
            let settings = CatalogSettings { destination_ips: ips, ..self.settings.clone() };
            self.go_by(settings, ctx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inputs_with_changed_settings_are_read_again() {
        let before = CatalogSettings::default();
        let touched = |after: CatalogSettings| {
            let Touched { ranking, masters, log } = Touched::by(&before, &after);
            [ranking, masters, log]
        };
        let after = || before.clone();
        assert_eq!(touched(after()), [false; 3]);
        let destination_ips = ["10.0.0.21".parse().unwrap()].into();
        assert_eq!(touched(CatalogSettings { destination_ips, ..after() }), [true, false, false]);
        let source_dirs = vec!["/data".into()];
        assert_eq!(touched(CatalogSettings { source_dirs, ..after() }), [false, true, false]);
        let event_log = Some(crate::catalog::settings::EventLogSettings::new("/log"));
        assert_eq!(touched(CatalogSettings { event_log, ..after() }), [false, false, true]);
        let watch = WatchMode::Poll;
        assert_eq!(touched(CatalogSettings { watch, ..after() }), [true; 3]);
    }
}
