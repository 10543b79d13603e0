//! The actor: its looks at the inputs, its handlers and its reports.

mod change_settings;
mod changes;
mod input_changes;
mod requests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::Semaphore;
use tracing::{info, warn};

use crate::catalog::checkpoint::checkpoint_file::CheckpointFile;
use crate::catalog::files::ranking_inputs::{RankingInputs, RankingLook};
use crate::catalog::load_balancer::event_log::{EventLog, EventLogLook};
use crate::catalog::single_flight::{InputReader, SingleFlightReader};
use crate::catalog::views::{CatalogView, NoticedBy};
use crate::catalog::watch::ChangeNotifier;
use reelyard_core::actor_parts::{ActorTimer, Observer, ObserverShell, ViewHandle};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::names::NameTable;

use crate::catalog::messages::*;
use crate::catalog::popularity::demand_ranker::RankingSlot;
use crate::catalog::settings::CatalogSettings;
use crate::catalog::sources::source_dirs::{SourceDirs, SourceDirsLook};
use crate::changes::YardChange;
use crate::settings::popularity::PopularityMode;
use crate::settings::ranking::WatchMode;

/// The longest sleep while files are hot, so that jumps of the clock are noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Looks are never closer together than this, whatever is configured.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// The largest number of running look-ups of masters. On a mount that hangs they do not end, and each occupies a
/// thread that others need.
const LOOK_UPS_AT_ONCE: usize = 4;

/// The actor. It does no I/O itself: each kind of input has blocking jobs, one at a time.
pub struct Catalog {
    shell: ObserverShell<CatalogView, YardChange>,
    settings: CatalogSettings,
    names: NameTable,
    subscribers: Subscribers,
    ranking_inputs: SingleFlightReader<RankingInputs>,
    source_dirs: SingleFlightReader<SourceDirs>,
    /// The ranking as read, without demand.
    grades: RankingSlot,
    /// None without a configured log.
    event_log: Option<SingleFlightReader<EventLog>>,
    /// The checkpoint of demand; none if demand is not saved.
    checkpoint: Option<CheckpointFile>,
    /// Limits the running look-ups of masters.
    look_ups: Arc<Semaphore>,
    /// The sleep until hits leave the window.
    expiry: ActorTimer,
    /// The sleep until a file that is being written may be complete.
    recheck_timer: ActorTimer,
    /// How often the kernel dropped change notifications: ranking, masters, log.
    overflows: [u64; 3],
    /// The view as last published.
    view: CatalogView,
}

impl Catalog {
    /// A Catalog that checks every input once it is started.
    pub fn new(
        settings: CatalogSettings,
        names: NameTable,
        clock: Clock,
        subscribers: Subscribers,
    ) -> Self {
        let view = CatalogView::of(&settings);
        let mut catalog = Catalog {
            ranking_inputs: SingleFlightReader::new(
                "the ranking's files",
                RankingInputs::new(&settings, names.clone()),
            ),
            source_dirs: SingleFlightReader::new(
                "the source directories",
                SourceDirs::new(&settings, names.clone()),
            ),
            event_log: None,
            checkpoint: None,
            grades: RankingSlot::with_sizes(view.master_sizes.clone()),
            look_ups: Arc::new(Semaphore::new(LOOK_UPS_AT_ONCE)),
            expiry: ActorTimer::default(),
            recheck_timer: ActorTimer::default(),
            overflows: [0; 3],
            view,
            shell: ObserverShell::new(clock, ViewHandle::new(CatalogView::of(&settings))),
            settings,
            names,
            subscribers,
        };
        catalog.event_log = catalog.new_log().map(single_flight_log);
        catalog
    }

    /// Keeps the demand across restarts in the checkpoint at `path`.
    pub fn keeping_demand_at(mut self, path: &Path) -> Self {
        self.checkpoint = Some(CheckpointFile::new(path));
        self.event_log = self.new_log().map(single_flight_log);
        self
    }

    /// The configured log, not read yet; none without one.
    fn new_log(&self) -> Option<EventLog> {
        let settings = self.settings.event_log.clone()?;
        let (names, grades) = (self.names.clone(), self.grades.clone());
        Some(EventLog::new(settings, names, grades, self.checkpoint.clone()))
    }

    /// The published view of this Catalog. Readers need no message to the actor.
    pub fn view(&self) -> ViewHandle<CatalogView> {
        self.shell.view().clone()
    }

    /// Checks every input again after a poll interval.
    fn sleep_until_poll(&mut self, ctx: &mut Context<Self>) {
        self.sleep(self.settings.poll_interval.max(SHORTEST_POLL), ctx);
    }

    fn look_at_all(&mut self, ctx: &mut Context<Self>) {
        self.begin_look(ctx, |catalog| Some(&mut catalog.ranking_inputs), Self::on_ranking_read);
        self.begin_look(ctx, |catalog| Some(&mut catalog.source_dirs), Self::on_masters_listed);
        self.begin_log_look(ctx);
    }

    /// Begins a look at the log, unless the first ranking is about to be known: its end begins that look.
    fn begin_log_look(&mut self, ctx: &mut Context<Self>) {
        if !self.is_ranking_awaited() {
            self.begin_look(ctx, |catalog| catalog.event_log.as_mut(), Self::on_log_read);
        }
    }

    /// Whether a look at the log should wait for the first ranking. Demand can be counted only for ranked files, so
    /// the log would be read twice. A ranking that hangs delays nothing, and neither does a file that is being
    /// written if a caller waits for the look.
    fn is_ranking_awaited(&mut self) -> bool {
        let now = self.shell.now();
        let Some(log) = &self.event_log else { return false };
        let is_asked = log.is_asked();
        let mode = self.settings.event_log.as_ref().map(|log| log.popularity);
        if mode == Some(PopularityMode::Off) || self.grades.get().is_some() {
            return false;
        }
        let is_being_read = self.ranking_inputs.idle().is_none();
        let is_being_written = !self.recheck_timer.left().is_zero();
        if is_being_read {
            return self.ranking_inputs.problem(now).is_none();
        }
        is_being_written && !is_asked
    }

    /// The ranking was looked at, and is not new. Begins the look at the log that has waited for it.
    fn resume_log_look(&mut self, ctx: &mut Context<Self>) {
        let has_waited = |log: &SingleFlightReader<EventLog>| log.is_asked() || !log.has_begun();
        if self.event_log.as_ref().is_some_and(has_waited) {
            self.begin_log_look(ctx);
        }
    }

    /// Begins a look at one kind of input, unless one is running.
    fn begin_look<B: InputReader>(
        &mut self,
        ctx: &mut Context<Self>,
        single_flight: fn(&mut Catalog) -> Option<&mut SingleFlightReader<B>>,
        take: fn(&mut Catalog, B::Found, &mut Context<Self>),
    ) {
        let (now, timer) = (self.shell.now(), self.shell.clock().timer());
        let begun = single_flight(self).and_then(|single_flight| {
            Some((single_flight.begin(now, timer)?, single_flight.generation()))
        });
        let Some((mut reader, generation)) = begun else { return };
        let job = tokio::task::spawn_blocking(move || {
            let found = reader.look(now);
            (reader, found)
        });
        let ended = job.into_actor(self).map(move |ended, catalog, ctx| match ended {
            Ok((reader, found)) => {
                if !single_flight(catalog)
                    .is_some_and(|single_flight| single_flight.end(reader, generation))
                {
                    return;
                }
                catalog.view.looked_at = Some(catalog.shell.now());
                take(catalog, found, ctx);
                let timer = catalog.shell.clock().timer();
                if single_flight(catalog).is_some_and(SingleFlightReader::answer) {
                    catalog.begin_look(ctx, single_flight, take);
                } else if let Some(delay) = single_flight(catalog).and_then(|single_flight| {
                    single_flight.is_notified().then(|| single_flight.debounce_delay(timer))
                }) {
                    catalog.look_after(delay, ctx, single_flight, take);
                }
                catalog.sleep_until_hits_leave(ctx);
            }
            // A panic of the job is a panic of this actor: its supervisor starts it again.
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => ctx.stop(),
            },
        });
        ctx.spawn(ended);
    }

    /// An input of this kind may have changed.
    fn input_notified<B: InputReader>(
        &mut self,
        ctx: &mut Context<Self>,
        single_flight: fn(&mut Catalog) -> Option<&mut SingleFlightReader<B>>,
        take: fn(&mut Catalog, B::Found, &mut Context<Self>),
    ) {
        let timer = self.shell.clock().timer();
        if let Some(delay) =
            single_flight(self).and_then(|single_flight| single_flight.notify_changed(timer))
        {
            self.look_after(delay, ctx, single_flight, take);
        }
    }

    /// Begins a look at one kind of input after `delay`, unless another one began meanwhile.
    fn look_after<B: InputReader>(
        &mut self,
        delay: Duration,
        ctx: &mut Context<Self>,
        single_flight: fn(&mut Catalog) -> Option<&mut SingleFlightReader<B>>,
        take: fn(&mut Catalog, B::Found, &mut Context<Self>),
    ) {
        if delay.is_zero() {
            return self.begin_look(ctx, single_flight, take);
        }
        ctx.run_later(delay, move |catalog, ctx| {
            if single_flight(catalog).is_some_and(|single_flight| single_flight.is_notified()) {
                catalog.begin_look(ctx, single_flight, take);
            }
        });
    }

    /// Watches these inputs for changes, from the next check on.
    fn watch(&mut self, ranking: bool, masters: bool, log: bool, ctx: &mut Context<Self>) {
        let to = ctx.address().downgrade();
        let notifier_for = move |input| -> ChangeNotifier {
            let to = to.clone();
            Box::new(move || {
                if let Some(catalog) = to.upgrade() {
                    // Sent at most once per check, so that only a few wait in the mailbox.
                    catalog.do_send(InputMayHaveChanged(input));
                }
            })
        };
        if let Some(files) = self.ranking_inputs.idle().filter(|_| ranking) {
            files.watch(notifier_for(InputKind::Ranking));
        }
        if let Some(dirs) = self.source_dirs.idle().filter(|_| masters) {
            dirs.watch(notifier_for(InputKind::Masters));
        }
        if let Some(log) =
            self.event_log.as_mut().and_then(SingleFlightReader::idle).filter(|_| log)
        {
            log.watch(notifier_for(InputKind::EventLog));
        }
    }

    fn on_ranking_read(&mut self, look: RankingLook, ctx: &mut Context<Self>) {
        self.recheck_when_unchanged(look.next_look, ctx);
        self.overflows[0] = look.overflows;
        let bad_rows = look.bad_rows();
        self.view.grade_info = look.grade_info;
        self.view.hitcount_history = look.hitcount_history;
        self.view.ungraded_history_rows = look.ungraded_history_rows;
        let news =
            look.changed.as_deref().map(|ranking| input_changes::of_ranking(ranking, bad_rows));
        if let Some(ranking) = look.changed {
            info!(graded = ranking.len(), bad_rows, "ranking read");
            self.grades.set(ranking);
            self.publish_ranking();
            self.input_notified(ctx, |catalog| catalog.event_log.as_mut(), Self::on_log_read);
        } else {
            self.resume_log_look(ctx);
        }
        self.publish();
        self.publish_changes(news);
    }

    /// Publishes the ranking with the demand, as far as both are known.
    fn publish_ranking(&mut self) {
        let Some(grades) = self.grades.get() else { return };
        let mode = self.settings.event_log.as_ref().map(|log| log.popularity);
        let ranking = match &self.view.demand {
            Some(demand) => Arc::new(grades.with_demand(demand, mode == Some(PopularityMode::On))),
            None => grades,
        };
        self.subscribers.ranking.notify(&RankingChanged(Arc::clone(&ranking)));
        self.view.ranking = Some(ranking);
    }

    /// Checks a file that is being written again when it may be complete, which is usually before the
    /// next poll.
    fn recheck_when_unchanged(&mut self, at: Option<Millis>, ctx: &mut Context<Self>) {
        let Some(at) = at else { return self.recheck_timer.stop(ctx) };
        let sleep = at.since(self.shell.now()).max(SHORTEST_POLL);
        self.recheck_timer.set(sleep, ctx, |catalog: &mut Self, ctx| {
            catalog.begin_look(
                ctx,
                |catalog| Some(&mut catalog.ranking_inputs),
                Self::on_ranking_read,
            );
        });
    }

    fn on_masters_listed(&mut self, look: SourceDirsLook, _: &mut Context<Self>) {
        self.overflows[1] = look.overflows;
        self.view.source_dirs = look.view;
        let news = look.changed.as_deref().map(input_changes::of_masters);
        if let Some(masters) = look.changed {
            info!(masters = masters.files.len(), "source directories listed");
            self.subscribers.masters.notify(&MastersChanged(Arc::clone(&masters)));
            self.view.masters = Some(masters);
        }
        self.publish();
        self.publish_changes(news);
    }

    fn on_log_read(&mut self, look: EventLogLook, _: &mut Context<Self>) {
        self.overflows[2] = look.overflows;
        self.view.event_log = Some(look.view);
        let news = look.changed.as_deref().map(input_changes::of_rising);
        if let Some(rising) = look.changed {
            self.subscribers.rising.notify(&RisingChanged(Arc::clone(&rising)));
            self.view.rising = rising;
        }
        if let Some(order) = look.order {
            self.view.demand = Some(order);
            self.publish_ranking();
        }
        self.publish();
        self.publish_changes(news);
    }

    /// Publishes the state of the inputs, and logs new problems and problems that are over.
    fn publish(&mut self) {
        let before = std::mem::take(&mut self.view.problems);
        let now = self.shell.now();
        let stuck = [
            self.ranking_inputs.problem(now),
            self.source_dirs.problem(now),
            self.event_log.as_mut().and_then(|single_flight| single_flight.problem(now)),
        ];
        self.view.sum_up(stuck.into_iter().flatten());
        self.view.overflows = self.overflows.iter().sum();
        for problem in self.view.problems.iter().filter(|problem| !before.contains(problem)) {
            warn!(problem, "an input cannot be used: its last good content stays in use");
        }
        let published = self.shell.view().load();
        for (path, by) in self.view.noticed_by() {
            if published.noticed_by().any(|(before, how)| (before, how) == (path, by)) {
                continue;
            }
            match by {
                NoticedBy::Events => {
                    info!(path, "an input is watched: changes are noticed at once")
                }
                NoticedBy::Polling { why } => {
                    let every = humantime::format_duration(self.settings.poll_interval);
                    info!(path, %every, why, "an input cannot be watched: changes are noticed by polling");
                }
            }
        }
        for problem in before.iter().filter(|problem| !self.view.problems.contains(problem)) {
            info!(problem, "an input can be used again");
        }
        self.publish_view();
        self.publish_problem_changes(&before);
    }

    /// A file stops being hot when its hits leave the window, even if the log is silent.
    fn sleep_until_hits_leave(&mut self, ctx: &mut Context<Self>) {
        self.expiry.stop(ctx);
        let Some(log) = self.event_log.as_mut().and_then(SingleFlightReader::idle) else { return };
        let Some(change) = log.next_change() else { return };
        let sleep = change.since(self.shell.now()).min(LONGEST_SLEEP);
        self.expiry.set(sleep, ctx, |catalog: &mut Self, ctx| {
            catalog.expire_hits(ctx);
            catalog.sleep_until_hits_leave(ctx);
        });
    }

    /// Does nothing while a job has the log, because the job expires hits itself. The sleep begins
    /// again at its end.
    fn expire_hits(&mut self, ctx: &mut Context<Self>) {
        let now = self.shell.now();
        if let Some(log) = self.event_log.as_mut().and_then(SingleFlightReader::idle)
            && log.next_change().is_some_and(|change| change <= now)
        {
            let look = log.expire(now);
            self.on_log_read(look, ctx);
        }
    }
}

fn single_flight_log(log: EventLog) -> SingleFlightReader<EventLog> {
    SingleFlightReader::new("the event log", log)
}

impl Actor for Catalog {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if self.settings.watch == WatchMode::Auto {
            self.watch(true, true, true, ctx);
        }
        self.look_at_all(ctx);
        self.sleep_until_poll(ctx);
    }
}

impl Observer for Catalog {
    type View = CatalogView;
    type Change = YardChange;

    fn shell(&mut self) -> &mut ObserverShell<CatalogView, YardChange> {
        &mut self.shell
    }

    fn build_view(&mut self) -> CatalogView {
        self.view.clone()
    }

    /// Checks every input.
    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.sleep_until_poll(ctx);
        self.look_at_all(ctx);
        // Looks that end are shown at their end; this shows looks that do not end.
        self.publish();
    }
}
