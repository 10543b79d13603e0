//! The Catalog reads the inputs that decide which files the yard has. grade.info and hitcount.history
//! make the ranking. The event log of the load balancer gives the hot files, and the source directories
//! give the masters.
//!
//! The Catalog checks its inputs repeatedly, and reports changes to its subscribers. It keeps the last
//! good state of an input that cannot be read.

mod change_settings;
mod changes;
pub mod files;
mod input_changes;
pub mod load_balancer;
mod messages;
pub mod ranking;
pub mod settings;
pub mod single_flight;
pub mod sources;
pub mod view;
pub mod watch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use arc_swap::ArcSwap;
use tokio::sync::Semaphore;
use tracing::{info, warn};

pub use self::messages::*;
pub use self::settings::{CatalogSettings, EventLogSettings};
use self::single_flight::{InputReader, SingleFlightReader};
use self::view::{CatalogView, NoticedBy};
use self::watch::ChangeNotifier;
pub use crate::settings::ranking::WatchMode;
use files::ranking_inputs::{RankingInputs, RankingLook};
use load_balancer::event_log::{EventLog, EventLogLook};
pub use load_balancer::watched_servers::{AddressPattern, WatchedServers};
use reelyard_core::change_feed::FeedPublisher;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::names::{FileId, NameTable};

use crate::changes::YardChange;
use sources::source_dirs::{SourceDirs, SourceDirsLook, look_up_master};

/// The longest sleep while files are hot, so that jumps of the clock are noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Looks are never closer together than this, whatever is configured.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// The largest number of running look-ups of masters; one more is answered `Unknown`. On a mount that
/// hangs they do not end, and each occupies a thread that others need.
const LOOK_UPS_AT_ONCE: usize = 4;

/// The actor. It does no I/O itself: each kind of input has a lane of blocking jobs.
pub struct Catalog {
    settings: CatalogSettings,
    names: NameTable,
    clock: Clock,
    subscribers: Subscribers,
    ranking_inputs: SingleFlightReader<RankingInputs>,
    source_dirs: SingleFlightReader<SourceDirs>,
    /// None without a configured log.
    event_log: Option<SingleFlightReader<EventLog>>,
    /// Limits the running look-ups of masters.
    look_ups: Arc<Semaphore>,
    /// Ends the scheduled looks.
    polling: Option<SpawnHandle>,
    /// Ends the sleep until hits leave the window.
    expiry: Option<SpawnHandle>,
    /// Ends the sleep until a file that is being written may have settled.
    settling: Option<SpawnHandle>,
    /// How often the kernel dropped change notifications: ranking, masters, log.
    overflows: [u64; 3],
    /// The view as last published.
    view: CatalogView,
    published: Arc<ArcSwap<CatalogView>>,
    changes: Option<FeedPublisher<YardChange>>,
}

impl Catalog {
    /// A Catalog that checks every input once it is started.
    pub fn new(
        settings: CatalogSettings,
        names: NameTable,
        clock: Clock,
        subscribers: Subscribers,
    ) -> Self {
        let log = settings.event_log.clone();
        let log = log
            .map(|log| SingleFlightReader::new("the event log", EventLog::new(log, names.clone())));
        Catalog {
            ranking_inputs: SingleFlightReader::new(
                "the ranking's files",
                RankingInputs::new(&settings, names.clone()),
            ),
            source_dirs: SingleFlightReader::new(
                "the source directories",
                SourceDirs::new(&settings, names.clone()),
            ),
            event_log: log,
            look_ups: Arc::new(Semaphore::new(LOOK_UPS_AT_ONCE)),
            polling: None,
            expiry: None,
            settling: None,
            overflows: [0; 3],
            view: CatalogView::of(&settings),
            published: Arc::new(ArcSwap::from_pointee(CatalogView::of(&settings))),
            settings,
            names,
            clock,
            subscribers,
            changes: None,
        }
    }

    /// The published view of this Catalog. Readers need no message to the actor.
    pub fn view(&self) -> Arc<ArcSwap<CatalogView>> {
        Arc::clone(&self.published)
    }

    /// Publishes to `published` from now on. After a panic the restarted Catalog gets the handle that
    /// the readers already hold.
    pub fn publishing_to(mut self, published: Arc<ArcSwap<CatalogView>>) -> Self {
        self.published = published;
        self
    }

    /// Checks every input once in a poll interval from now on.
    fn poll(&mut self, ctx: &mut Context<Self>) {
        if let Some(polling) = self.polling.take() {
            ctx.cancel_future(polling);
        }
        let poll = self.settings.poll_interval.max(SHORTEST_POLL);
        self.polling = Some(ctx.run_interval(poll, |catalog, ctx| {
            catalog.look_at_all(ctx);
            // Looks that end are shown at their end; this shows looks that do not end.
            catalog.publish();
        }));
    }

    fn look_at_all(&mut self, ctx: &mut Context<Self>) {
        self.begin_look(ctx, |catalog| Some(&mut catalog.ranking_inputs), Self::take_ranking);
        self.begin_look(ctx, |catalog| Some(&mut catalog.source_dirs), Self::take_masters);
        self.begin_look(ctx, |catalog| catalog.event_log.as_mut(), Self::take_log);
    }

    /// Begins a look in a lane, unless one is running there.
    fn begin_look<B: InputReader>(
        &mut self,
        ctx: &mut Context<Self>,
        lane: fn(&mut Catalog) -> Option<&mut SingleFlightReader<B>>,
        take: fn(&mut Catalog, B::Found, &mut Context<Self>),
    ) {
        let now = self.clock.now();
        let begun = lane(self).and_then(|lane| Some((lane.begin(now)?, lane.generation())));
        let Some((mut bench, life)) = begun else { return };
        let job = tokio::task::spawn_blocking(move || {
            let found = bench.look(now);
            (bench, found)
        });
        let ended = job.into_actor(self).map(move |ended, catalog, ctx| match ended {
            Ok((bench, found)) => {
                if !lane(catalog).is_some_and(|lane| lane.end(bench, life)) {
                    return;
                }
                catalog.view.looked_at = Some(catalog.clock.now());
                take(catalog, found, ctx);
                if lane(catalog).is_some_and(SingleFlightReader::answer) {
                    catalog.begin_look(ctx, lane, take);
                } else if let Some(rest) = lane(catalog).and_then(|lane| {
                    lane.is_notified().then(|| lane.debounce_delay(Instant::now()))
                }) {
                    catalog.look_after(rest, ctx, lane, take);
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

    /// Something changed in a lane.
    fn input_notified<B: InputReader>(
        &mut self,
        ctx: &mut Context<Self>,
        lane: fn(&mut Catalog) -> Option<&mut SingleFlightReader<B>>,
        take: fn(&mut Catalog, B::Found, &mut Context<Self>),
    ) {
        if let Some(rest) = lane(self).and_then(|lane| lane.notify_changed(Instant::now())) {
            self.look_after(rest, ctx, lane, take);
        }
    }

    /// Begins a look in a lane after `rest`, unless another one began meanwhile.
    fn look_after<B: InputReader>(
        &mut self,
        rest: Duration,
        ctx: &mut Context<Self>,
        lane: fn(&mut Catalog) -> Option<&mut SingleFlightReader<B>>,
        take: fn(&mut Catalog, B::Found, &mut Context<Self>),
    ) {
        if rest.is_zero() {
            return self.begin_look(ctx, lane, take);
        }
        ctx.run_later(rest, move |catalog, ctx| {
            if lane(catalog).is_some_and(|lane| lane.is_notified()) {
                catalog.begin_look(ctx, lane, take);
            }
        });
    }

    /// Watches these inputs for changes, from the next check on.
    fn watch(&mut self, ranking: bool, masters: bool, log: bool, ctx: &mut Context<Self>) {
        let to = ctx.address().downgrade();
        let stir = move |input| -> ChangeNotifier {
            let to = to.clone();
            Box::new(move || {
                if let Some(catalog) = to.upgrade() {
                    // Sent at most once per check, so that only a few wait in the mailbox.
                    catalog.do_send(InputMayHaveChanged(input));
                }
            })
        };
        if let Some(files) = self.ranking_inputs.idle().filter(|_| ranking) {
            files.watch(stir(InputKind::Ranking));
        }
        if let Some(dirs) = self.source_dirs.idle().filter(|_| masters) {
            dirs.watch(stir(InputKind::Masters));
        }
        if let Some(log) =
            self.event_log.as_mut().and_then(SingleFlightReader::idle).filter(|_| log)
        {
            log.watch(stir(InputKind::EventLog));
        }
    }

    fn take_ranking(&mut self, look: RankingLook, ctx: &mut Context<Self>) {
        self.look_again_when_settled(look.next_look, ctx);
        self.overflows[0] = look.overflows;
        let bad_rows = look.bad_rows();
        self.view.grade_info = look.grade_info;
        self.view.hitcount_history = look.hitcount_history;
        self.view.ungraded_history_rows = look.ungraded_history_rows;
        let news =
            look.changed.as_deref().map(|ranking| input_changes::of_ranking(ranking, bad_rows));
        if let Some(ranking) = look.changed {
            info!(graded = ranking.len(), bad_rows, "ranking read");
            for subscriber in &self.subscribers.ranking {
                subscriber.do_send(RankingChanged(Arc::clone(&ranking)));
            }
            self.view.ranking = Some(ranking);
        }
        self.publish();
        self.publish_changes(news);
    }

    /// Checks a file that is being written again when it may have settled, which is usually before the
    /// next poll.
    fn look_again_when_settled(&mut self, at: Option<Millis>, ctx: &mut Context<Self>) {
        if let Some(sleeping) = self.settling.take() {
            ctx.cancel_future(sleeping);
        }
        let Some(at) = at else { return };
        let sleep = at.since(self.clock.now()).max(SHORTEST_POLL);
        self.settling = Some(ctx.run_later(sleep, |catalog, ctx| {
            catalog.settling = None;
            catalog.begin_look(
                ctx,
                |catalog| Some(&mut catalog.ranking_inputs),
                Self::take_ranking,
            );
        }));
    }

    fn take_masters(&mut self, look: SourceDirsLook, _: &mut Context<Self>) {
        self.overflows[1] = look.overflows;
        self.view.source_dirs = look.view;
        let news = look.changed.as_deref().map(input_changes::of_masters);
        if let Some(masters) = look.changed {
            info!(masters = masters.files.len(), "source directories listed");
            for subscriber in &self.subscribers.masters {
                subscriber.do_send(MastersChanged(Arc::clone(&masters)));
            }
            self.view.masters = Some(masters);
        }
        self.publish();
        self.publish_changes(news);
    }

    fn take_log(&mut self, look: EventLogLook, _: &mut Context<Self>) {
        self.overflows[2] = look.overflows;
        self.view.event_log = Some(look.view);
        let news = look.changed.as_deref().map(input_changes::of_rising);
        if let Some(rising) = look.changed {
            for subscriber in &self.subscribers.rising {
                subscriber.do_send(RisingChanged(Arc::clone(&rising)));
            }
            self.view.rising = rising;
        }
        self.publish();
        self.publish_changes(news);
    }

    /// Publishes the state of the inputs, and logs new problems and problems that are over.
    fn publish(&mut self) {
        let before = std::mem::take(&mut self.view.problems);
        let now = self.clock.now();
        let stuck = [
            self.ranking_inputs.problem(now),
            self.source_dirs.problem(now),
            self.event_log.as_ref().and_then(|lane| lane.problem(now)),
        ];
        self.view.sum_up(stuck.into_iter().flatten());
        self.view.overflows = self.overflows.iter().sum();
        for problem in self.view.problems.iter().filter(|problem| !before.contains(problem)) {
            warn!(problem, "an input cannot be used: its last good content stays in use");
        }
        let shown = self.published.load();
        for (path, by) in self.view.noticed_by() {
            if shown.noticed_by().any(|(before, how)| (before, how) == (path, by)) {
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
        self.published.store(Arc::new(self.view.clone()));
        self.publish_problem_changes(&before);
    }

    /// A file stops being hot when its hits leave the window, even if the log is silent.
    fn sleep_until_hits_leave(&mut self, ctx: &mut Context<Self>) {
        if let Some(sleeping) = self.expiry.take() {
            ctx.cancel_future(sleeping);
        }
        let Some(log) = self.event_log.as_mut().and_then(SingleFlightReader::idle) else { return };
        let Some(change) = log.next_change() else { return };
        let sleep = change.since(self.clock.now()).min(LONGEST_SLEEP);
        self.expiry = Some(ctx.run_later(sleep, |catalog, ctx| {
            catalog.expiry = None;
            catalog.expire_hits(ctx);
            catalog.sleep_until_hits_leave(ctx);
        }));
    }

    /// Does nothing while a job has the log, because the job expires hits itself. The sleep begins
    /// again at its end.
    fn expire_hits(&mut self, ctx: &mut Context<Self>) {
        let now = self.clock.now();
        if let Some(log) = self.event_log.as_mut().and_then(SingleFlightReader::idle)
            && log.next_change().is_some_and(|change| change <= now)
        {
            let look = log.expire(now);
            self.take_log(look, ctx);
        }
    }
}

impl Actor for Catalog {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if self.settings.watch == WatchMode::Auto {
            self.watch(true, true, true, ctx);
        }
        self.look_at_all(ctx);
        self.poll(ctx);
    }
}

impl Handler<InputMayHaveChanged> for Catalog {
    type Result = ();

    fn handle(&mut self, InputMayHaveChanged(input): InputMayHaveChanged, ctx: &mut Context<Self>) {
        match input {
            InputKind::Ranking => {
                self.input_notified(
                    ctx,
                    |catalog| Some(&mut catalog.ranking_inputs),
                    Self::take_ranking,
                );
            }
            InputKind::Masters => {
                self.input_notified(
                    ctx,
                    |catalog| Some(&mut catalog.source_dirs),
                    Self::take_masters,
                );
            }
            InputKind::EventLog => {
                self.input_notified(ctx, |catalog| catalog.event_log.as_mut(), Self::take_log);
            }
        }
    }
}

impl Handler<CheckInputsNow> for Catalog {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: CheckInputsNow, ctx: &mut Context<Self>) -> Self::Result {
        let asked = [
            Some(self.ranking_inputs.ask()),
            Some(self.source_dirs.ask()),
            self.event_log.as_mut().map(SingleFlightReader::ask),
        ];
        self.look_at_all(ctx);
        Box::pin(async move {
            for end in asked.into_iter().flatten() {
                // It is dropped without an answer only when the actor ends. Then this answer is dropped
                // too.
                let _ = end.await;
            }
        })
    }
}

impl Handler<LookUpMasters> for Catalog {
    type Result = ResponseFuture<Vec<(FileId, MasterLook)>>;

    fn handle(&mut self, asked: LookUpMasters, _: &mut Context<Self>) -> Self::Result {
        let unknown = |file| (file, MasterLook::Unknown);
        let Ok(turn) = Arc::clone(&self.look_ups).try_acquire_owned() else {
            return Box::pin(async move { asked.files.into_iter().map(unknown).collect() });
        };
        let (names, dirs) = (self.names.clone(), self.settings.source_dirs.clone());
        let (files, sizes) = (asked.files.clone(), self.view.master_sizes.clone());
        let job = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let look = |file| (file, look_up_master(&dirs, &names.name(file)));
            let looks: Vec<_> = asked.files.into_iter().map(look).collect();
            sizes.learn(&looks);
            looks
        });
        Box::pin(
            async move { job.await.unwrap_or_else(|_| files.into_iter().map(unknown).collect()) },
        )
    }
}

/// Adds subscribers, each once. A subscriber that panicked has a new incarnation since.
fn join<M>(subscribers: &mut Vec<Recipient<M>>, new: Vec<Recipient<M>>)
where
    M: Message + Send,
    M::Result: Send,
{
    subscribers.retain(|subscriber| subscriber.connected() && !new.contains(subscriber));
    subscribers.extend(new);
}

impl Handler<SubscribeToCatalog> for Catalog {
    type Result = ();

    fn handle(&mut self, SubscribeToCatalog(new): SubscribeToCatalog, _: &mut Context<Self>) {
        if let Some(ranking) = &self.view.ranking {
            for subscriber in &new.ranking {
                subscriber.do_send(RankingChanged(Arc::clone(ranking)));
            }
        }
        if let Some(masters) = &self.view.masters {
            for subscriber in &new.masters {
                subscriber.do_send(MastersChanged(Arc::clone(masters)));
            }
        }
        for subscriber in &new.rising {
            subscriber.do_send(RisingChanged(Arc::clone(&self.view.rising)));
        }
        join(&mut self.subscribers.ranking, new.ranking);
        join(&mut self.subscribers.rising, new.rising);
        join(&mut self.subscribers.masters, new.masters);
    }
}
